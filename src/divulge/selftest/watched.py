"""Bets against a claimed noise: runs that keep the claim, at its edge, are seldom refuted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom

from divulge.attacks.claimed_noise import (
    QUIETER,
    SURER,
    Capital,
    NoiseClaim,
    NoiseWatch,
    chance,
    log_coin_factor,
    log_quiet_factor,
)
from divulge.selftest.case import Case, Check

SIZES = (30, 8, 2)
STEPS, COINS, CLIP = 30, 16, 0.5
SIGMAS = (0.4, 1.0, 5.0)
EVEN = "expected factor of a bet"


@dataclass(frozen=True)
class HonestRun:
    """A run that keeps its claim; 1 if it is ever refuted."""

    sigma: float
    louder: float = 1.0
    """The noise, in units of what is claimed."""
    known: bool = True
    """Whether the sum of the batch is seen."""
    clipping: bool = False
    """Whether canaries are clipped with the batch; otherwise they join the sum."""

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        claim = NoiseClaim(self.sigma, CLIP, error, "warn")
        watch = _Silent(claim, SIZES, coins=COINS, seed=int(rng.integers(2**31)))
        base = rng.standard_normal(sum(SIZES))
        for _ in range(STEPS):
            base = 0.9 * base + 0.3 * rng.standard_normal(base.size)
            if self.clipping:
                rows = watch.gradients()
                length = np.linalg.norm(rows, axis=1, keepdims=True)
                total = base + (rows * np.minimum(1.0, CLIP / length)).sum(axis=0)
            else:
                total = watch.insert(base)
            noise = self.louder * self.sigma * CLIP * rng.standard_normal(base.size)
            watch.step(total + noise, base if self.known else None)
        return float(watch.refuted_at > 0)


class _Silent(NoiseWatch):
    def _refute(self) -> None:
        pass


def quiet_expectations(error: float) -> np.ndarray:
    """Of one coordinate ``d + s z``, integrated over z, at and beyond the edge."""
    z = np.linspace(-12.0, 12.0, 20001)
    weight = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) * (z[1] - z[0])
    return np.array(
        [
            sum(
                w * np.exp(log_quiet_factor(float(x), 1, h))
                for w, x in zip(weight, (d + s * z) ** 2, strict=True)
            )
            for h in QUIETER
            for d, s in ((0.0, 1.0), (0.7, 1.0), (0.0, 1.5))
        ]
    )


def coin_expectations(error: float) -> np.ndarray:
    """Of several guesses, each right as often as the best test of two normals is."""
    return np.array(
        [
            sum(
                binom.pmf(k, n, ndtr(0.5 / sigma)) * np.exp(log_coin_factor(k, n, sigma, sure))
                for k in range(n + 1)
            )
            for sigma in SIGMAS
            for sure in SURER
            for n in (1, 7)
        ]
    )


def guess_rates(error: float) -> np.ndarray:
    """How often thresholds tell ``N(1, sigma^2)`` from ``N(0, sigma^2)``, over u."""
    cuts = np.linspace(-3.0, 4.0, 141)
    return np.array(
        [np.max(0.5 * ndtr(cuts / s) + 0.5 * ndtr((1.0 - cuts) / s)) / chance(s) for s in SIGMAS]
    )


def capital_expectations(error: float) -> np.ndarray:
    """Of the capital after one, two and three steps with factors 0 and 2, over all outcomes."""
    found = []
    for steps in (1, 2, 3):
        total = 0.0
        for outcome in np.ndindex(*(2,) * steps):
            capital, last = Capital([1.0, 3.0]), 0.0
            for up in outcome:
                with np.errstate(divide="ignore"):
                    last = capital.step([np.log(2.0 * up), 0.0])
            total += np.exp(last) / 2.0**steps
        found.append(total)
    return np.array(found)


def cases() -> Iterator[Case | Check]:
    """The factors, computed; and whole runs that keep the claim."""
    for name, compute, mechanism, sharp in (
        ("quiet noise", quiet_expectations, "normal, at and beyond the claim", 0.0),
        ("fresh coins", coin_expectations, "best test of two normals", 1.0),
        ("chance of a guess", guess_rates, "all thresholds", 0.999),
        ("capital that enters late", capital_expectations, "all outcomes of three steps", 1.0),
    ):
        yield Check(
            bound=f"claimed noise, {name}",
            parameter="claim",
            delta=None,
            mechanism=mechanism,
            setting="exact",
            compute=compute,
            quantity=EVEN,
            limit=1.0 + 1e-9,
            attained=sharp * (1.0 - 1e-8),
        )
    runs = {
        "as claimed": HonestRun(0.7),
        "as claimed, little noise": HonestRun(0.3),
        "as claimed, the batch unseen": HonestRun(0.7, known=False),
        "as claimed, canaries clipped": HonestRun(1.5, clipping=True),
        "louder than claimed": HonestRun(0.7, louder=1.3),
    }
    for mechanism, play in runs.items():
        yield Case(
            bound="claimed noise, refuted",
            parameter="claim",
            delta=None,
            mechanism=mechanism,
            setting=f"{STEPS} steps, {COINS} coins each",
            play=play,
            truth=0.0,
            quick=mechanism.startswith("as claimed") and play.known,
        )
