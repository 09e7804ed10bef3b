"""Around the bound: the negative control."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from divulge.errors import CannotConclude
from divulge.proof.corrections import Proof
from divulge.proof.parts import key_of
from divulge.proof.prove import prove
from divulge.proof.resampled import Resampled
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.result.of_helpers import LadderRecord
from divulge.trials import Trials
from divulge.types import Array, Floats


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
    """Rank correlation of the two scores among non-members, of what the features leave of them."""
    sizes: tuple[int, int] | None = None
    """Records of the members' kind that the target and the control learned from: a user's word."""
    as_given: float | None = None
    """Rank correlation of the scores as given, among non-members."""
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
SMALLER = "the smaller of two audits, without and with the control's score among the features"
SAME_SHARE = 0.5
"""The share of the target's finding, before any allowance, from which a control's is the same."""


def negative_control(
    trials: Trials,
    reference: Array,
    target: Proof,
    rule: Rule,
    rng: np.random.Generator,
    sizes: tuple[int, int] | None = None,
) -> Controls:
    """The same audit on a model that never saw the members: what it shows is confounding.

    The propensities come from the same source and have the same guards. ``target`` is the proof
    from the target's scores, ``sizes`` are the numbers of records that both learned from.
    """
    again = replace(trials, score=reference)
    only = replace(rule, deltas=(), corrections=("prior",), combine="scores", seeds=1, brief=False)
    try:
        proof = prove(again, only, rng)
        bets = target if target.bet is not None else prove(trials, only, rng)
    except CannotConclude as reason:
        return Controls(unheard=f"The negative control could not be run. {reason}")
    outside = target.prepared.truth < 0  # neither model saw these records
    left = (p.prepared.score[outside] for p in (target, proof))
    found = Controls(
        reference=proof.bounds[0].value,
        before=_before(proof),
        target_before=_before(bets),
        likeness=_likeness(*left),
        sizes=sizes,
    )
    if trials.columns.shape[1] > 1:  # one score of several has no scale to compare
        return found
    given, control = target.prepared.raw[outside], proof.prepared.raw[outside]
    scale = max(float(control.std()), 1e-12)
    apart = abs(float(given.mean(dtype=float) - control.mean(dtype=float))) / scale
    return replace(found, as_given=_likeness(given, control), apart=apart)


def lowered(proof: Proof, beside: Proof) -> Proof:
    """No more than is proved with the control's score among the features.

    A control may be silent by chance: with few rows it often is. Its score is a property of the
    record if it saw neither members nor non-members, and what it says too is then no finding. If it
    did see some, or knows what moves the groups and the target does not, its score tells them apart
    where the target's does not, and *given* it the target seems to know what it does not. So it may
    lower a bound and never raise one: the smaller of two bounds holds if either does.
    """
    found = {key_of(b): b.value for b in beside.bounds}

    def least(bound: Bound) -> Bound:
        if bound.correction == "none":
            return bound
        value = min(bound.value, found.get(key_of(bound), 0.0))
        return replace(bound, value=value, assumptions=(*bound.assumptions, SMALLER))

    return replace(proof, bounds=tuple(least(b) for b in proof.bounds))


def not_beside(reasons: Sequence[str]) -> str:
    """Why nothing can be concluded with the control's score among the features."""
    return f"With the control's score among the features: {' '.join(reasons)}"


def _before(proof: Proof) -> float:
    """What the bet proves before the allowance is deducted."""
    return 0.0 if proof.bet is None else float(proof.bet.epsilon)


def _likeness(target: Floats, control: Floats) -> float:
    """Rank correlation of two scores.

    Of what the features leave of them it says most: two models may agree in what everybody sees,
    while one of them knows what the features do not show and the other does not.
    """
    ranks = [rankdata(score) for score in (target, control)]
    if any(np.ptp(r) == 0.0 for r in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
