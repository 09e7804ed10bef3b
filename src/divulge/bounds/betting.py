"""Betting: a lower bound on pure epsilon from a game of bets on the truths.

Hypothesis: the mechanism is eps-DP and the record alone gives prior log-odds ``l_i``. Then, given
the model, the records and the truths revealed so far, the log-odds of ``S_i = +1`` lie within
``l_i +- eps``. Before each truth is revealed a probability ``q_i`` is named. Where ``logit q_i``
leaves that band, one unit of wealth is staked at the odds of the nearer edge; under the hypothesis
the wealth is a non-negative supermartingale, and by Ville's inequality it ever reaches ``1/error``
with probability at most ``error``.

Epsilon is tested on a fixed grid, upwards. The bound is the last grid point before the first one
that is not rejected: the true epsilon lies below some grid point, and a false claim needs that very
point, a true hypothesis, to be rejected. (The first point *not* rejected would be a claim up to one
step too high.)

There is no threshold, no number of guesses and no data split to choose, so there is no multiple
testing, and the bound may be read, and the game stopped, after any trial.

At a delta the same wealth must grow further: how far is in ``reduction.py``, for every point of the
grid by the better of two forms, which follows from the number of trials and their priors alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from divulge.bounds import learning as _learners
from divulge.bounds.checks import check_delta
from divulge.bounds.reduction import Staked
from divulge.errors import require, require_probability
from divulge.types import Array, slices

GRID_STEP = 0.01
GRID_END = 30.0
_LARGEST_PRIOR = 300.0
_LARGEST_FIT = 1_000_000


@dataclass(frozen=True)
class ProvedAt:
    """What the bets prove of epsilon at a delta."""

    delta: float
    epsilon: float
    refuted: int
    """How many points of the grid: with one of them, epsilon 0, a leak is proved and no more."""


@dataclass(frozen=True)
class BettingResult:
    """The bound, and how it grew as the trials were revealed."""

    epsilon: float
    error: float
    trials: int
    rejected_at: npt.NDArray[np.int64] = field(repr=False)
    """rejected_at[j]: number of revealed trials at which grid point j was rejected."""
    wealth: Array = field(repr=False)
    """Wealth against "nothing leaks" (epsilon 0) after each block; capped at 1e30."""
    blocks: npt.NDArray[np.int64] = field(repr=False)
    step: float = GRID_STEP
    e_values: Array | None = field(default=None, repr=False)
    """Stopped wealths for the combination with other games, where they were asked for."""
    at_delta: tuple[ProvedAt, ...] = ()
    """Epsilon at each delta that was asked for, each at the whole error."""

    @property
    def leak(self) -> bool:
        """Whether epsilon = 0 was rejected, which is possible with a bound that rounds to 0."""
        return self.rejected_at.size > 0

    def running(self, revealed: int) -> float:
        """The bound after this many revealed trials."""
        count = int(np.searchsorted(np.maximum.accumulate(self.rejected_at), revealed, "right"))
        return max(0, count - 1) * self.step

    def running_bound(self) -> tuple[npt.NDArray[np.int64], Array]:
        """(revealed trials, bound) after each block, to be plotted."""
        return self.blocks, np.array([self.running(int(n)) for n in self.blocks])


@dataclass(frozen=True)
class Stop:
    """E-values for a combination of games: when a wealth is stopped, and what is allowed for."""

    goal: float
    shift: float = 0.0
    """The j-th e-value is that of epsilon = shift + j steps."""


class _Game:
    """Bets placed so far, and the smallest epsilon on the grid that is not yet rejected."""

    def __init__(self, learners: int, trials: int, error: float, step: float, end: float) -> None:
        self.odds = np.empty(trials)
        self.direction = np.empty((learners, trials), dtype=np.int8)
        self.size = np.empty((learners, trials), dtype=np.float32)
        self.denominator = np.empty((learners, trials))
        self.goal = (1.0 + 1e-9) / error
        self.step, self.end = step, end
        self.rejected_at: list[int] = []
        self.wealth = np.ones(learners)
        self.revealed = 0
        self.seen = 0  # how many trials the current grid point has been through

    def reveal(self, evidence: Array, truths: npt.NDArray[Any], log_odds: Array) -> None:
        """Place the bets of one block and settle them; ``evidence[k] = logit q_k - l``."""
        block = slice(self.revealed, self.revealed + truths.size)
        self.odds[block] = np.exp(-truths * log_odds)
        self.size[:, block] = np.nextafter(
            np.abs(evidence).astype(np.float32), np.float32(0.0), dtype=np.float32
        )
        self.direction[:, block] = np.sign(evidence) * truths
        self.denominator[:, block] = 1.0 + self.odds[block] * np.exp(-truths * evidence)
        self.revealed = block.stop
        self._advance()

    def _advance(self) -> None:
        from divulge.bounds import compiled

        while len(self.rejected_at) * self.step <= self.end:
            at = compiled.ruin_or_reach(
                self.odds,
                self.direction,
                self.size,
                self.denominator,
                len(self.rejected_at) * self.step,
                self.goal,
                self.wealth,
                self.seen,
                self.revealed,
            )
            if at < 0:
                self.seen = self.revealed
                return
            self.rejected_at.append(at + 1)
            self.wealth = np.ones_like(self.wealth)
            self.seen = 0

    @property
    def epsilon(self) -> float:
        return max(0, len(self.rejected_at) - 1) * self.step

    def e_values(self, stop: Stop) -> Array:
        """The wealth stopped at the goal, for ``stop.shift`` and every step above it.

        Beyond the first that is below 1 nothing is worth the time: 0 is an e-value as well.
        """
        from divulge.bounds import compiled

        found: list[float] = []
        while len(found) * self.step + stop.shift <= self.end and (not found or found[-1] >= 1.0):
            wealth = np.ones_like(self.wealth)
            at = compiled.ruin_or_reach(
                self.odds,
                self.direction,
                self.size,
                self.denominator,
                len(found) * self.step + stop.shift,
                stop.goal,
                wealth,
                0,
                self.revealed,
            )
            found.append(stop.goal if at >= 0 else float(wealth.mean()))
        return np.array(found)

    def at_delta(self, delta: float, staked: Staked, error: float) -> ProvedAt:
        """The last point of the grid before the first that is not refuted at this delta."""
        from divulge.bounds import compiled

        first = point = staked.start(check_delta(delta), error, self.step, self.end)
        while point * self.step <= self.end:
            epsilon = point * self.step
            reached = compiled.ruin_or_reach(
                self.odds,
                self.direction,
                self.size,
                self.denominator,
                epsilon,
                (1.0 + 1e-9) * math.exp(min(700.0, staked.log_goal(delta, epsilon, error))),
                np.ones_like(self.wealth),
                0,
                self.revealed,
            )
            if reached < 0:
                break
            point += 1
        return ProvedAt(
            delta, max(0, point - 1) * self.step if point > first else 0.0, point - first
        )

    def wealth_against_no_leak(self, blocks: list[int]) -> Array:
        """The wealth at epsilon 0 as if the game had gone on after it was rejected."""
        total = np.zeros(self.wealth.size)
        path = np.empty((self.wealth.size, len(blocks)))
        start = 0
        for j, stop in enumerate(blocks):
            for part in slices(start, stop):
                gain = np.log1p(self.odds[part]) - np.log(self.denominator[:, part])
                total += np.where(self.size[:, part] > 0.0, gain, 0.0).sum(axis=1)
            path[:, j] = total
            start = stop
        mean = np.exp(np.minimum(path, 200.0)).mean(axis=0)
        return np.asarray(np.minimum(mean, 1e30), dtype=float)


def bet(
    scores: npt.ArrayLike,
    truths: npt.ArrayLike,
    log_odds: npt.ArrayLike = 0.0,
    *,
    error: float = 0.05,
    learners: tuple[str | _learners.Learner, ...] | None = None,
    combine: Literal["likelihood", "average"] = "likelihood",
    rng: np.random.Generator | int | None = None,
    order: npt.NDArray[Any] | None = None,
    known: int = 0,
    stop_at: float | None = None,
    step: float = GRID_STEP,
    e_values: Stop | None = None,
    deltas: Sequence[float] = (),
    progress: Callable[[int, int], None] | None = None,
) -> BettingResult:
    """Bet on the truths, learning from the revealed ones; trials are revealed in random order.

    ``scores`` is one score per trial, or a matrix of several scores and features. The learners (by
    default logistic and isotonic; with several columns logistic and boosting) are combined into
    one bet by the likelihood of their past predictions, or each bets on its own and the wealths
    are averaged. ``stop_at`` ends the game as soon as the bound reaches that epsilon.

    Where scores or log-odds were themselves learned from revealed trials, give that ``order`` of
    revelation (a permutation of the trials) and the number ``known`` of trials at its head on which
    nothing is staked. ``e_values`` asks for those of this game, to be combined with others
    (``bounds/several_draws.py``), ``deltas`` for epsilon at each of them.
    """
    x, s, prior = _check(scores, truths, log_odds, error)
    require(combine in ("likelihood", "average"), f"Unknown combination {combine!r}.")
    if learners is None:
        learners = ("logistic", "isotonic") if x.shape[1] == 1 else ("logistic", "boosting")
    fits = _learners.named(learners)
    if order is None:
        order = np.random.default_rng(rng).permutation(s.size)
    require(_once(order, s.size), "order must name every trial exactly once.")
    require(0 <= known <= s.size, f"known must lie in 0..{s.size}. Found {known}.")
    game = _Game(len(fits) if combine == "average" else 1, s.size, error, step, GRID_END)
    likelihood = np.zeros(len(fits))
    blocks: list[int] = []
    growth = 1.5 if "boosting" in learners else 1.25
    unstaked = max(8, known)
    for start, stop in _blocks(s.size, growth=growth, first=unstaked):
        past = order[max(0, start - _LARGEST_FIT) : start]
        predict = []
        if (s[past] > 0.0).any() and (s[past] < 0.0).any():
            known_x = x[past].astype(float)
            predict = [fit(known_x, s[past], prior[past]) for fit in fits]
        loss = np.zeros(len(fits))
        for part in slices(start, stop):
            rows = order[part]
            truth, offset = s[rows], prior[rows]
            evidence = np.zeros((len(fits), rows.size))
            for k, learned in enumerate(predict):
                evidence[k] = learned(x[rows].astype(float))
            bets = evidence
            if combine == "likelihood":
                bets = _learners.mixed(evidence, offset, likelihood)[None]
            game.reveal(bets, truth, offset)
            loss += np.logaddexp(0.0, -truth * (evidence + offset)).sum(axis=1)
        likelihood -= loss
        blocks.append(stop)
        if progress is not None:
            progress(stop, s.size)
        if stop_at is not None and game.epsilon >= stop_at:
            break
    found = _result(game, error, blocks)
    if deltas:
        found = _at(found, game, prior[order[unstaked:]], deltas)
    return found if e_values is None else replace(found, e_values=game.e_values(e_values))


def bet_given(
    probabilities: npt.ArrayLike,
    truths: npt.ArrayLike,
    log_odds: npt.ArrayLike = 0.0,
    *,
    error: float = 0.05,
    step: float = GRID_STEP,
    deltas: Sequence[float] = (),
) -> BettingResult:
    """Bet with given ``q``: one row per bettor, one column per trial, in the order of revelation.

    ``q_i`` may depend on the model, all records and the truths before i, and on nothing else.
    """
    q = np.atleast_2d(np.asarray(probabilities, dtype=float))
    _, s, prior = _check(q[0], truths, log_odds, error)
    require(bool(np.all((q > 0.0) & (q < 1.0))), "probabilities must lie strictly in (0, 1).")
    game = _Game(q.shape[0], s.size, error, step, GRID_END)
    blocks: list[int] = []
    for start, stop in _blocks(s.size, growth=1.25):
        part = q[:, start:stop]
        evidence = np.log(part) - np.log1p(-part) - prior[start:stop]
        game.reveal(evidence, s[start:stop], prior[start:stop])
        blocks.append(stop)
    return _at(_result(game, error, blocks), game, prior, deltas)


def _at(
    found: BettingResult, game: _Game, log_odds: Array, deltas: Sequence[float]
) -> BettingResult:
    """Epsilon at each delta, from the prior log-odds of the trials that may be staked on."""
    staked = Staked(log_odds)
    return replace(
        found, at_delta=tuple(game.at_delta(delta, staked, found.error) for delta in deltas)
    )


def _result(game: _Game, error: float, blocks: list[int]) -> BettingResult:
    return BettingResult(
        epsilon=game.epsilon,
        error=error,
        trials=game.revealed,
        rejected_at=np.array(game.rejected_at, dtype=np.int64),
        wealth=game.wealth_against_no_leak(blocks),
        blocks=np.array(blocks, dtype=np.int64),
        step=game.step,
    )


def _blocks(trials: int, *, growth: float, first: int = 8) -> Iterator[tuple[int, int]]:
    start, stop = 0, min(first, trials)
    while start < trials:
        yield start, stop
        start, stop = stop, min(trials, max(stop + 4, int(stop * growth)))


def _once(order: npt.NDArray[Any], trials: int) -> bool:
    """Whether an order names every trial exactly once."""
    if order.size != trials or order.min() < 0 or order.max() >= trials:
        return False
    seen = np.zeros(trials, dtype=bool)
    seen[order] = True
    return bool(seen.all())


def _check(
    scores: npt.ArrayLike, truths: npt.ArrayLike, log_odds: npt.ArrayLike, error: float
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Array]:
    """The arrays as they are where they are compact: a copy is made of what is worked on only."""
    require_probability("error", error)
    x, s = np.asarray(scores), np.asarray(truths).ravel()
    x = x if x.dtype == np.float32 else np.asarray(x, dtype=float)
    s = s if s.dtype == np.int8 else np.asarray(s, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    require(s.size > 0, "There are no trials.")
    require(x.ndim == 2 and x.shape[0] == s.size, "scores and truths must have the same length.")
    require(bool(np.isfinite(x).all()), "Scores must be finite: found NaN or infinity.")
    require(bool((np.abs(s) == 1).all()), "truths must be +1 or -1.")
    prior = np.broadcast_to(np.asarray(log_odds, dtype=float), s.shape)
    require(
        bool(prior.min() >= -_LARGEST_PRIOR and prior.max() <= _LARGEST_PRIOR),
        f"log_odds must be finite and at most {_LARGEST_PRIOR:g} in size.",
    )
    return x, s, prior
