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
from divulge.games.synthetic.contest import Contest
from divulge.games.synthetic.prepare import Material
from divulge.games.synthetic.seen import Seen
from divulge.proof import state
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.trials import Trials
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
    context = state.Context(
        game="synthetic",
        drawn=drawn,
        features=features,
        score_names=(name,),
        pools=(material.real.size, material.generated.size),
        error=error,
        provenance=provenance,
    )
    trials = Trials(score, drawn.truth, features=features.matrix, coin=drawn.log_odds)
    rule = Rule(deltas, error, CORRECTIONS)
    try:
        proof = prove(trials, rule, np.random.default_rng([seed, 4]), progress)
    except CannotConclude as reason:
        return state.no_conclusion(context, str(reason))
    return state.state(context, proof)


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
