"""Around the bound: the negative control."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from divulge.errors import CannotConclude
from divulge.proof.corrections import Proof
from divulge.proof.prove import prove
from divulge.proof.resampled import Resampled
from divulge.proof.rule import Rule
from divulge.result.of_helpers import LadderRecord
from divulge.trials import Trials
from divulge.types import Floats


@dataclass(frozen=True)
class Controls:
    """What was computed around a proof."""

    reference: float | None = None
    """What the same audit proves of a model that never saw the members; None: not tried."""
    unheard: str = ""
    """Why such a model could not be tried, if so."""
    before: float = 0.0
    """What it shows before any allowance is deducted."""
    target_before: float = math.inf
    """What the target shows before any allowance is deducted."""
    likeness: float | None = None
    """Rank correlation of the two scores among non-members."""
    sizes: tuple[int, int] | None = None
    """Records of the members' kind that the target and the control learned from: a user's word."""
    as_given: float | None = None
    """The same where each is one score, so that their scales can be compared; else None."""
    apart: float | None = None
    """How much the control's mean score differs there, in its standard deviations."""

    @property
    def speaks(self) -> bool:
        """Whether the control shows what the target shows, after the allowance or before it.

        One that cannot be judged by these features and rows says that the target cannot either.
        The allowance is deducted from both, so a control may be silent by as little as the target
        speaks. What it shows before the deduction is bias for certain: where that is at least half
        of what the target shows, the target's finding is not told from it.
        """
        if self.unheard:
            return True
        return bool(self.reference) or self.before >= SAME_SHARE * self.target_before > 0.0

    resampled: Resampled | None = None
    ladder: LadderRecord | None = None
    """What population knowledge may explain, by helpers in the role of the target."""


NO_CONTROLS = Controls()
SAME_SHARE = 0.5
"""The share of the target's finding, before any allowance, from which a control's is the same."""


def negative_control(
    trials: Trials,
    control: Trials,
    target: Proof,
    rule: Rule,
    rng: np.random.Generator,
    sizes: tuple[int, int] | None = None,
) -> Controls:
    """The same audit on a model that never saw the members: what it shows is confounding.

    Its propensities have the same guards, but its score is no feature of its own audit. ``target``
    is the proof from the target's scores, ``sizes`` are the numbers of records that both learned
    from.
    """
    only = replace(rule, deltas=(), corrections=("prior",), combine="scores", seeds=1)
    try:
        proof = prove(control, only, rng)
        bets = target if target.bet is not None else prove(trials, only, rng)
    except CannotConclude as reason:
        return Controls(unheard=f"The negative control could not be run. {reason}")
    outside = target.prepared.truth < 0  # neither model saw these records
    given, other = target.prepared.raw[outside], proof.prepared.raw[outside]
    found = Controls(
        reference=proof.bounds[0].value,
        before=_before(proof),
        target_before=_before(bets),
        likeness=_likeness(given, other),
        sizes=sizes,
    )
    if trials.columns.shape[1] > 1:  # one score of several has no scale to compare
        return found
    scale = max(float(other.std()), 1e-12)
    apart = abs(float(given.mean(dtype=float) - other.mean(dtype=float))) / scale
    return replace(found, as_given=found.likeness, apart=apart)


def _before(proof: Proof) -> float:
    """What the bet proves before the allowance is deducted."""
    return 0.0 if proof.bet is None else float(proof.bet.epsilon)


def _likeness(target: Floats, control: Floats) -> float:
    """Rank correlation of two scores."""
    ranks = [rankdata(score) for score in (target, control)]
    if any(np.ptp(r) == 0.0 for r in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
