"""The audit of planted line-ups: can the model tell a canary's secret from its other candidates?

A line-up in all but where the truths come from: the plan drew them, so nothing has to be assumed of
the distribution of the values, and what is looked for is known to stand in the training records.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.attacks.observe import Question
from divulge.bounds.statement import HONEST_GUESSES
from divulge.data import content, tables
from divulge.data.given import read_table
from divulge.data.table_files import require_table_name
from divulge.data.tables import Frame
from divulge.drawn.scored import TOTAL, Asking, score_rows
from divulge.errors import require
from divulge.games.canaries import plans
from divulge.games.canaries.joining import SCORES, join, order_by_plan
from divulge.games.canaries.planting import LineUpPlan
from divulge.games.public import provenance, public
from divulge.games.ranked import LineUps, own_first, require_enough
from divulge.games.ranked import audit as audit_ranked
from divulge.models.handed import described
from divulge.proof.lineup import REPLACEMENT
from divulge.proof.rule import DELTAS
from divulge.result import Bound, Result
from divulge.result.of_lineup import PlantedRecord
from divulge.types import Array, Progress

DRAWN = (
    "the plan drew which of its candidates every canary holds, before training, and the canaries "
    "were trained on as the plan wrote them"
)
BLIND = "the scores were made without knowing the plan or the records that were trained on"
VERSIONS = "the versions"


@public("lineup")
def audit_planted(
    plan: Any,
    scores: Any,
    *,
    score: str | Sequence[str] | None = None,
    lower_is_member: bool | None = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    id: str | None = None,
    ignore_others: bool = False,
    model: Any = None,
    attack: str = TOTAL,
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
    """What the scores of all versions prove; the words are those of ``canaries.audit``."""
    target = None if table is None else require_table_name(table, (plan, scores))
    made = plan if isinstance(plan, LineUpPlan) else plans.load(plan)
    assert isinstance(made, LineUpPlan)
    require_enough(len(made))
    given = read_table(SCORES if model is None else VERSIONS, scores)
    if model is None:
        unused = [w for w, v in (("features", features), ("label", label), ("text", text)) if v]
        require(not unused, f"{', '.join(unused)} cannot be used without a model.")
        joined = join(made, given.frame, score, id, lower_is_member, ignore_others)
        flat, names, others = joined.score, joined.names, joined.others
    else:
        require(score is None, "Give a model or a score, not both.")
        asking = Asking(attack, n_jobs=n_jobs, backend=backend, address=address, cache=cache,
                        cache_key=cache_key)  # fmt: skip
        flat, others = _asked(
            made, given.frame, model, features, label, text, id, ignore_others, asking, progress
        )
        names = (attack,)
    matrix = flat.reshape(len(made), made.candidates, -1)
    matrix = matrix[:, :, 0] if len(names) == 1 else matrix
    inputs = [given.fingerprint()]
    if not isinstance(plan, LineUpPlan):
        inputs.insert(0, {"name": Path(plan).name, "sha256": tables.file_sha256(plan)})
    found = LineUps(
        score=own_first(matrix, np.array(made.places)),
        copies=np.full(len(made), made.copies, dtype=np.intp),
        ids=pa.array(range(len(made))),
        names=names,
        inputs=tuple(inputs),
        records=len(made) * made.copies,
    )
    result = audit_ranked(
        found,
        deltas=deltas,
        error=error,
        rng=content.generator(seed, found.score),
        provenance=provenance(command, seed, inputs, None if model is None else described(model)),
        table=target,
        progress=progress,
    )
    return replace(
        result,
        bounds=tuple(_stated(bound) for bound in result.bounds),
        diagnostics=replace(result.diagnostics, planted=_described(made, others)),
    )


def _asked(
    made: LineUpPlan,
    frame: Frame,
    model: Any,
    features: str | Sequence[str],
    label: str | None,
    text: str | None,
    id: str | None,
    ignore_others: bool,
    asking: Asking,
    progress: Progress | None,
) -> tuple[Array, int]:
    """The model's score of every version, in the order of the plan."""
    rows, others = order_by_plan(made, frame, id, ignore_others, VERSIONS)
    shown = tables.read(frame.to_arrow().take(pa.array(rows)))
    names = tables.expand(
        shown, [features] if isinstance(features, str) else list(features), VERSIONS
    )
    reads = text if text is not None or made.template is None else made.column
    tables.require_columns(shown, [c for c in (reads, label) if c is not None], VERSIONS)
    question = Question(model, () if reads else tuple(names), label, reads)
    tell = None if progress is None else partial(progress, "scores")
    each = score_rows(question, made.column, (shown, None), asking, lambda at: int(rows[at]), tell)
    return each, others


def _described(made: LineUpPlan, others: int) -> PlantedRecord:
    source = made.input or {}
    return PlantedRecord(
        canaries=len(made),
        template=made.template,
        column=made.column,
        draw=made.draw,
        copies=made.copies,
        seed=made.seed,
        data=source.get("name"),
        data_sha256=source.get("sha256"),
        rows_of_other_records=others,
    )


def _stated(bound: Bound) -> Bound:
    """The bound in the words of a plan, which drew the values itself."""
    guesses = (HONEST_GUESSES,) if HONEST_GUESSES in bound.assumptions else ()
    return replace(bound, assumptions=(DRAWN, BLIND, REPLACEMENT, *guesses))
