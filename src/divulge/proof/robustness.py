"""What a finding must have to be called robust, one requirement after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from divulge.proof.controls import Controls
from divulge.proof.prepared import Prepared
from divulge.result.shared import LeftOutRecord, Requirement
from divulge.shift.benchmark import LeftOut
from divulge.text import rounding

ROBUST_ODDS = 2.0
LEAST_RECORDS = 0.8
"""As a share of the target's: records that a control learned from, to be comparable by word."""
LEAST_AS_GIVEN, MOST_APART = 0.4, 0.1
"""What must not contradict that word: rank correlation of the scores as given, and how far their
means are apart in standard deviations, both among non-members."""
TEXT = (
    "Features describe a text only in part, and a model that knows such text better "
    "than they do looks like one that memorised its members. Give the score of a model "
    "of such text that never saw the members, as a negative control (--reference-score)."
)
NO_CONTROL = (
    "There is no control: a target that knows the members' population better than the features do "
    "looks like one that memorised its members. Give the score of a model that was trained like "
    "the target, on about as many records, and never saw the members (--reference-score)."
)
OTHER_KIND = (
    "The ladder leaves a bound above 0, but its helpers are not copies of the target's own "
    "estimator, which may know what they cannot learn. Give the model itself (--model, --learner "
    "clone), or a control (--reference-score)."
)


@dataclass(frozen=True)
class Evidence:
    """All that the requirements are about."""

    prepared: Prepared
    gamma_star: float
    around: Controls
    folded: Sequence[str] = ()
    """What the encoder lost."""
    left_out: Sequence[LeftOut] = ()
    """What observed columns add to the odds, strongest first."""
    text: bool = False


def weak_odds(gamma_star: float) -> str | None:
    """Why a finding is fragile if a small unmeasured shift would explain it away."""
    if gamma_star >= ROBUST_ODDS:
        return None
    return (
        "An unmeasured distribution shift with an odds ratio of "
        f"{rounding.at_least(gamma_star, 2)} would explain the finding away; robust needs at "
        f"least {ROBUST_ODDS:g}."
    )


def beaten(c_lb: float) -> str:
    """What a blind baseline that speaks means."""
    return (
        "A blind baseline, which does not see the model, beats the propensities by "
        f"{rounding.short(c_lb)} in log-odds: some distribution shift remains."
    )


def requirements(found: Evidence) -> tuple[Requirement, ...]:
    """The checklist; a requirement that does not hold says why in its sentence."""
    return (_blind(found), _odds(found), _benchmark(found), _folded(found), _control(found))


def _control(found: Evidence) -> Requirement:
    """A comparable control that finds nothing, or helpers with a ladder that leaves something."""
    around = found.around
    wanted = "a comparable control finds nothing"
    if around.reference == 0.0:
        holds, why = _comparable(around)
        if holds:
            return Requirement(name=wanted, holds=True, sentence=f"The control is silent; {why}.")
    elif around.reference:
        why = (
            "A reference model that never saw the members shows an epsilon of "
            f"{rounding.short(around.reference)}: residual confounding."
        )
    elif around.unheard:
        why = around.unheard
    else:
        why = TEXT if found.text else NO_CONTROL
    ladder = around.ladder
    if ladder is not None and ladder.supports and not around.speaks:
        said = (
            "Helpers are copies of the target's estimator, near its size, and the ladder leaves a "
            "bound above 0."
        )
        return Requirement(name=wanted, holds=True, sentence=said)
    if ladder is not None and ladder.leaves_something and around.reference is None:
        why = OTHER_KIND
    return Requirement(name=wanted, holds=False, sentence=why)


def controlled(found: Evidence) -> bool:
    """Whether a comparable control, or helpers with a ladder, stand behind a finding."""
    return _control(found).holds


