"""Labelled records with a known leak: randomised response on labels, a proxy with a known error.

What is released are noisy labels; the target's probabilities are the posterior of the label given
noisy label and record, which is all that anybody can make of them. With epsilon 0 the target is the
exact distribution of the label given the record: it leaks nothing and knows the population better
than any proxy, the hardest case for an audit that trusts its proxy. Where the record says nothing,
it is noise instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, log_softmax

from divulge.errors import require
from divulge.types import Array, Index

KINDS = ("uniform", "gaussian", "curved")


@dataclass(frozen=True)
class LabelledTable:
    """What the auditor gets, and what only the simulation knows."""

    codes: Index = field(repr=False)
    features: Array = field(repr=False)
    target: Array = field(repr=False)
    proxy: Array = field(repr=False)
    truth: Array = field(repr=False)
    """The distribution of the label given the record."""


@dataclass(frozen=True)
class NoisyLabels:
    """A sampler of such tables.

    ``uniform``: the record says nothing of the label. ``gaussian``: classes are Gaussians around
    the unit vectors (Observational auditing, appendix C), the proxy is ``min(p + tau, 1)`` on the
    last class. ``curved``: two classes with waves, products and steps in the record, of which the
    proxy knows a line.
    """

    kind: str = "gaussian"
    epsilon: float = 0.0
    classes: int = 2
    tau: float = 0.0
    sharp: float = 1.0
    """The target speaks of training records with probabilities to this power, labels unseen."""

    def __post_init__(self) -> None:
        require(self.kind in KINDS, f"Unknown kind {self.kind!r}. Choose from {', '.join(KINDS)}.")
        require(self.epsilon >= 0.0, f"epsilon must be at least 0. Found {self.epsilon!r}.")
        require(0.0 <= self.tau < 1.0, f"tau must lie in [0, 1). Found {self.tau!r}.")
        require(self.kind != "curved" or self.classes == 2, "curved has two classes.")

    @property
    def name(self) -> str:
        """For tables."""
        leak = f"epsilon={self.epsilon:g}" if self.epsilon else "null"
        off = f", proxy off by {self.tau:g}" if self.tau else ""
        many = f", {self.classes} classes" if self.classes != 2 else ""
        sure = f", sharpened by {self.sharp:g}" if self.sharp != 1.0 else ""
        return f"noisy labels ({self.kind}, {leak}{many}{off}{sure})"

    @property
    def reach(self) -> float:
        """The largest log-likelihood ratio of a label against a guess of it: the game's epsilon.

        Exact where the record says nothing of the label; epsilon itself elsewhere.
        """
        if self.kind != "uniform":
            return self.epsilon
        k, grown = self.classes, math.exp(self.epsilon)
        return max(math.log(k * grown / (grown + k - 1)), math.log((grown + k - 1) / k))

    def sample(
        self, records: int, rng: np.random.Generator, trained: int | None = None
    ) -> LabelledTable:
        """Draw records, labels and noisy labels; compute what target and proxy say.

        Only the noisy labels of the first ``trained`` records are released (default: of all).
        """
        trained = records if trained is None else trained
        features, truth, proxy = self._population(records, rng)
        total = np.cumsum(truth, axis=1)
        uniforms = rng.random((records, 1)) * total[:, -1:]
        codes = np.asarray((uniforms >= total[:, :-1]).sum(axis=1), dtype=np.intp)
        keep = rng.random(records) < math.expm1(self.epsilon) / (
            math.exp(self.epsilon) + self.classes - 1
        )
        noisy = np.where(keep, codes, rng.integers(self.classes, size=records))
        weight = np.ones_like(truth)
        weight[np.arange(records), noisy] = math.exp(self.epsilon)
        weight[trained:] = 1.0
        power = np.where(np.arange(records) < trained, self.sharp, 1.0)[:, None]
        target = (truth * weight) ** power
        if self.kind == "uniform" and self.epsilon == 0.0:
            target = rng.dirichlet(np.ones(self.classes), size=records)
        return LabelledTable(
            codes, features, target / target.sum(axis=1, keepdims=True), proxy, truth
        )

    def _population(self, records: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        if self.kind == "curved":
            x = rng.standard_normal((records, 8))
            wave = 1.2 * np.sin(2.5 * x[:, 0]) + x[:, 1] * x[:, 2]
            p = expit(wave + 0.5 * x[:, 3] - 1.5 * (np.abs(x[:, 4]) < 0.4))
            q = expit(0.4 * x[:, 3] - 0.4)
            return x, np.column_stack([1.0 - p, p]), np.column_stack([1.0 - q, q])
        if self.kind == "uniform":
            x = rng.standard_normal((records, 2))
            truth = np.full((records, self.classes), 1.0 / self.classes)
        else:
            label = rng.integers(self.classes, size=records)
            x = rng.standard_normal((records, max(5, self.classes)))
            x[np.arange(records), label] += 1.0
            truth = np.exp(log_softmax(x[:, : self.classes], axis=1))
        proxy = truth.copy()
        last = np.minimum(truth[:, -1] + self.tau, 1.0)
        others = np.maximum(1.0 - truth[:, -1:], 1e-300)
        proxy[:, :-1] *= (1.0 - last)[:, None] / others
        proxy[:, -1] = last
        return x, truth, proxy
