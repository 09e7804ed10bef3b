"""Gradient canaries: records that are nothing but a gradient, put into DP-SGD's sum by a coin.

A canary here is one unit direction in the space of all parameters. Where the plan's coin includes
it, it is a record like any other: it takes part in a step with probability q, and adds the clipping
norm c along its direction to the sum of clipped gradients. That is the worst record that a
guarantee of DP-SGD speaks of, and the guarantee it is compared with is the accountant's for the
same q, noise multiplier and number of steps (adding or removing a record). At ``rate`` 1 a canary
is in every step, and only the guarantee without amplification by sampling speaks of it.

Directions are orthonormal, so canaries do not hide each other, whatever their coins: one coordinate
each (``one-hot``), or rows of a cosine transform behind random signs (``orthogonal``), which spread
over all parameters and need no memory. There are fewer of them than parameters.

The projection of a noisy sum on a canary's direction, in units of c, is ``y = b + sigma z + r``
with b = 1 if the canary took part and r the share of the other records. If r is nothing, the
likelihood ratio of the whole run is exactly ``sum_t log(1 - q + q e^v)``, ``v = (y - 1/2) /
sigma^2``, since steps are independent given the parameters before them and no other sum of the y
orders canaries better. The others' share is taken out as far as the released numbers tell: the
median over the canaries of a step is its centre, and their spread, if larger than the noise,
stands for the noise. Scores depend on releases and directions only, never on coins.

With ``complete`` the sum of the batch's other records is taken as known, and r is nothing. The
guarantee covers that: given who else is in a batch, which the canary's coin has no part in, its
presence still moves the sum by c at most, with probability q, below the same noise. The bound then
speaks of an adversary who knows the other records, as that of differential privacy does, and not
of one who sees nothing but releases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.attacks.claimed_noise import NoiseWatch
from divulge.attacks.gradient import GradientSteps, mixture
from divulge.errors import InputError, require, require_choice
from divulge.types import Array, Index

ONE_HOT, ORTHOGONAL = "one-hot", "orthogonal"
KINDS = (ONE_HOT, ORTHOGONAL)
_MOSTLY_OUT = 0.5
"""Up to this rate most canaries are absent from a step, so that their median is its centre."""
_SPREAD = 1.4826
_LEAST_NOISE = 1e-3


@dataclass(frozen=True)
class GradientCanaries:
    """Orthonormal directions, and which of them the plan's coins include."""

    strategy: str
    parameters: int
    """Of the model that is trained."""
    places: Index = field(repr=False)
    """The coordinate, or the row of the transform, of every canary."""
    included: npt.NDArray[np.bool_] = field(repr=False)
    signs: int = 0
    """The seed of the random signs; no secret."""

    def __post_init__(self) -> None:
        require_choice("kind of gradient canary", self.strategy, KINDS)
        count = self.places.size
        require(
            0 < count < self.parameters,
            f"There must be fewer gradient canaries than parameters. Found {count} canaries and "
            f"{self.parameters} parameters.",
        )
        inside = self.places.min() >= 0 and self.places.max() < self.parameters
        require(
            bool(inside) and np.unique(self.places).size == count,
            "Every gradient canary needs a place of its own among the parameters.",
        )
        require(self.included.size == count, "Every gradient canary needs a coin.")

    def __len__(self) -> int:
        return int(self.places.size)

    def combined(self, weights: npt.ArrayLike) -> Array:
        """The weighted sum of all directions."""
        whole = np.zeros(self.parameters)
        whole[self.places] = weights
        if self.strategy == ONE_HOT:
            return whole
        from scipy.fft import idct

        return np.asarray(idct(whole, norm="ortho") * self._signs())

    def directions(self, chosen: npt.ArrayLike) -> Array:
        """The chosen canaries' directions, one per row."""
        rows = np.zeros((int(np.count_nonzero(chosen)), self.parameters))
        for row, which in zip(rows, np.flatnonzero(np.asarray(chosen)), strict=True):
            row[:] = self.combined(np.arange(len(self)) == which)
        return rows

    def project(self, vector: npt.ArrayLike) -> Array:
        """The inner product of a vector with every direction."""
        given = np.asarray(vector, dtype=float).ravel()
        require(
            given.size == self.parameters,
            f"The gradient canaries are for {self.parameters} parameters. Found {given.size}.",
        )
        if self.strategy == ONE_HOT:
            return given[self.places]
        from scipy.fft import dct

        return np.asarray(dct(given * self._signs(), norm="ortho")[self.places])

    def _signs(self) -> Array:
        drawn = np.random.default_rng(self.signs).integers(0, 2, self.parameters)
        return np.asarray(2.0 * drawn - 1.0)


