"""Line-ups of mechanisms with a known answer: K = 2, 8 and 32, ties, groups, failures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from divulge.bounds.lineups import of_group
from divulge.curves import Gaussian
from divulge.proof.lineup import LineUp
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.types import Array

LINEUPS, FEW = 300, 60
DELTA, LARGE_DELTA = 1e-5, 2e-3
_PARAMETERS = (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA))


@dataclass(frozen=True)
class Shown:
    """Scores of every candidate, the true value's first; ``noise`` has its own kinds.

    ``normal`` and ``laplace`` add noise to a one-hot vector of that size; ``response`` names the
    true value as randomised response over all candidates does, with this epsilon.
    """

    noise: str
    size: float
    ties: bool = False
    failure: float = 0.0
    """The probability that the true value is shown outright."""

    @property
    def name(self) -> str:
        words = {"response": "randomised response, epsilon", "laplace": "laplace, b"}
        said = f"{words.get(self.noise, 'gaussian, mu')} {self.size:g}" if self.size else "null"
        ties = ", ties" if self.ties else ""
        return said + ties + (f", shown outright {self.failure:g}" if self.failure else "")

    def sample(self, rows: int, candidates: int, size: float, rng: np.random.Generator) -> Array:
        if self.noise == "response":
            stay = 1.0 / (1.0 + (candidates - 1.0) * math.exp(-size))
            kept = rng.random(rows) < stay
            said = np.where(kept, 0, rng.integers(1, candidates, rows))
            score = np.eye(candidates)[said]
        else:
            draw = rng.laplace if self.noise == "laplace" else rng.normal
            score = draw(size=(rows, candidates))
            score[:, 0] += size
        if self.ties:
            score = np.round(2.0 * score) / 2.0
        score[rng.random(rows) < self.failure, 0] = 50.0
        return np.asarray(score)

    def truth(self, candidates: int, delta: float | None) -> float:
        """Mu, or epsilon at delta, between two values; infinite where nothing bounds it."""
        if self.size == 0.0 and self.failure == 0.0:
            return 0.0
        if self.noise == "normal":
            curve = Gaussian(math.sqrt(2.0) * self.size)
            return curve.mu() if delta is None else curve.epsilon(delta)
        if self.noise == "laplace":
            return math.inf if delta is None else 2.0 * self.size
        if self.failure:
            return self.size if delta is not None and delta >= self.failure else math.inf
        q = 1.0 / (math.exp(self.size) + candidates - 1.0)
        p = math.exp(self.size) * q
        if delta is None:
            return float(ndtri(p) - ndtri(q))
        return math.log((p - delta) / q)


@dataclass(frozen=True)
class LineUpGame:
    """One audit of line-ups; a value in ``copies`` records costs as many times the privacy."""

    shown: Shown
    lineups: int
    candidates: int
    copies: int
    delta: float

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        copies = np.full(self.lineups, self.copies)
        score = self.shown.sample(self.lineups, self.candidates, self.copies * self.shown.size, rng)
        trials = LineUp(score, np.zeros(self.lineups, dtype=np.intp), copies=copies)
        rule = Rule((self.delta,), 2.0 * error)  # half of it is for bets, half for counts
        return by_name(prove(trials, rule, rng).bounds)


def cases() -> Iterator[Case]:
    """Every mechanism at K = 2, 8 and 32; few line-ups, ties, groups; failures."""
    null, tied = Shown("normal", 0.0), Shown("normal", 0.0, ties=True)
    mechanisms = (
        null,
        tied,
        Shown("response", 1.0),
        Shown("laplace", 0.5),
        Shown("normal", 0.7),
        Shown("normal", 0.7, ties=True),
    )
    for shown in mechanisms:
        for k in (2, 8, 32):
            for parameter, delta in _PARAMETERS:
                if math.isfinite(shown.truth(k, delta)):
                    quick = k == 8 and (shown.noise == "response" or shown is tied)
                    yield _case(shown, LINEUPS, k, 1, parameter, delta, quick=quick)
    for parameter, delta in _PARAMETERS:
        yield _case(null, FEW, 8, 1, parameter, delta)
        yield _case(Shown("response", 1.0), FEW, 8, 1, parameter, delta)
    for k in (2, 8, 32):
        groups = partial(_case, Shown("response", 0.5), LINEUPS, k, 4)
        yield groups("epsilon", 0.0, quick=k == 8)
        yield groups("epsilon", DELTA)
        yield _case(Shown("normal", 0.3), LINEUPS, k, 4, "mu", None)
    rare = Shown("response", 0.5, failure=LARGE_DELTA)
    for k in (2, 8, 32):
        yield _case(rare, LINEUPS, k, 1, "epsilon", LARGE_DELTA, quick=k == 8)
    of_three = Shown("response", 0.5, failure=of_group(0.5, LARGE_DELTA, 3)[1])
    yield _case(of_three, LINEUPS, 8, 3, "epsilon", LARGE_DELTA, truth=0.5)


def _case(
    shown: Shown,
    lineups: int,
    candidates: int,
    copies: int,
    parameter: str,
    delta: float | None,
    *,
    truth: float | None = None,
    quick: bool = False,
) -> Case:
    method = "bets" if delta == 0.0 else "counts"
    group = "" if copies == 1 else f", {copies} copies"
    return Case(
        bound=f"lineup, {method}, {parameter}" + (f" at {delta:g}" if delta else ""),
        parameter=parameter,
        delta=delta,
        mechanism=shown.name,
        setting=f"{lineups} line-ups of {candidates}{group}",
        play=Reading(
            LineUpGame(shown, lineups, candidates, copies, delta or DELTA), (parameter, delta)
        ),
        truth=_of_one(shown, candidates, copies, delta) if truth is None else truth,
        quick=quick,
    )


def _of_one(shown: Shown, candidates: int, copies: int, delta: float | None) -> float:
    """What one record's guarantee may be at most, where the value stands in several."""
    if copies == 1:
        return shown.truth(candidates, delta)
    return shown.truth(candidates, None) if delta is None else shown.size
