"""The line-up: can the model tell the true value of a record from others drawn just as it was?

A value that was random by design (a key, a number, a treatment arm, a planted secret) has exact
non-members: fresh draws from its distribution. No non-member records, no proxy and no features are
needed, and whatever the model knows of the population tells it nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.data import content
from divulge.data.arranged import arranged, order_of, rows_named
from divulge.data.given import read_table
from divulge.data.table_files import require_table_name
from divulge.drawn.candidates import CANDIDATES, line_ups
from divulge.drawn.recipes import parse
from divulge.drawn.scored import TOTAL, Asking, score_versions
from divulge.errors import require
from divulge.games.lineup import released
from divulge.games.lineup.read import copies_of, names_of_rows, read
from divulge.games.public import provenance, public
from divulge.games.ranked import LineUps, audit, require_enough
from divulge.models.handed import described
from divulge.proof.rule import DELTAS
from divulge.result import Result
from divulge.types import Progress


@public("lineup")
def lineup(
    data: Any,
    *,
    truth: str | None = None,
    score: str | Sequence[str] | None = None,
    lower_is_member: bool | None = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    versions: str | Sequence[str] = (),
    value: str | None = None,
    unit: str | None = None,
    copies: str | None = None,
    id: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: Any = None,
    attack: str = TOTAL,
    draw: str | None = None,
    candidates: int = CANDIDATES,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    table: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """What the scores of true values among alternatives prove about the training run.

    ``data`` is a table with a row per training record and a column of scores per candidate
    (default ``s_*``; ``s_0``, or the column named as ``truth``, is the true value's), with one
    column of lists (the true value's score first), or with a row per candidate: ``id`` says which
    line-up it belongs to, ``truth`` (default ``true``) which one is the true value. Where the true
    one of several columns of scores differs from row to row, ``truth`` names a column that names
    it. Records of one ``unit`` share a draw, and are one trial; ``value`` names the true value,
    and stands in for the unit where values are too long and random to be equal by chance;
    ``copies`` says in how many records a value stands.

    Or ``data`` are training records, ``model`` is the target, and ``draw`` says how the value was
    drawn: ``hex:32``, ``digits:6``, ``uuid4``, ``date:2020-01-01..2024-12-31``,
    ``choice:file.txt``, ``permutation:,`` or ``module:function``. The value is the column
    ``value``, or a part of the column ``text`` (with or without a column that names it). Every
    record is shown with the true value and with ``candidates - 1`` fresh draws, and scored by the
    ``attack`` (``total``: the log-probability of the whole text, or of the label).

    Or ``data`` has a column of texts for each of several ``versions``, one of which was released
    by a fair draw; ``truth`` is the column that names it, and ``model`` scores them all.

    ``table`` is where the ranks of all line-ups go (Parquet or CSV). The bounds hold
    together with confidence ``1 - error``.
    """
    target = None if table is None else require_table_name(table, (data,))
    patterns = [versions] if isinstance(versions, str) else list(versions)
    asking: dict[str, Any] = {
        "attack": attack,
        "n_jobs": n_jobs,
        "backend": backend,
        "address": address,
        "cache": cache,
        "cache_key": cache_key,
    }
    named = None if model is None else described(model)
    if patterns:
        require(model is not None, "Versions are texts that a model scores: give a model.")
        idle = {"score": score, "draw": draw, "value": value, "text": text, "label": label}
        unused = [word for word, given in idle.items() if given is not None]
        require(not unused, f"{', '.join(unused)} cannot be used together with versions.")
        found = _released(data, patterns, truth, copies, id, model, Asking(**asking), progress)
    elif model is not None or draw is not None:
        found = _asked(
            data,
            seed,
            model=model,
            draw=draw,
            line_up={
                "value": value,
                "text": text,
                "unit": id if unit is None else unit,
                "features": [features] if isinstance(features, str) else list(features),
                "label": label,
                "candidates": candidates,
            },
            asking=asking,
            given=(truth, score, copies),
            progress=progress,
        )
    else:
        found = read(
            data,
            truth=truth,
            score=score,
            lower_is_member=lower_is_member,
            value=value,
            unit=unit,
            copies=copies,
            id=id,
            seed=seed,
        )
    return audit(
        found,
        deltas=deltas,
        error=error,
        rng=content.generator(seed, found.score, found.copies),
        provenance=provenance(command, seed, found.inputs, named),
        table=target,
        progress=progress,
    )


def _released(
    data: Any,
    versions: Sequence[str],
    truth: str | None,
    copies: str | None,
    id: str | None,
    model: Any,
    asking: Asking,
    progress: Progress | None,
) -> LineUps:
    """Line-ups of versions of texts, scored by the model."""
    where = "the data"
    records = read_table(where, data)
    order = order_of(records.frame, records.columns)
    frame = arranged(records.frame, order)
    with rows_named(order):
        number = np.ones(len(frame), dtype=np.intp)
        if copies is not None:
            number = copies_of(frame, copies, where)
        require_enough(len(frame))
        score, value, names = released.score_released(
            frame, versions, truth, model, asking, where, progress
        )
    rows = np.arange(len(frame))
    return LineUps(
        score=score,
        copies=number,
        ids=pa.array(order) if id is None else names_of_rows(frame, id, rows, where),
        names=(asking.attack,),
        inputs=(records.fingerprint(),),
        records=len(frame),
        assumptions=(released.RELEASED,),
        doubts=released.doubts(value, names),
    )


def _asked(
    data: Any,
    seed: int,
    *,
    model: Any,
    draw: str | None,
    line_up: dict[str, Any],
    asking: dict[str, Any],
    given: tuple[Any, ...],
    progress: Progress | None,
) -> LineUps:
    """Line-ups of records, scored by the model."""
    require(model is not None, "A draw needs a model that scores the versions: give a model.")
    require(draw is not None, "A model needs to know how the value was drawn: give a draw.")
    require(
        all(word is None for word in given),
        "truth, score and copies belong to a table of scores, not to a model.",
    )
    assert draw is not None
    value, label = line_up["value"], line_up["label"]
    require(
        line_up["text"] is not None or label in (None, value),
        f"A score at the label {label!r} also tells what {value!r} does to it, and would accuse a "
        "model that merely knows this effect. Leave the label out and use an attack that does not "
        "read it (--attack entropy), or audit a label that was itself drawn (--value and --label).",
    )
    records = read_table("the data", data)
    order = order_of(records.frame, records.columns)
    rng = content.generator(seed, content.keys(records.frame, records.columns)[order])
    with rows_named(order):
        made = line_ups(arranged(records.frame, order), parse(draw), rng, **line_up)
    require_enough(len(made))
    tell = None if progress is None else partial(progress, "scores")
    with rows_named(order):
        score, copies = score_versions(made, model, progress=tell, **asking)
    return LineUps(
        score=score,
        copies=copies.astype(np.intp),
        ids=pa.array([int(order[rows[0]]) for rows in made.rows]),
        names=(asking["attack"],),
        inputs=(records.fingerprint(),),
        records=len(records.frame),
        assumptions=made.assumptions,
        doubts=(*made.doubts, *made.cautions),
    )