def _comparable(around: Controls) -> tuple[bool, str]:
    """Whether a silent control knows as much as the target, and how that is known.

    No score can prove it: two models may share the noise of the labels while one of them knows what
    the other does not, and a twin of the target may hardly agree with it. So a user must say how
    many records of the members' kind taught each of them, and what is seen must not contradict it:
    a control that learned less, or from others, is worse, or better, on non-members.
    """
    lead = "The control is not comparable to the target, as far as is known: "
    if around.sizes is None:
        return False, (
            f"{lead}one that knows less than the target finds less. Say how many records of the "
            "members' kind taught each of them (--training-size, --reference-size)."
        )
    target, control = around.sizes
    if control < LEAST_RECORDS * target:
        return False, (
            f"{lead}it learned from {control:,} records, the target from {target:,}; at least "
            f"{LEAST_RECORDS:.0%} are needed."
        )
    if around.as_given is None or around.apart is None:
        return False, f"{lead}one score made of several cannot be compared with its own."
    if around.as_given < LEAST_AS_GIVEN:
        return False, (
            f"{lead}among non-members the rank correlation of their scores is "
            f"{rounding.at_least(around.as_given, 2)}, below {LEAST_AS_GIVEN:g}."
        )
    if around.apart > MOST_APART:
        return False, (
            f"{lead}among non-members, whom neither saw, their mean scores are "
            f"{rounding.at_most(around.apart, 2)} standard deviations apart, more than "
            f"{MOST_APART:g}."
        )
    return True, (
        f"by your word it learned from {control:,} records of the members' kind, the target from "
        f"{target:,}, and their scores of non-members do not contradict that"
    )


def _blind(found: Evidence) -> Requirement:
    c_lb, name = found.prepared.c_lb, "the blind baseline is silent"
    if c_lb is None:
        return Requirement(name=name, holds=False, sentence=found.prepared.unchecked)
    if c_lb > 0.0:
        return Requirement(name=name, holds=False, sentence=beaten(c_lb))
    said = "A learner that does not see the model finds no shift beyond the propensities."
    return Requirement(name=name, holds=True, sentence=said)


def _odds(found: Evidence) -> Requirement:
    weak = weak_odds(found.gamma_star)
    name = f"Gamma* is at least {ROBUST_ODDS:g}"
    if weak is not None:
        return Requirement(name=name, holds=False, sentence=weak)
    said = f"Gamma* is {rounding.at_least(found.gamma_star, 2)}."
    return Requirement(name=name, holds=True, sentence=said)


def _benchmark(found: Evidence) -> Requirement:
    name = "Gamma* is at least the odds ratio of the strongest observed feature"
    if not found.left_out:
        said = "No observed feature was left out for comparison."
        return Requirement(name=name, holds=False, sentence=said)
    top = found.left_out[0]
    ratio = rounding.at_most(top.odds_ratio, 2)
    if found.gamma_star >= top.odds_ratio:
        said = (
            f"Leaving out {top.feature!r}, the strongest, changes the odds by a factor of {ratio}."
        )
        return Requirement(name=name, holds=True, sentence=said)
    said = (
        f"Leaving out {top.feature!r} changes the odds of membership by a factor of {ratio}, more "
        f"than Gamma* = {rounding.at_least(found.gamma_star, 2)}: a hidden feature as strong as "
        "that one would explain the finding away."
    )
    return Requirement(name=name, holds=False, sentence=said)


def _folded(found: Evidence) -> Requirement:
    name = "nothing of a feature was folded away"
    if not found.folded:
        return Requirement(name=name, holds=True, sentence="Both models see every feature whole.")
    said = f"What the features tell was not seen whole: {'; '.join(found.folded)}."
    return Requirement(name=name, holds=False, sentence=said)


def benchmark(left_out: Sequence[LeftOut]) -> tuple[LeftOutRecord, ...] | None:
    """As the report lists it."""
    listed = tuple(LeftOutRecord(feature=f.feature, odds_ratio=f.odds_ratio) for f in left_out)
    return listed or None