@dataclass
class GradientCanaryScores:
    """Scores that grow step by step from the released updates."""

    canaries: GradientCanaries
    training: GradientSteps
    steps: int = 0
    maximum: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    total: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    def add(self, update: npt.ArrayLike) -> Array:
        """Score one more step by its released mean gradient; returns its ``v``."""
        y = self.canaries.project(update) * self.training.batch / self.training.clip
        if not np.isfinite(y).all():
            raise InputError(
                "The update of the parameters is not finite: the training run diverged. Lower the "
                "learning rate, or score the steps before that."
            )
        centre, spread = 0.0, max(self.training.noise_multiplier, _LEAST_NOISE)
        if self.training.rate <= _MOSTLY_OUT:
            centre = float(np.median(y))
            spread = max(spread, _SPREAD * float(np.median(np.abs(y - centre))))
        v = np.asarray((y - centre - 0.5) / spread**2)
        evidence = mixture(v, self.training.rate)
        first = self.steps == 0
        self.maximum = v if first else np.maximum(self.maximum, v)
        self.total = evidence if first else self.total + evidence
        self.steps += 1
        return v

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """A table of scores for ``divulge canaries audit``; larger speaks for inclusion."""
        require(self.steps > 0, "No step was recorded.")
        return {
            "row": self.canaries.places,
            "white_box": self.total,
            "white_box_max": self.maximum,
        }


class GradientCanaryRecorder:
    """Inserts gradient canaries into a plain training loop, and scores them.

    In every step call ``total = recorder.insert(total)`` between the sum of clipped gradients and
    the noise, and ``recorder.step(before, after)`` after the update. ``seed`` draws the steps in
    which an included canary takes part; by default the operating system does. With ``complete``
    scores know the sums that are given to ``insert``, but for the canaries. A ``watch`` bets
    against the claimed noise of every step, with canaries of its own, and ends a run that breaks
    its claim.
    """

    def __init__(
        self,
        canaries: GradientCanaries,
        training: GradientSteps,
        learning_rate: float,
        *,
        complete: bool = False,
        watch: NoiseWatch | None = None,
        seed: int | None = None,
    ) -> None:
        require(
            0.0 < learning_rate < np.inf,
            f"learning_rate must be above 0 and finite. Found {learning_rate!r}.",
        )
        self.scores = GradientCanaryScores(canaries, training)
        self.learning_rate, self.complete, self.watch = learning_rate, complete, watch
        self._others: Array | None = None
        self._total: Array | None = None
        self._rng = np.random.default_rng(seed)

    def insert(self, total: npt.ArrayLike) -> Array:
        """The sum of clipped gradients with those of the canaries that take part in this step."""
        given = np.asarray(total, dtype=float)
        self._others = given.ravel()
        added = combined_gradient(self.scores.canaries, self.scores.training, self._rng)
        self._total = np.asarray(given + added.reshape(given.shape))
        return self._total if self.watch is None else self.watch.insert(self._total)

    def step(self, before: npt.ArrayLike, after: npt.ArrayLike) -> None:
        """One update of the parameters, given as they were before and are after it."""
        moved = np.asarray(before, dtype=float).ravel() - np.asarray(after, dtype=float).ravel()
        batch = self.scores.training.batch
        released = moved / self.learning_rate * batch
        seen = released if self.watch is None else released - self.watch.inserted()
        if self.complete:
            require(self._others is not None, "Call insert before every step.")
            assert self._others is not None
            seen = seen - self._others
        self.scores.add(seen / batch)
        self._others = None
        if self.watch is not None:
            self.watch.step(released, self._total)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The scores of all canaries, included or not."""
        return self.scores.columns()


def takes_part(
    canaries: GradientCanaries, rate: float, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Which canaries a Poisson batch holds: included ones only, each with probability ``rate``."""
    return np.asarray(canaries.included & (rng.random(len(canaries)) < rate))


def combined_gradient(
    canaries: GradientCanaries, training: GradientSteps, rng: np.random.Generator
) -> Array:
    """What the canaries of one Poisson batch add to the sum of clipped gradients."""
    taken = takes_part(canaries, training.rate, rng)
    return canaries.combined(training.clip * taken)
