"""Trials with generated records, each weighed against its own prior, for bounds on epsilon and mu.

Where PANORAMIA charges every record with the worst closeness c, here each record has its own prior:
what the record, the helpers and the baseline say of it. The bounds and guards are those of the
membership audit under shift. Real non-members, if there are any, are played too (``control.py``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from divulge.data.features import Features
from divulge.errors import CannotConclude
from divulge.games.membership import findings
from divulge.games.synthetic.contest import Contest, Seen
from divulge.games.synthetic.prepare import Material
from divulge.proof import adjust, corrections
from divulge.result import Result
from divulge.types import Array, Progress

CORRECTIONS = ("balanced", "prior")


def audit(
    material: Material,
    contest: Contest,
    deltas: tuple[float, ...],
    error: float,
    seed: int,
    provenance: dict[str, Any],
    progress: Progress | None,
) -> Result:
    """The same trials, each against its own prior, with the guards of the membership audit.

    The propensity is fitted on the record, the helpers' losses and the baseline's log-odds, which
    were learned from other records.
    """
    drawn, seen = contest.drawn, material.seen
    helped = [f"helper loss {j + 1}" for j in range(seen.helper.shape[1])]
    features = Features(
        _standardised(np.column_stack([seen.blind(drawn.rows), contest.baseline])),
        (*material.names, *helped, "baseline"),
    )
    score, name = _score(seen, contest)
    context = findings.Context(
        drawn=drawn,
        duplicates=np.zeros(0, dtype=np.intp),
        features=features,
        score_names=(name,),
        deltas=deltas,
        error=error,
        provenance=provenance,
        pools=(material.real.size, material.generated.size),
        game="synthetic",
    )
    rng = np.random.default_rng([seed, 4])
    try:
        adjusted = adjust.adjust(
            score[:, None],
            drawn.truth,
            features.matrix,
            coin=drawn.log_odds,
            source=adjust.Propensities(),
            error=error,
            rng=rng,
            progress=progress,
        )
    except CannotConclude as reason:
        return findings.no_conclusion(context, str(reason))
    audited = corrections.audit(
        adjusted.prepared,
        deltas=deltas,
        error=error,
        corrections=CORRECTIONS,
        rng=rng,
    )
    return findings.result(context, adjusted, audited, reference=None, bootstrap=0, rng=rng)


def _score(seen: Seen, contest: Contest) -> tuple[Array, str]:
    """How much better the target knows the record than its helpers; learned for several columns."""
    rows = contest.drawn.rows
    if seen.target.shape[1] > 1:
        return contest.attack - contest.baseline, "attack less baseline"
    loss = seen.target[rows, 0]
    if seen.helper.shape[1] == 0:
        return -loss, "loss of the target"
    return seen.helper[rows].mean(axis=1) - loss, "loss of the helpers less the target's"


def _standardised(matrix: Array) -> Array:
    spread = matrix.std(axis=0)
    keep = spread > 1e-12
    out = np.zeros_like(matrix)
    out[:, keep] = (matrix[:, keep] - matrix[:, keep].mean(axis=0)) / spread[keep]
    return out


def without_headline(found: Result) -> Result:
    """The same bounds, none of which a verdict rests on."""
    return replace(found, bounds=tuple(replace(b, headline=False) for b in found.bounds))
