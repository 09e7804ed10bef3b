"""Mechanisms that are exactly (epsilon, delta)-DP, and how many of their guesses are right.

Both answer each record by randomised response and disclose with probability delta: every record by
its own coin, or all of them by one. Neither epsilon nor delta could be smaller, and a guess follows
the answer, disclosed records first, so the distribution of the number of correct ones is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import binom

from divulge import curves
from divulge.errors import require
from divulge.mechanisms.base import draw_truths
from divulge.trials import Trials
from divulge.types import Array

_SURE = 50.0


@dataclass(frozen=True)
class Disclosing:
    """Randomised response that discloses with probability ``delta``."""

    epsilon: float
    delta: float
    together: bool = False
    """Whether one coin discloses all records or none."""

    def __post_init__(self) -> None:
        require(self.epsilon >= 0.0, f"epsilon must be at least 0. Found {self.epsilon!r}.")
        require(0.0 <= self.delta < 1.0, f"delta must lie in [0, 1). Found {self.delta!r}.")

    @property
    def name(self) -> str:
        """For tables."""
        what = "all records" if self.together else "each record"
        return f"disclosing {what} eps={self.epsilon:g} delta={self.delta:g}"

    @property
    def curve(self) -> curves.Curve:
        """Exact: the log-likelihood ratio is infinite with probability delta, else +-epsilon."""
        return curves.ApproximateDP(self.epsilon, self.delta)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        """Trials whose truths are independent with these prior log-odds."""
        truth, prior = draw_truths(trials, rng, log_odds)
        open_ = rng.random(1 if self.together else trials) < self.delta
        answer = np.where(rng.random(trials) < expit(self.epsilon), truth, -truth)
        return Trials(np.where(open_, _SURE * truth, answer), truth, prior)

    def evidence(self, score: Array) -> Array:
        """The exact log-likelihood ratio; certainty is a large number."""
        return np.where(np.abs(score) == _SURE, score, self.epsilon * np.sign(score))

    def correct(self, trials: int, guesses: int) -> Array:
        """Exact probabilities of 0..guesses correct ones, the surest trials being guessed.

        For fair coins. Disclosed records are guessed first and are right.
        """
        require(0 <= guesses <= trials, "More guesses than trials.")
        known = np.arange(guesses + 1)
        if self.together:
            weight = np.zeros(guesses + 1)
            weight[[0, guesses]] = 1.0 - self.delta, self.delta
        else:
            weight = binom.pmf(known, trials, self.delta)
            weight[guesses] = binom.sf(guesses - 1, trials, self.delta)
        out = np.zeros(guesses + 1)
        for sure, mass in zip(known, weight, strict=True):
            rest = np.arange(guesses - sure + 1)
            out[sure:] += mass * binom.pmf(rest, guesses - sure, expit(self.epsilon))
        return out
