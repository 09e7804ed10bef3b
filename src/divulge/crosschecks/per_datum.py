"""The membership game of one fixed record, and of a record drawn anew: Algorithms 1 to 4 of 004.

A simulator for any mechanism (a function of the records and a generator) and any distribution (an
object with ``sample(count, rng)``). Mean is the mechanism of 004: exact, noisy, sub-sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from divulge.errors import require
from divulge.exposure.exposed import Release
from divulge.types import Array

Mechanism = Callable[[Array, np.random.Generator], Any]


class Distribution(Protocol):
    """Where records come from."""

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        """Independent records, one per row."""
        ...


@dataclass(frozen=True)
class Bernoulli:
    """Independent columns of zeros and ones."""

    probability: Array = field(repr=False)

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        drawn = rng.random((count, self.probability.size), dtype=np.float32)
        return np.asarray(drawn < self.probability, dtype=float)


@dataclass(frozen=True)
class Normal:
    """Normal records with a mean and a factor ``A`` of the covariance ``A A'``."""

    mean: Array = field(repr=False)
    factor: Array = field(repr=False)

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        drawn = rng.normal(size=(count, self.factor.shape[1]))
        return np.asarray(self.mean + drawn @ self.factor.T)


@dataclass(frozen=True)
class Mean:
    """The released mean: of all records or of a random share, with noise or without."""

    noise: float = 0.0
    rate: float = 1.0

    def __call__(self, records: Array, rng: np.random.Generator) -> Array:
        release = Release(records.shape[0], self.noise, self.rate)
        if self.rate < 1.0:
            behind = max(1, round(release.behind))
            records = records[rng.choice(records.shape[0], behind, replace=False)]
        mean = records.mean(axis=0)
        if self.noise > 0.0:
            mean = mean + self.noise * rng.normal(size=mean.shape)
        return np.asarray(mean)


def round_of_target(
    mechanism: Mechanism,
    distribution: Distribution,
    size: int,
    target: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    inside: bool | None = None,
) -> tuple[Any, bool]:
    """Algorithm 1: a table, the target put into it by a coin (or as told), and the release."""
    records = _table(distribution, size, rng)
    bit = bool(rng.integers(2)) if inside is None else inside
    if bit:
        records[rng.integers(size)] = np.asarray(target, dtype=float)
    return mechanism(records, rng), bit


def round_of_any(
    mechanism: Mechanism, distribution: Distribution, size: int, rng: np.random.Generator
) -> tuple[Array, Any, bool]:
    """Algorithm 3: the target is a record of the table, or one drawn apart from it."""
    records = _table(distribution, size, rng)
    bit = bool(rng.integers(2))
    chosen = records[rng.integers(size)] if bit else distribution.sample(1, rng)[0]
    target = np.array(chosen, dtype=float)
    return target, mechanism(records, rng), bit


@dataclass(frozen=True)
class SimulatedGame:
    """Rounds of a game: a score per round (a guess is a score, too) and the truth."""

    score: Array = field(repr=False)
    inside: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def won(self) -> npt.NDArray[np.bool_]:
        """The list L of Algorithms 2 and 4, for an adversary that answers 1 or 0."""
        return np.asarray((self.score > 0.5) == self.inside)

    def tpr(self, fpr: float) -> float:
        """Share of the rounds with the target that score above this quantile of the others."""
        threshold = np.quantile(self.score[~self.inside], 1.0 - fpr, method="higher")
        return float((self.score[self.inside] > threshold).mean())

    def advantage(self, threshold: float = 0.5) -> float:
        """True positives less false positives, as shares."""
        says = self.score > threshold
        return float(says[self.inside].mean() - says[~self.inside].mean())


def play(
    mechanism: Mechanism,
    distribution: Distribution,
    size: int,
    target: npt.ArrayLike,
    adversary: Callable[[Any], float],
    rounds: int,
    rng: int | np.random.Generator = 0,
) -> SimulatedGame:
    """Algorithm 2: the same target in every round; the adversary sees the release alone."""
    generator = _generator(rounds, rng)
    outcomes = []
    for _ in range(rounds):
        released, bit = round_of_target(mechanism, distribution, size, target, generator)
        outcomes.append((float(adversary(released)), bit))
    return _played(outcomes)


def play_any(
    mechanism: Mechanism,
    distribution: Distribution,
    size: int,
    adversary: Callable[[Array, Any], float],
    rounds: int,
    rng: int | np.random.Generator = 0,
) -> SimulatedGame:
    """Algorithm 4: a target drawn anew in every round, shown to the adversary."""
    generator = _generator(rounds, rng)
    outcomes = []
    for _ in range(rounds):
        target, released, bit = round_of_any(mechanism, distribution, size, generator)
        outcomes.append((float(adversary(target, released)), bit))
    return _played(outcomes)


def _generator(rounds: int, rng: int | np.random.Generator) -> np.random.Generator:
    require(rounds >= 1, f"rounds must be at least 1. Found {rounds}.")
    return np.random.default_rng(rng)


def _played(outcomes: list[tuple[float, bool]]) -> SimulatedGame:
    return SimulatedGame(np.array([s for s, _ in outcomes]), np.array([b for _, b in outcomes]))


def _table(distribution: Distribution, size: int, rng: np.random.Generator) -> Array:
    require(size >= 2, f"A table needs at least 2 records. Found {size}.")
    records = np.array(distribution.sample(size, rng), dtype=float)
    require(
        records.ndim == 2 and records.shape[0] == size,
        f"The distribution must give {size} rows. Found shape {records.shape}.",
    )
    return records
