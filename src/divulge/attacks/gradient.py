"""White box: scores of canaries from every step of a DP-SGD run (004, Algorithm 7).

A step moves the parameters by a noisy mean of clipped gradients, ``u = (theta_{t-1} - theta_t) /
eta``. Whether a canary's gradient ``g`` is part of that mean is a likelihood ratio,

    v = (g - mu)' C^-1 (u - mu) - |g - mu|^2_{C^-1} / (2 q n),

where ``mu`` and ``C`` are mean and centred covariance of the clipped gradients of reference
records, with the noise of the mechanism in it: ``C + sigma^2 c^2 / (q n) I``, which the published
listing leaves out. Steps are combined by their maximum, as published, or as
``sum_t log(1 - q + q e^v)``: an included canary took part in each step with probability q.

Where the reference holds *all* other training records, which an adversary of differential privacy
may know, nothing needs to be estimated: Poisson batches give the mean and the covariance of an
update (``known_step_scores``). A plug-in mean is off in every step, in much the same direction, and
that adds up.

Everything here depends on the released parameters and on the records, never on who was included or
sampled, so any audit that counts or bets on the scores stays valid whatever the references are.
One step at a time is held: canaries x parameters and references x parameters numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.attacks.claimed_noise import NoiseWatch
from divulge.errors import InputError, require
from divulge.exposure.covariance import DENSE, LEDOIT_WOLF, Covariance
from divulge.exposure.selection import MAHALANOBIS, exposure, noisy_covariance, rank_sum
from divulge.types import Array

Gradients = Callable[[Any], npt.ArrayLike]
"""``gradients(theta)``: one clipped gradient per record, as rows."""
_RIDGE = 1e-6
"""Share of the mean variance that stands in for noise where a run adds none."""


@dataclass(frozen=True)
class GradientSteps:
    """What an attacker knows of a DP-SGD run."""

    rate: float
    """q: the probability that a record takes part in a step."""
    batch: float
    """q n: the expected batch size, by which the sum of gradients is divided."""
    clip: float
    """c: the largest norm of a gradient."""
    noise_multiplier: float
    """sigma: the noise on the sum of gradients has standard deviation sigma c."""

    def __post_init__(self) -> None:
        require(0.0 < self.rate <= 1.0, f"rate must lie in (0, 1]. Found {self.rate!r}.")
        for name in ("batch", "clip"):
            value = getattr(self, name)
            require(0.0 < value < np.inf, f"{name} must be above 0 and finite. Found {value!r}.")
        require(
            0.0 <= self.noise_multiplier < np.inf,
            f"noise_multiplier must be at least 0 and finite. Found {self.noise_multiplier!r}.",
        )

    @property
    def variance(self) -> float:
        """``sigma^2 c^2 / (q n)``: the noise per averaged gradient."""
        return (self.noise_multiplier * self.clip) ** 2 / self.batch

    @property
    def noise(self) -> float:
        """Its standard deviation: the noise to plan canaries with."""
        return float(np.sqrt(self.variance))


def clipped(gradients: npt.ArrayLike, clip: float) -> Array:
    """Every row shortened to at most ``clip``."""
    rows = np.asarray(gradients, dtype=float)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, clip / np.maximum(length, 1e-300)))


def step_scores(
    canaries: npt.ArrayLike,
    reference: npt.ArrayLike,
    update: npt.ArrayLike,
    training: GradientSteps,
    *,
    kind: str = LEDOIT_WOLF,
) -> Array:
    """``v`` of one step for every canary, from a sample of reference records (Algorithm 7).

    ``canaries`` and ``reference`` are clipped gradients at the parameters before the step, one row
    per record; ``update`` is ``(theta_{t-1} - theta_t) / eta``. All may be restricted to the same
    chosen parameters, after clipping.
    """
    g, others, u = _checked(canaries, reference, update)
    covariance = noisy_covariance(others, _variance(training, others), kind=kind)
    direction = covariance.solve(u - covariance.mean)
    distance = covariance.mahalanobis(g)
    return np.asarray((g - covariance.mean) @ direction - distance / (2.0 * training.batch))


def known_step_scores(
    canaries: npt.ArrayLike,
    others: npt.ArrayLike,
    update: npt.ArrayLike,
    training: GradientSteps,
    *,
    probability: float = 0.5,
) -> Array:
    """``v`` of one step for every canary, where ``others`` are all the other training records.

    The update without the canary has mean ``q (sum of others + p sum of canaries) / B``, less the
    canary's own share, and each record adds ``q (1 - q) g g' / B^2`` to its covariance; p is the
    probability with which canaries were included. The canary itself would add ``g / B``.
    """
    g, rest, u = _checked(canaries, others, update)
    q, batch, joint = training.rate, training.batch, training.rate * probability
    expected = (q * rest.sum(axis=0) + joint * g.sum(axis=0)) / batch
    spread = np.concatenate(
        [np.sqrt(q * (1.0 - q) / batch) * rest, np.sqrt(joint * (1.0 - joint) / batch) * g]
    )
    zero = np.zeros(u.size)
    dense = spread.shape[0] >= u.size and u.size <= DENSE
    covariance = (
        Covariance(zero, zero, matrix=spread.T @ spread)
        if dense
        else Covariance(zero, zero, factor=spread)
    ).with_noise(_variance(training, rest))
    own = (1.0 - 2.0 * joint) * covariance.mahalanobis(g) / (2.0 * batch)
    return np.asarray(g @ covariance.solve(u - expected) - own)


def mixture(step: npt.ArrayLike, rate: float) -> Array:
    """``log(1 - q + q e^v)``: the evidence of a step in which a record is sampled at rate q."""
    v = np.asarray(step, dtype=float)
    if rate >= 1.0:
        return v
    return np.asarray(np.logaddexp(np.log1p(-rate), np.log(rate) + v))


@dataclass
class Scores:
    """Scores that grow step by step; nothing of a step is kept."""

    training: GradientSteps
    complete: bool = False
    """Whether the reference holds all the other training records."""
    probability: float = 0.5
    """With which canaries were included."""
    steps: int = 0
    maximum: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    """The largest ``v`` so far (Algorithm 7)."""
    total: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    """``sum_t log(1 - q + q e^v)`` so far."""

    def add(
        self, canaries: npt.ArrayLike, reference: npt.ArrayLike, update: npt.ArrayLike
    ) -> Array:
        """Score one more step; returns its ``v``."""
        if self.complete:
            v = known_step_scores(
                canaries, reference, update, self.training, probability=self.probability
            )
        else:
            v = step_scores(canaries, reference, update, self.training)
        if self.steps == 0:
            self.maximum, self.total = v.copy(), mixture(v, self.training.rate)
        else:
            require(
                v.size == self.total.size,
                f"Every step needs the same {self.total.size} canaries. Found {v.size}.",
            )
            self.maximum = np.maximum(self.maximum, v)
            self.total = self.total + mixture(v, self.training.rate)
        self.steps += 1
        return v

    def columns(self) -> dict[str, Array]:
        """Both combinations as columns of a table of scores; larger speaks for inclusion."""
        require(self.steps > 0, "No step was recorded.")
        return {"white_box": self.total, "white_box_max": self.maximum}


@dataclass
class Recorder:
    """Scores canaries while a plain loop trains: call ``step(before, after)`` after each update.

    ``canaries(theta)`` and ``reference(theta)`` return clipped gradients, one row per record. The
    reference records must not be chosen by who was included: public ones, or (``complete``) all
    the other training records. A ``watch`` bets against the claimed noise of every step, best with
    the batch's sum of clipped gradients as ``total``, and ends a run that breaks its claim.
    """

    training: GradientSteps
    learning_rate: float
    canaries: Gradients = field(repr=False)
    reference: Gradients = field(repr=False)
    complete: bool = False
    probability: float = 0.5
    watch: NoiseWatch | None = field(default=None, repr=False)
    scores: Scores = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require(
            0.0 < self.learning_rate < np.inf,
            f"learning_rate must be above 0 and finite. Found {self.learning_rate!r}.",
        )
        self.scores = Scores(self.training, self.complete, self.probability)

    def step(
        self,
        before: npt.ArrayLike,
        after: npt.ArrayLike,
        total: npt.ArrayLike | None = None,
    ) -> None:
        """One update of the parameters, given as they were before and are after it."""
        moved = np.asarray(before, dtype=float).ravel() - np.asarray(after, dtype=float).ravel()
        at = np.asarray(before, dtype=float)
        update, batch = moved / self.learning_rate, self.training.batch
        own = update if self.watch is None else update - self.watch.inserted() / batch
        self.scores.add(self.canaries(at), self.reference(at), own)
        if self.watch is not None:
            self.watch.step(update * batch, total)

    def checkpoints(self, thetas: Iterable[npt.ArrayLike]) -> dict[str, Array]:
        """All the steps between saved parameters, the first before any step."""
        before: npt.ArrayLike | None = None
        for theta in thetas:
            if before is not None:
                self.step(before, theta)
            before = theta
        return self.scores.columns()


def exposure_of_gradients(
    steps: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]], training: GradientSteps
) -> Array:
    """Algorithm 6: ranks of the noise-aware Mahalanobis distances, summed over steps.

    A step is the clipped gradients of the candidates and of the reference records. Larger is more
    exposed: give the largest to ``divulge.exposure.selection.most_exposed``.
    """
    return rank_sum(
        exposure(candidates, MAHALANOBIS, reference=reference, noise=training.noise)
        for candidates, reference in steps
    )


def _checked(
    canaries: npt.ArrayLike, reference: npt.ArrayLike, update: npt.ArrayLike
) -> tuple[Array, Array, Array]:
    g, others = _matrix(canaries, "canaries"), _matrix(reference, "reference")
    u = np.asarray(update, dtype=float).ravel()
    require(
        g.shape[1] == others.shape[1] == u.size,
        f"Gradients and update must have the same parameters. Found {g.shape[1]} for the canaries, "
        f"{others.shape[1]} for the reference and {u.size} in the update.",
    )
    if not np.isfinite(u).all():
        raise InputError(
            "The update of the parameters is not finite: the training run diverged. Lower the "
            "learning rate, or score the steps before that."
        )
    return g, others, u


def _variance(training: GradientSteps, others: Array) -> float:
    """The noise per averaged gradient; a little of the gradients' own where a run adds none."""
    if training.variance > 0.0:
        return training.variance
    return max(_RIDGE * float(others.var(axis=0).mean()), 1e-300)


def _matrix(values: npt.ArrayLike, name: str) -> Array:
    rows = np.asarray(values, dtype=float)
    require(rows.ndim == 2, f"The gradients of the {name} must have one row per record.")
    if not np.isfinite(rows).all():
        bad = int(np.argmax(~np.isfinite(rows).all(axis=1)))
        raise InputError(f"The gradient of {name} record {bad} is not finite.")
    return rows
