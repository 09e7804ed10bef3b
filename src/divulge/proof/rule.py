"""What is fixed before a truth is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from divulge.errors import InputError, require, require_choice
from divulge.shift.propensity import CALIBRATIONS, LEARNERS

CORRECTIONS = ("none", "composition", "conditional", "signed", "balanced", "prior")
DELTAS = (1e-5,)
ESTIMATORS = ("auto", *LEARNERS)
COMBINATIONS = ("scores", "learned")


GRAMMAR = (
    "mu, epsilon, epsilon@ and a delta (epsilon@1e-5), or independent: before mu or epsilon@ "
    "(independent:mu)"
)
_ALONE = "independent"


@dataclass(frozen=True)
class Named:
    """The one parameter that was named beforehand."""

    parameter: str
    delta: float | None = None
    """The delta of an epsilon; None for mu."""
    independent: bool = False
    """Whether scores of different records are assumed to be independent."""

    @classmethod
    def of(cls, text: str | None) -> Named | None:
        """Read what is named; InputError for what is not in the grammar."""
        if text is None:
            return None
        wrong = InputError(
            f"headline must be {GRAMMAR}, with a delta above 0 and below 1. Found {text!r:.60}."
        )
        if not isinstance(text, str):
            raise wrong
        before, colon, named = text.strip().rpartition(":")
        if (colon and before != _ALONE) or (colon and named == "epsilon"):
            raise wrong
        parameter, at, after = named.partition("@")
        if not at and parameter in ("mu", "epsilon"):
            return cls(parameter, None if parameter == "mu" else 0.0, bool(colon))
        try:
            delta = float(after)
        except ValueError:
            raise wrong from None
        if parameter != "epsilon" or not 0.0 < delta < 1.0:
            raise wrong
        return cls("epsilon", delta, bool(colon))

    def __str__(self) -> str:
        before = f"{_ALONE}:" if self.independent else ""
        return f"{before}{self.parameter}" + (f"@{_delta(self.delta)}" if self.delta else "")


def _delta(value: float) -> str:
    """As it was named, to the last digit."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


@dataclass(frozen=True)
class Rule:
    """How trials are turned into bounds; the headline ones hold together with ``1 - error``.

    Half of the error goes to the bet (epsilon at delta 0), half to the counts.
    """

    deltas: tuple[float, ...] = DELTAS
    error: float = 0.05
    corrections: tuple[str, ...] = CORRECTIONS
    estimator: str = "auto"
    """Who fits propensities: the robust stack, or one learner as published."""
    calibration: str = "platt"
    combine: str = "scores"
    """The attack ranks by the scores, or by a learned combination of scores and features."""
    seeds: int = 1
    """Draws of one table that are combined: each also proves at a smaller error."""
    repetitions: int = 1
    """Replays of the coin flips over fixed records, combined."""
    tau: float | None = None
    """How far a proxy may be from the truth in total variation, where that is vouched for."""
    headline: Named | None = None
    """The parameter that gets the whole error and is the only headline; None: all together."""
    raw: bool = False
    """No blind baseline and no allowance: the finding before them, which proves nothing."""
    brief: bool = False
    """No guards where nothing is found before them: the same claims of one draw, sooner. Whether
    anything could have been concluded is not told then, so no user is given this."""

    @property
    def half(self) -> float:
        """The error of the bets, and that of the counts, where none is named."""
        return self.error / 2.0

    def checked(self) -> Rule:
        """The rule, or InputError; what games share (error, deltas) is checked by ``public``."""
        for correction in self.corrections:
            require_choice("correction", correction, CORRECTIONS)
        require_choice("estimator", self.estimator, ESTIMATORS)
        require_choice("calibration", self.calibration, CALIBRATIONS)
        require_choice("combine", self.combine, COMBINATIONS)
        tau = self.tau
        require(tau is None or 0.0 <= tau < 1.0, f"tau must lie in [0, 1). Found {tau!r}.")
        return self
