"""Line-ups: the true value of a record among others drawn just as it was.

Given what is shown, which candidate is the true one is random by design and independent over the
line-ups, so nothing is estimated but the forecasts that are staked. Half of the error goes to
direct bets (epsilon at delta 0, ``bounds/direct.py``), half to counted guesses (mu, and epsilon at
each delta, ``bounds/lineups.py``).

A line-up with candidates that are equal, or of which some are more probable than others, is bet on
under its prior and not counted. That depends on what is shown alone, never on which one is true.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from divulge.bounds import direct, forecasting, lineups
from divulge.bounds.betting import BettingResult
from divulge.bounds.lineups import LineUpCounts
from divulge.bounds.statement import HONEST_GUESSES
from divulge.errors import require
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.types import Array, Index, Progress

LEARNED = 0.3
"""The first of the line-ups, whose truths teach what is guessed in the others."""
BET_THEOREM = "Ville's inequality for the wealth of bets against the nearest eps-DP posterior"
COUNT_THEOREM = (
    "Mahloujifar, Melis, Chaudhuri 2024, Theorem 9 (f-DP recursion) for K candidates; union bound "
    "over the numbers of guesses"
)
DRAWN = (
    "the alternatives were drawn from the true value's own distribution given all else that the "
    "scores use, independently of the training"
)
INDEPENDENT = "the values of the line-ups are independent of each other"
REPLACEMENT = "privacy under replacement of the value (for add/remove: half of each bound)"
_EVEN = 1e-9


@dataclass(frozen=True)
class LineUp:
    """What the game yields, a row per line-up and a column per candidate."""

    score: Array = field(repr=False)
    """May have a last axis of several scores; larger speaks for the true value."""
    value: Index = field(repr=False)
    """Which candidate is the true one."""
    prior: Array | None = field(default=None, repr=False)
    """Probability of each candidate given what is shown, 0 for one that is not there; None: all
    are equally probable."""
    copies: npt.NDArray[np.integer] | None = field(default=None, repr=False)
    """Training records that each true value stands in, at most; None: one each."""

    def __post_init__(self) -> None:
        require(self.score.ndim in (2, 3), "Scores must have a row per line-up, a column each.")
        rows, candidates = self.score.shape[:2]
        require(rows > 0 and candidates >= 2, "A line-up needs at least 2 candidates.")
        require(self.value.shape == (rows,), "There must be one true value per line-up.")
        if self.prior is not None:
            require(self.prior.shape == (rows, candidates), "There must be a prior per candidate.")
        if self.copies is not None:
            whole = self.copies.shape == (rows,) and bool((self.copies >= 1).all())
            require(whole, "copies must be at least 1, one per line-up.")

    def __len__(self) -> int:
        return int(self.value.size)

    @property
    def weights(self) -> Array:
        """The prior of every candidate."""
        if self.prior is not None:
            return self.prior
        return np.full(self.score.shape[:2], 1.0 / self.score.shape[1])

    @property
    def even(self) -> npt.NDArray[np.bool_]:
        """Line-ups that may be counted: whose candidates are all equally probable."""
        k = self.score.shape[1]
        return np.asarray((np.abs(self.weights * k - 1.0) <= _EVEN).all(axis=1))

    @property
    def groups(self) -> npt.NDArray[np.integer]:
        """Training records per true value."""
        return np.ones(len(self), dtype=np.intp) if self.copies is None else self.copies

    def shuffled(self, rng: np.random.Generator) -> LineUp:
        """In random order, and every line-up in a random order of its own: no place tells."""
        rows = rng.permutation(len(self))
        places = np.argsort(rng.random(self.score.shape[:2]), axis=1)
        deep = places if self.score.ndim == 2 else places[:, :, None]
        return LineUp(
            np.take_along_axis(self.score[rows], deep, axis=1),
            np.argmax(places == self.value[rows, None], axis=1),
            None if self.prior is None else np.take_along_axis(self.prior[rows], places, axis=1),
            None if self.copies is None else self.copies[rows],
        )


@dataclass(frozen=True)
class LineUpProof:
    """What line-ups prove, and how it came about."""

    bounds: tuple[Bound, ...]
    bet: BettingResult
    counts: LineUpCounts | None
    """None where no line-up could be counted."""
    learned: int
    """Line-ups that taught the counted guesses."""


def lined_up(
    trials: LineUp, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> LineUpProof:
    """Shuffle, bet on every line-up, and count guesses in those that taught nothing."""
    tell = progress or (lambda stage, done, total: None)
    shown = trials.shuffled(rng)
    prior, value = shown.weights, shown.value
    tell("bets", 0, 2)
    q = forecasting.forecast(shown.score, prior, value)
    bet = direct.bet_values(q, prior, value, copies=shown.groups, error=rule.half)
    tell("bounds", 1, 2)
    learned = round(LEARNED * len(shown))
    counts = _counted(shown, learned, rng)
    return LineUpProof(_stated(bet, counts, rule), bet, counts, learned)


def _counted(shown: LineUp, learned: int, rng: np.random.Generator) -> LineUpCounts | None:
    """Guesses learned on the first line-ups, counted on the even ones among the others."""
    rest = np.flatnonzero(shown.even[learned:]) + learned
    if rest.size == 0:
        return None
    if learned >= forecasting.FIRST:
        told = forecasting.forecast(shown.score, shown.weights, shown.value, learned)
        confidence = told[rest]
    else:  # too few to learn from: by the first score, the surest far above its neighbours
        first = shown.score if shown.score.ndim == 2 else shown.score[:, :, 0]
        confidence = first[rest] - np.sort(first[rest], axis=1)[:, -2:-1]
    largest = int(shown.groups[rest].max())
    return lineups.count(confidence, shown.value[rest], rng, largest)


def _stated(bet: BettingResult, counts: LineUpCounts | None, rule: Rule) -> tuple[Bound, ...]:
    words = (DRAWN, INDEPENDENT, REPLACEMENT)
    bounds = [
        Bound(
            parameter="epsilon",
            delta=0.0,
            value=bet.epsilon,
            confidence=1.0 - rule.half,
            method="betting",
            theorem=BET_THEOREM,
            assumptions=words,
            correction="none",
            headline=True,
            standing="proved",
        )
    ]
    if counts is None:
        return tuple(bounds)
    values: dict[float | None, float] = {None: counts.mu(rule.half)}
    values |= {delta: counts.epsilon(delta, rule.half) for delta in rule.deltas}
    bounds += [
        Bound(
            parameter="mu" if delta is None else "epsilon",
            delta=delta,
            value=value,
            confidence=1.0 - rule.half,
            method="recursion",
            theorem=COUNT_THEOREM,
            assumptions=(*words, HONEST_GUESSES),
            correction="none",
            headline=True,
            standing="proved",
        )
        for delta, value in values.items()
    ]
    return tuple(bounds)
