"""The line-up: can the model tell the true value of a record from others drawn just as it was?

A value that was random by design (a key, a number, a treatment arm, a planted secret) has exact
non-members: fresh draws from its distribution. No non-member records, no proxy and no features are
needed, and whatever the model knows of the population tells it nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from divulge import __version__
from divulge.data.table_files import require_table_name, write_table
from divulge.games.lineup import findings
from divulge.games.lineup.read import LineUps, read
from divulge.games.public import provenance, public
from divulge.proof.lineup import LineUp
from divulge.proof.prove import prove
from divulge.proof.rule import DELTAS, Rule
from divulge.result import Result
from divulge.types import Progress


@public("lineup")
def lineup(
    data: Any,
    *,
    truth: str | None = None,
    score: str | Sequence[str] | None = None,
    lower_is_member: bool | None = None,
    value: str | None = None,
    copies: str | None = None,
    id: str | None = None,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    seed: int = 0,
    table: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """What the scores of true values among alternatives prove about the training run.

    ``data`` is a table with a row per training record and a column of scores per candidate
    (default ``s_*``; ``s_0``, or the column named as ``truth``, is the true value's), with one
    column of lists (the true value's score first), or with a row per candidate: ``id`` says which
    line-up it belongs to, ``truth`` (default ``true``) which one is the true value. ``value``
    names the true value, so that one that stands in several records is one trial; ``copies`` says
    in how many. ``table`` is where the ranks of all line-ups go (Parquet or CSV). The bounds hold
    together with confidence ``1 - error``.
    """
    target = None if table is None else require_table_name(table, (data,))
    rng = np.random.default_rng(seed)
    found = read(
        data,
        truth=truth,
        score=score,
        lower_is_member=lower_is_member,
        value=value,
        copies=copies,
        id=id,
        rng=rng,
    )
    return audit(
        found,
        deltas=deltas,
        error=error,
        rng=rng,
        provenance=provenance(command, seed, found.inputs),
        table=target,
        progress=progress,
    )


def audit(
    found: LineUps,
    *,
    deltas: Sequence[float],
    error: float,
    rng: np.random.Generator,
    provenance: dict[str, Any],
    table: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """The audit of line-ups, wherever they come from: prove, rank, state, write."""
    ranking = findings.rank(found, rng)
    trials = LineUp(found.score, np.zeros(len(found), dtype=np.intp), found.prior, found.copies)
    proof = prove(trials, Rule(tuple(deltas), error), rng, progress)
    result = findings.result(found, proof, ranking, error=error, provenance=provenance)
    if table is not None:
        write_table(table, [ranking.table(found.ids, found.copies)], {"divulge": __version__})
    return result
