"""Tables with a known shift: members and non-members differ, and a model leaks exactly mu.

The score of a record is ``g(x) + N(0, 1)``, plus mu for members. Given the record, that is exactly
mu-GDP: whatever else tells the groups apart comes from x. In all kinds of shift but ``none``, ``g``
follows the very features that differ between the groups, so an audit that ignores the shift sees a
leak where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp
from scipy.stats import norm
from scipy.stats import t as student

from divulge import curves
from divulge.errors import require
from divulge.types import Array

Parts: TypeAlias = tuple[Array, npt.NDArray[np.bool_], Array, Array]
"""Features, membership, true log-odds, and what the score follows."""
KINDS = ("none", "linear", "variance", "interaction", "cluster", "heavy tail")


@dataclass(frozen=True)
class ShiftedTable:
    """What the auditor gets, and what only the simulation knows."""

    features: Array = field(repr=False)
    truth: Array = field(repr=False)
    score: Array = field(repr=False)
    log_odds: Array = field(repr=False)
    """The true log-odds of membership given the features."""


@dataclass(frozen=True)
class Shifted:
    """A sampler of such tables."""

    kind: str = "linear"
    size: float = 1.0
    """Standard deviation of the log-odds of a linear shift; the other kinds have a fixed size."""
    columns: int = 8
    mu: float = 0.0
    follows: bool = True
    """Whether the score follows the shifted features, or is independent of the record."""

    def __post_init__(self) -> None:
        require(self.kind in KINDS, f"Unknown shift {self.kind!r}. Choose from {', '.join(KINDS)}.")
        require(self.columns >= 8, f"columns must be at least 8. Found {self.columns}.")

    @property
    def name(self) -> str:
        """For tables."""
        size = f" sd {self.size:g}" if self.kind == "linear" else ""
        leak = f"mu={self.mu:g}" if self.mu else "null"
        return f"{leak}, {self.kind} shift{size}, d={self.columns}"

    @property
    def curve(self) -> curves.Curve:
        """Given the records."""
        return curves.Gaussian(self.mu)

    def sample(self, rows: int, rng: np.random.Generator) -> ShiftedTable:
        """A table with about as many members as non-members."""
        x, member, log_odds, index = getattr(self, "_" + self.kind.replace(" ", "_"))(rows, rng)
        spread = index.std()
        prognosis = (index - index.mean()) / (spread if spread > 0.0 else 1.0)
        score = rng.normal(size=rows) + self.mu * member
        if self.follows:
            score = score + prognosis
        return ShiftedTable(x, np.where(member, 1.0, -1.0), score, log_odds)

    def _none(self, n: int, rng: np.random.Generator) -> Parts:
        x = rng.normal(size=(n, self.columns))
        return x, rng.random(n) < 0.5, np.zeros(n), x[:, 0]

    def _linear(self, n: int, rng: np.random.Generator) -> Parts:
        x = rng.normal(size=(n, self.columns))
        direction = rng.normal(size=self.columns)
        z = x @ (direction / np.linalg.norm(direction))
        log_odds = self.size * z
        return x, rng.random(n) < expit(log_odds), log_odds, 0.9 * z + 0.3 * z * z

    def _variance(self, n: int, rng: np.random.Generator) -> Parts:
        """Members vary 1.5 times as much in four columns: a linear model is blind to it."""
        member = rng.random(n) < 0.5
        x = rng.normal(size=(n, self.columns))
        ratio, k = 1.5, 4
        x[member, :k] *= ratio
        squares = (x[:, :k] ** 2).sum(axis=1)
        log_odds = squares * (0.5 - 0.5 / ratio**2) - k * np.log(ratio)
        return x, member, log_odds, squares + np.abs(x[:, :k]).sum(axis=1)

    def _interaction(self, n: int, rng: np.random.Generator) -> Parts:
        x = rng.normal(size=(n, self.columns))
        z = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]
        return x, rng.random(n) < expit(z), z, z + 0.3 * x[:, 0]

    def _cluster(self, n: int, rng: np.random.Generator) -> Parts:
        """Ten clusters in eight columns, with other shares among members and non-members."""
        k, q = 10, 8
        centres = 1.3 * rng.normal(size=(k, q))
        shares = [0.9 * rng.dirichlet(np.ones(k)) + 0.1 / k for _ in range(2)]
        member = rng.random(n) < 0.5
        which = np.where(member, *(rng.choice(k, n, p=p) for p in shares))
        x = rng.normal(size=(n, self.columns))
        x[:, :q] += centres[which]
        fit = -0.5 * ((x[:, None, :q] - centres[None]) ** 2).sum(axis=2)
        up, down = (logsumexp(fit + np.log(p), axis=1) for p in shares)
        return x, member, up - down, up - down

    def _heavy_tail(self, n: int, rng: np.random.Generator) -> Parts:
        """Members have Student's t with 3 degrees of freedom in four columns."""
        member = rng.random(n) < 0.5
        x = rng.normal(size=(n, self.columns))
        x[member, :4] = rng.standard_t(3, size=(int(member.sum()), 4))
        log_odds = (student.logpdf(x[:, :4], 3) - norm.logpdf(x[:, :4])).sum(axis=1)
        return x, member, log_odds, np.minimum(np.abs(x[:, :4]), 6.0).sum(axis=1)
