"""Real non-members beside generated records: memory, or knowledge of the population?

A target that knows the population better than generator, baseline and helpers do gives away that a
record is real, whether it saw that record or not. Two more audits tell the two apart.

*Control*: real non-members against generated records. Nothing can leak there. What it proves is a
lower bound on what the audit mistakes for a leak; to deduct a lower bound leaves no lower bound, so
where the control speaks nothing is concluded. A silent control has only seen so far (``sight``):
that much is deducted from what members show against generated records.

*Direct*: members against real non-members. What the target knows of the population it knows of
both, so this is the membership game with its own error, and needs no generator. A finding that it
does not confirm is not called a leak, and where it proves more than is left of the finding, its
bound is the one that is stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
from scipy.special import expit, ndtri

from divulge.proof.adjust import LEARNED_SHARE
from divulge.proof.state import headline_epsilon
from divulge.result import Result, floor_to
from divulge.shift.sensitivity import sensitivity
from divulge.types import Array

DIRECT_SHARE, FOUND_SHARE, MISSED_SHARE = 0.5, 0.25, 0.25
"""Shares of the error: of the direct comparison, of members against generated records, and of a
control that misses what lies within its sight."""
ALIKE = (
    "the real non-members have the distribution of the members, and what the audit mistakes for "
    "a leak is within the detection limit of the negative control, which was deducted"
)
_STEP, _LARGEST = 0.01, 20.0


@dataclass(frozen=True)
class Control:
    """What the same audit finds with real non-members on one of its two sides."""

    control: Result
    """Real non-members against generated records."""
    direct: Result
    """Members against real non-members."""
    error: float
    """Of the whole audit, and of the control: half of the control's is the bet's."""

    @property
    def speaks(self) -> bool:
        """Whether something was found where nothing can leak."""
        return any(b.value > 0.0 for b in self.control.headline())

    @property
    def confirms(self) -> bool:
        """Whether members are told from real non-members as well."""
        return any(floor_to(b.value, 3) > 0.0 for b in self.direct.headline())

    @property
    def epsilon(self) -> float:
        """What the control proves."""
        return headline_epsilon(self.control.bounds)

    @property
    def sight(self) -> float:
        """The epsilon that the control would have noticed; infinite if it could not conclude."""
        if not self.control.headline():
            return math.inf
        # the head of the order of revelation is learned from, and nothing is staked on it
        trials = round((1.0 - LEARNED_SHARE) * int(self.control.trials.get("revealed", 0)))
        allowance = float(self.control.measurements.get("allowance_epsilon", 0.0))
        missed = MISSED_SHARE * self.error
        return sight(trials, allowance, self.error / 2.0, power=1.0 - missed)

    def less_sight(self, found: Result) -> Result:
        """Every bound less the sight, or the direct one where that is larger.

        ``found`` was computed with its share of the error, ``direct`` with its own.
        """
        key = attrgetter("parameter", "delta", "correction")
        direct = {key(b): b.value for b in self.direct.bounds}
        lost = {"epsilon": self.sight, "mu": 2.0 * float(ndtri(expit(self.sight)))}
        bounds = tuple(
            replace(
                b,
                value=max(direct.get(key(b), 0.0), b.value - lost[b.parameter], 0.0),
                confidence=1.0 - self.error,
                assumptions=(*b.assumptions, ALIKE),
            )
            for b in found.bounds
        )
        curve = sensitivity(headline_epsilon(bounds))
        return replace(
            found,
            bounds=bounds,
            measurements={**found.measurements, "gamma_star": curve.gamma_star},
            diagnostics=replace(found.diagnostics, sensitivity=curve.drawn()),
        )

    def refusal(self) -> str | None:
        """Why a finding is not called a leak, or None if real non-members speak for it."""
        if self.speaks:
            return (
                "the same audit finds something on real non-members, which the model was not "
                "trained on, so it mistakes knowledge of the population for memorisation."
            )
        if self.confirms:
            return None
        failed = self.direct.verdict.status == "cannot conclude"
        compared = "could not be compared with" if failed else "cannot be told from"
        return (
            f"the finding is not confirmed: members {compared} real non-members. It may be "
            "knowledge of the population, or there are too few real non-members."
        )

    def numbers(self) -> dict[str, float]:
        """For the result; what is infinite is left out."""
        found = {
            "negative_control_epsilon": floor_to(self.epsilon, 6),
            "negative_control_sight": self.sight,
            "direct_epsilon": floor_to(headline_epsilon(self.direct.bounds), 6),
        }
        return {name: value for name, value in found.items() if math.isfinite(value)}


def sight(trials: int, allowance: float, error: float, *, power: float) -> float:
    """The smallest epsilon that a control of so many bets would have noticed, with this power.

    If every answer of the target were worth exactly epsilon (randomised response on real or
    generated) and the stakes were the best ones, the wealth at the allowance would have reached
    ``1 / error``: its logarithm is a sum of ``trials`` independent terms, taken as normal. Learned
    stakes see a little less, and knowledge that sits in a few records much less: no audit of
    this size sees more. Rounded up to a step of 0.01.
    """
    if trials < 1:
        return math.inf
    epsilon: Array = np.arange(allowance + _STEP, allowance + _LARGEST, _STEP)
    right, known = expit(epsilon), expit(allowance)
    won, lost = np.log(right / known), np.log((1.0 - right) / (1.0 - known))
    mean = right * won + (1.0 - right) * lost
    spread = np.sqrt(right * (1.0 - right)) * (won - lost)
    reached = trials * mean - ndtri(power) * math.sqrt(trials) * spread
    enough = np.flatnonzero(reached >= math.log(1.0 / error))
    return math.inf if enough.size == 0 else float(epsilon[enough[0]])
