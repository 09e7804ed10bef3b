"""Counted guesses under pure epsilon: binomial, signed and closeness bounds at their edges.

If c correct guesses prove theta, a mechanism of epsilon just below theta is accused falsely by c
or more. Guesses of randomised response are independent, so that probability is a binomial or
Poisson-binomial tail, computed here by scipy and by multiplying polynomials.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import binom

from divulge.bounds import closeness, counting, guessing
from divulge.selftest.case import Check
from divulge.types import Array

SIZES = (5, 20, 100, 1000)
RESPONSE = "randomised response at the edge"


def binomial(error: float) -> list[float]:
    """``P(Bin(r, sigma(theta)) >= c)`` for every c that proves something."""
    out = []
    for r in SIZES:
        for c in range(r // 2, r + 1, max(1, r // 40)):
            theta = counting.binomial_epsilon_lower_bound(r, r, c, error)
            if theta > 0.0:
                out.append(float(binom.sf(c - 1, r, expit(theta))))
    return out


def signed(error: float) -> list[float]:
    """Guesses with and against a prior: the tail of a product of polynomials."""
    rng = np.random.default_rng(1)
    out = []
    for r, spread in ((12, 1.0), (40, 2.0), (700, 0.5)):
        prior = spread * rng.standard_normal(r)
        guess = np.where(rng.random(r) < 0.5, 1, -1)
        for c in range(r // 2, r + 1, max(1, r // 12)):
            right = np.zeros(r, dtype=bool)
            right[rng.permutation(r)[:c]] = True
            theta = counting.signed_epsilon_lower_bound(
                guess, np.where(right, guess, -guess), prior, error
            )
            if theta > 0.0:
                out.append(float(_pmf(expit(theta + guess * prior))[c:].sum()))
    return out


def one_prior(error: float) -> list[float]:
    """The same prior for all: a binomial shifted by it."""
    out = []
    for prior, r in product((-1.0, 0.5, 2.0), (10, 60)):
        for side in (1, -1):
            for c in range(1, r + 1):
                truth = np.where(np.arange(r) < c, side, -side)
                guess = np.full(r, side)
                theta = counting.signed_epsilon_lower_bound(guess, truth, prior, error)
                if theta > 0.0:
                    out.append(float(binom.sf(c - 1, r, expit(theta + side * prior))))
    return out


def _pmf(q: Array) -> Array:
    pmf = np.ones(1)
    for one in q:
        pmf = np.convolve(pmf, [1.0 - one, one])
    return pmf


def all_truths(trials: int) -> npt.NDArray[np.int8]:
    """Every outcome of that many coins, one per row."""
    return (2 * np.array(list(product((0, 1), repeat=trials)), dtype=np.int8) - 1).astype(np.int8)


def whole_count(error: float) -> float:
    """Null, every truth of 12 trials: guess by rank, count, bound."""
    score = np.random.default_rng(2).standard_normal(12)
    guess = guessing.top_guesses(guessing.centred_ranks(score), 12, np.random.default_rng(3))
    truths = all_truths(12)
    target = guessing.Target(0.0)
    claims = [target.bound(guessing.count_correct(guess, t), error) > 0.0 for t in truths]
    return float(np.mean(claims))


def recall(error: float) -> list[float]:
    """PANORAMIA's guesses at all levels: every truth of 12 trials, weighed by sigma(c)."""
    out = []
    truths = all_truths(12)
    score = -np.arange(12.0)
    for c, rule in product((0.0, 0.5), closeness.RULES):
        weight = expit(c * truths.astype(float)).prod(axis=1)
        claims = [
            closeness.recall_bounds(
                score, t.astype(float), error=error, rule=rule, rng=np.random.default_rng(0)
            ).value
            > c
            for t in truths
        ]
        out.append(float(weight @ np.array(claims)))
    return out


def both_kinds(error: float) -> float:
    """Members and non-members guessed by one score: every truth of 12 trials."""
    score = -np.arange(12.0)
    claims = [
        closeness.two_thresholds(score, t.astype(float), error=error, rng=np.random.default_rng(0))
        for t in all_truths(12)
    ]
    return float(np.mean([c.value > 0.0 for c in claims]))


def one_level(error: float) -> list[float]:
    """One level of recall alone: the binomial tail at what it proves."""
    out = []
    for r in (10, 60, 300):
        for c in range(r // 2, r + 1, max(1, r // 12)):
            truth = np.where(np.arange(r) < c, 1.0, -1.0)
            guesses, correct = np.array([r]), np.array([int((truth > 0.0).sum())])
            (theta,) = closeness._binomial_lower(guesses, correct, error)
            if theta > 0.0:
                out.append(float(binom.sf(c - 1, r, expit(theta))))
    return out


def failures(error: float) -> list[float]:
    """With failures of a known mean: the worst distribution of them, by a linear program."""
    out = []
    for r, mean in ((10, 0.2), (40, 0.5), (40, 3.0)):
        for c in range(r // 2, r + 1, max(1, r // 8)):
            theta = closeness.relaxed_lower_bound(r, c, mean, error)
            if theta > 0.0:
                k = np.arange(c + 1)
                gain = binom.sf(c - 1 - k, r, expit(theta))
                found = linprog(-gain, k[None], [mean], np.ones((1, k.size)), [1.0])
                out.append(float(-found.fun))
    return out


def cases() -> Iterator[Check]:
    """One row per bound."""
    pure = ("epsilon", 0.0)
    yield Check("binomial", *pure, RESPONSE, "r = 5 to 1000", binomial, attained=0.999)
    yield Check("binomial", *pure, "null", "all truths of 12 trials", whole_count)
    name = "signed poisson-binomial"
    yield Check(name, *pure, RESPONSE, "priors of every kind, r = 12 to 700", signed, attained=0.99)
    yield Check(name, *pure, RESPONSE, "one prior for all", one_prior, attained=0.99)
    what = ("c", None)
    yield Check("closeness", *what, "generator at the edge", "one level", one_level, attained=0.99)
    yield Check("closeness", *what, "generator at the edge", "all truths of 12 trials", recall)
    yield Check("closeness", *what, "worst failures", "mean 0.2 to 3", failures, attained=0.99)
    yield Check(
        "closeness, both kinds of guesses", *pure, "null", "all truths of 12 trials", both_kinds
    )
