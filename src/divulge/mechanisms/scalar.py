"""Mechanisms that answer each trial on its own with one number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge import curves
from divulge.errors import require
from divulge.mechanisms.base import Mechanism, draw_truths
from divulge.trials import Trials
from divulge.types import Array


@dataclass(frozen=True)
class Null:
    """Gives nothing away: the score is noise."""

    name: str = "null"

    @property
    def curve(self) -> curves.Curve:
        return curves.Gaussian(0.0)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        return Trials(rng.normal(size=trials), truth, prior)

    def evidence(self, score: Array) -> Array:
        return np.zeros_like(score)


@dataclass(frozen=True)
class GaussianMechanism:
    """N(mu/2, 1) against N(-mu/2, 1): exactly mu-GDP."""

    mu: float

    @property
    def name(self) -> str:
        return f"gaussian mu={self.mu:g}"

    @property
    def curve(self) -> curves.Curve:
        return curves.Gaussian(self.mu)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        return Trials(truth * self.mu / 2.0 + rng.normal(size=trials), truth, prior)

    def evidence(self, score: Array) -> Array:
        return self.mu * score


@dataclass(frozen=True)
class LaplaceMechanism:
    """Laplace noise of scale 1 on +-epsilon/2: exactly epsilon-DP."""

    epsilon: float

    @property
    def name(self) -> str:
        return f"laplace eps={self.epsilon:g}"

    @property
    def curve(self) -> curves.Curve:
        return curves.Laplace(self.epsilon)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        return Trials(truth * self.epsilon / 2.0 + rng.laplace(size=trials), truth, prior)

    def evidence(self, score: Array) -> Array:
        return np.clip(2.0 * score, -self.epsilon, self.epsilon)


@dataclass(frozen=True)
class RandomisedResponse:
    """k-ary randomised response on one of two values: exactly epsilon-DP.

    The score is +1 if the answer is the value of truth +1, -1 if it is that of truth -1, 0 if it is
    one of the k - 2 others.
    """

    epsilon: float
    values: int = 2

    def __post_init__(self) -> None:
        require(self.values >= 2, f"values must be at least 2. Found {self.values}.")

    @property
    def name(self) -> str:
        return f"randomised response eps={self.epsilon:g} k={self.values}"

    @property
    def _rates(self) -> tuple[float, float]:
        """Probability of the true answer, and of each of the others."""
        total = math.exp(self.epsilon) + self.values - 1
        return math.exp(self.epsilon) / total, 1.0 / total

    @property
    def curve(self) -> curves.Curve:
        if self.values == 2:
            return curves.ApproximateDP(self.epsilon)
        true, other = self._rates
        return curves.PiecewiseLinear(
            np.array([0.0, other, 1.0 - true, 1.0]), np.array([1.0, 1.0 - true, other, 0.0])
        )

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        true, other = self._rates
        u = rng.random(trials)
        answer = np.where(u < true, truth, np.where(u < true + other, -truth, 0.0))
        return Trials(answer, truth, prior)

    def evidence(self, score: Array) -> Array:
        return self.epsilon * score


@dataclass(frozen=True)
class MixedExposure:
    """A few records strongly exposed, the rest weakly; the score is the log-likelihood ratio.

    Each record has its own randomised response. The mechanism as a whole is only as private as its
    most exposed record: exactly ``strong``-DP.
    """

    strong: float = 6.0
    weak: float = 0.2
    share: float = 0.02

    @property
    def name(self) -> str:
        return f"mixture {self.share:.0%} eps={self.strong:g}, rest {self.weak:g}"

    @property
    def curve(self) -> curves.Curve:
        return curves.ApproximateDP(self.strong)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        epsilon = np.where(rng.random(trials) < self.share, self.strong, self.weak)
        right = rng.random(trials) < expit(epsilon)
        return Trials(np.where(right, truth, -truth) * epsilon, truth, prior)

    def evidence(self, score: Array) -> Array:
        return np.asarray(score, dtype=float)


@dataclass(frozen=True)
class SubsampledGaussianMechanism:
    """N(0, 1), shifted by mu with probability ``rate`` when the truth is +1."""

    mu: float
    rate: float

    @property
    def name(self) -> str:
        return f"subsampled gaussian mu={self.mu:g} rate={self.rate:g}"

    @property
    def curve(self) -> curves.Curve:
        return curves.SubsampledGaussian(self.mu, self.rate)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        used = (rng.random(trials) < self.rate) & (truth > 0.0)
        return Trials(used * self.mu + rng.normal(size=trials), truth, prior)

    def evidence(self, score: Array) -> Array:
        loss = self.mu * score - self.mu**2 / 2.0
        return np.logaddexp(math.log(self.rate) + loss, _log1m(self.rate))


def _log1m(rate: float) -> float:
    return math.log1p(-rate) if rate < 1.0 else -math.inf


@dataclass(frozen=True)
class ProxyError:
    """Nothing leaks, but counterfactual labels come from a proxy that is off by ``tau``.

    A true label is 0 with probability 1/2 + tau, a proxy's with 1/2: total variation tau. The score
    is the shown label (0 as +1, 1 as -1), and the prior log-odds are those of the shown label.
    """

    tau: float

    @property
    def name(self) -> str:
        return f"null, proxy off by {self.tau:g}"

    @property
    def curve(self) -> curves.Curve:
        return curves.Gaussian(0.0)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        zero = rng.random(trials) < np.where(truth > 0.0, 0.5 + self.tau, 0.5)
        given_away = np.where(zero, math.log1p(2.0 * self.tau), math.log1p(-2.0 * self.tau))
        return Trials(np.where(zero, 1.0, -1.0), truth, prior + given_away)

    def evidence(self, score: Array) -> Array:
        return np.zeros_like(score)


@dataclass(frozen=True)
class Tied:
    """Another mechanism seen through a coarse score: few distinct values, heavy ties.

    Coarsening is post-processing, so the curve of the inner mechanism still holds.
    """

    inner: Mechanism
    width: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.inner.name}, tied"

    @property
    def curve(self) -> curves.Curve:
        return self.inner.curve

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        drawn = self.inner.sample(trials, rng, log_odds)
        coarse = self.width * np.round(drawn.score / self.width)
        return Trials(coarse, drawn.truth, drawn.log_odds)

    def evidence(self, score: Array) -> Array:
        return self.inner.evidence(score)
