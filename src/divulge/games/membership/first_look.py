"""Something to look at in seconds: descriptive figures before the correction, and the quick form.

The figures say how far scores and features tell the groups apart. They are no finding: the shift
between the groups is not yet removed, and no bound stands among them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from divulge.games.membership.pools import Pools
from divulge.proof import measures
from divulge.proof.adjust import TRIM
from divulge.result import Result
from divulge.shift.linear import logistic_ridge
from divulge.types import Array, Progress

ROWS = 4000
"""Rows of the quick form with features, at most."""
LEARNER = "logistic"
LOOKED_AT = 5000
_WIDEST = 200
_NUMBERS_PER_SECOND = 120_000.0
"""Rows x (columns + 30) that one core corrects in a second, roughly."""
QUICK = (
    f"This was the quick form: at most {ROWS:,} rows and one simple learner. Only the whole audit "
    "can call a finding robust."
)


def tell(pools: Pools, progress: Progress | None) -> None:
    """Say it where somebody listens, and only where a correction will take its time."""
    if progress is None or not pools.features.names or pools.propensity is not None:
        return
    for words in sentences(pools):
        progress(words, 0, 0)


def sentences(pools: Pools) -> tuple[str, ...]:
    """AUC of the scores, what features alone tell, and how long the correction takes."""
    truth = pools.truth
    areas = [
        f"AUC of {name} {measures.auc(pools.score[:, j], truth):.3f}"
        for j, name in enumerate(pools.score_names)
    ]
    area, share = features_alone(pools.features.matrix, truth)
    members = int((truth > 0).sum())
    audits = 2 if pools.lessons is not None else 1
    rows, columns = pools.features.matrix.shape
    seconds = audits * rows * (columns + 30.0) / _NUMBERS_PER_SECOND
    return (
        f"First look, shift not yet removed: {members:,} members and {truth.size - members:,} "
        f"non-members; {', '.join(areas)}.",
        f"First look, shift not yet removed: the features alone have an AUC of {area:.3f}; "
        f"{share:.0%} of the records overlap (log-odds within {TRIM:g}). None of this is a bound.",
        f"The correction takes some {seconds:.0f} s"
        + (", training the helpers not counted." if pools.lessons is not None else "."),
    )


def features_alone(matrix: Array, truth: Array) -> tuple[float, float]:
    """AUC of a cross-fitted logistic regression, and the share of records that overlap."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(truth.size)[:LOOKED_AT]
    x, kind = np.clip(matrix[rows][:, :_WIDEST], -5.0, 5.0), truth[rows].astype(float)
    out = np.zeros(rows.size)
    half = np.arange(rows.size) % 2 == 0
    for train, test in ((half, ~half), (~half, half)):
        outcome = (kind[train] > 0.0).astype(float)
        share = (outcome.sum() + 0.5) / (outcome.size + 1.0)
        centre = np.full(outcome.size, np.log(share / (1.0 - share)))
        out[test] = logistic_ridge(x[train], outcome, offset=centre)(x[test])
    return measures.auc(out, kind), float(np.mean(np.abs(out) <= TRIM))


def hurried(result: Result) -> Result:
    """The result of the quick form, which is never robust."""
    verdict = result.verdict
    return replace(
        result, verdict=replace(verdict, robust=False, reasons=(*verdict.reasons, QUICK))
    )
