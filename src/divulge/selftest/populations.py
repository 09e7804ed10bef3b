"""Label audits where the population plays tricks: on the student, or on the held-out records.

In every row without an epsilon the target knows the distribution of the label given the record and
saw no label, so every claim is false. *Blind*: the target knows what no student learns (parity,
waves). *Held-out*: the held-out records have other labels given the record than the training
records (shares, a slope, an interaction, a product of three that learners miss, a corner), or
another distribution of x with the same labels, or both (far x). *Strong answers*: the target
answers one record in twenty with force, and is right about training records for reasons of its own;
of all others a little leaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from divulge.data.features import Features
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.proof.rule import Rule
from divulge.selftest.attribute import ALL
from divulge.selftest.case import Case
from divulge.shift.pooling import log_probabilities
from divulge.types import Array

BLIND = ("parity", "parity beside a line", "waves")
SEEN = ("labels 50% and 62%", "labels 50% and 70%", "slope", "interaction", "other x", "same")
UNSEEN = ("product of three", "corner", "far x")
STRONG = "strong answers"
HELD_OUT = SEEN + UNSEEN
SHARE = 0.1


@dataclass(frozen=True)
class Population:
    """Records and labels; with epsilon, noisy labels of the training records are released."""

    kind: str
    epsilon: float = 0.0
    proxy: float = 0.8
    """How much of the log-odds' line the proxy knows."""

    @property
    def name(self) -> str:
        """For tables."""
        leak = f"epsilon={self.epsilon:g}" if self.epsilon else "null"
        return f"known labels ({self.kind}, {leak})"

    def sample(self, training: int, outside: int, rng: np.random.Generator) -> Records:
        """The training records first; the proxy knows a line, and nothing of any difference."""
        size = training + outside
        held = np.arange(size) >= training
        x = rng.standard_normal((size, 8))
        if self.kind == "other x":
            x[held] = 0.7 * x[held] + np.array([0.8, -0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
        if self.kind == "far x":  # one in ten held-out records lies where the labels differ
            x[:, 0] = np.where(held & (rng.random(size) < 0.8), -np.abs(x[:, 0]), x[:, 0])
        line, known = self._log_odds(x)
        codes = (rng.random(size) < expit(np.where(held, line, known))).astype(np.intp)
        noisy = np.where(rng.random(size) < expit(self.epsilon), codes, 1 - codes)
        told = np.where(held, 0.0, self.epsilon * (2.0 * noisy - 1.0))
        if self.kind == STRONG:  # the word is right by chance where records are held out
            strong = rng.random(size) < 0.05
            right = rng.random(size) < np.where(held, 0.5, 0.95)
            word = 3.0 * np.where(right, 1.0, -1.0) * (2.0 * codes - 1.0)
            told = np.where(strong, word, told)
        target, proxy = (_two(expit(v)) for v in (known + told, self.proxy * line))
        return Records(
            codes=codes,
            classes=("0", "1"),
            training=training,
            features=Features(x, tuple(f"x_{j}" for j in range(8))),
            log_target=log_probabilities(target),
            log_proxy=log_probabilities(proxy),
            proxy=proxy,
            heldout_target=outside > 0,
        )

    def _log_odds(self, x: Array) -> tuple[Array, Array]:
        """Of label 1 given x: as held-out records have it, and as training records have it."""
        line = x[:, 0] - 0.7 * x[:, 1]
        parity = np.prod(np.sign(x[:, :6]), axis=1)
        if self.kind == "parity":
            return 0.0 * line, 2.0 * parity
        if self.kind == "parity beside a line":
            return 1.5 * x[:, 6], 1.5 * x[:, 6] + 1.2 * parity
        if self.kind == "waves":
            return 0.0 * line, 2.0 * np.sin(40.0 * x[:, 0] + 31.0 * x[:, 1])
        if self.kind.startswith("labels"):
            share = 0.62 if "62" in self.kind else 0.7
            return 0.0 * line, np.full(len(x), np.log(share / (1.0 - share)))
        if self.kind == "slope":
            return line, line + 0.7 * x[:, 3]
        if self.kind == "interaction":
            return line, line + 0.7 * np.sign(x[:, 3] * x[:, 4])
        product = np.sign(x[:, 3] * x[:, 4] * x[:, 5])
        if self.kind == "product of three":
            return line, line + 0.8 * product
        if self.kind == "corner":
            return line, line + 1.5 * ((x[:, 0] > 0.3) & (x[:, 1] > 0.0))
        if self.kind == "far x":
            return 0.5 * line, 0.5 * line + product * (x[:, 0] > 0.0)
        return line, line


@dataclass(frozen=True)
class PopulationAudit:
    """One audit as a user runs it; returns the largest headline bound, or that on epsilon."""

    population: Population
    training: int
    outside: int

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        leak = self.population.epsilon > 0.0
        result = audit_records(
            self.population.sample(self.training, self.outside, rng),
            Rule((), 2.0 * error if leak else error),  # half of it goes to bets, half to counts
            seed=int(rng.integers(2**31)),
            compare=False,
        )
        found = [b.value for b in result.headline() if not leak or b.parameter == "epsilon"]
        return max(found, default=0.0)


def cases() -> Iterator[Case]:
    """Every population, blind or with held-out records, and two leaks that must stay below."""
    for kind in BLIND:
        yield _case(Population(kind), 600, 0, quick=kind == "parity")
        yield _case(Population(kind), 2000, 0)
    for kind in HELD_OUT:
        yield _case(Population(kind), 600, 600, quick="70%" in kind or kind == "same")
        yield _case(Population(kind), 2000, 2000)
    for kind in UNSEEN:
        yield _case(Population(kind), 2000, 500)
    yield _case(Population("same"), 1000, 200)  # too few: the audit is blind
    yield _case(Population("labels 50% and 70%"), 1000, 200)
    yield _case(Population("same", 2.0), 2000, 2000)
    yield _case(Population("other x", 2.0), 2000, 2000)
    yield _case(Population(STRONG, 0.5), 4000, 4000)


def _case(population: Population, training: int, outside: int, *, quick: bool = False) -> Case:
    how = "held-out" if outside else "blind"
    what = "epsilon" if population.epsilon else ALL
    return Case(
        bound=f"attribute {what}, {how}, populations",
        parameter="epsilon",
        delta=0.0,
        mechanism=population.name,
        setting=f"{training} records" + (f", {outside} held-out" if outside else ""),
        play=PopulationAudit(population, training, outside),
        truth=population.epsilon,
        quick=quick,
        share=SHARE,
    )


def _two(p: Array) -> Array:
    return np.column_stack([1.0 - p, p])
