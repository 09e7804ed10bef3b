"""The leakage of one record and the test of two normals, against the most powerful test.

Two densities on a fine grid; points are accused in the order of their likelihood ratio (Neyman and
Pearson). What is left of a formula for power, advantage or delta divided by that is 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import betabinom, norm

from divulge.attacks import parametric
from divulge.exposure import exposed
from divulge.posterior import correlated
from divulge.selftest.case import Check
from divulge.types import Array

LEAKAGES = ((1.0, 1.0), (4.0, 1.0), (8.9, 0.5), (0.5, 0.2))
"""m* and the share of the records that is sampled."""
_GRID = np.linspace(-14.0, 26.0, 200_001)
_FORMULA = "formula over exact value"
_NEAR = 1e-3


def densities(m: float, rate: float) -> tuple[Array, Array]:
    """The statistic without the record, and with it: the event "sampled" is shared by all."""
    out = norm.pdf(_GRID)
    inside = (1.0 - rate) * out + rate * norm.pdf(_GRID, loc=np.sqrt(m / rate))
    return out / out.sum(), inside / inside.sum()


def best_power(null: Array, other: Array, level: float) -> float:
    """The power of the most powerful test of this level, with part of the last point."""
    order = np.argsort(-other / np.maximum(null, 1e-300), kind="stable")
    size, power = np.cumsum(null[order]), np.cumsum(other[order])
    return float(np.interp(level, np.r_[0.0, size], np.r_[0.0, power]))


def power(error: float) -> list[float]:
    """True-positive rates at 1, 10 and 50% false positives."""
    out = []
    for m, rate in LEAKAGES:
        null, other = densities(m, rate)
        for level in (0.01, 0.1, 0.5):
            stated = float(exposed.power(m, level, rate))
            out.append(stated / best_power(null, other, level))
    return out


def advantage(error: float) -> list[float]:
    """Total variation."""
    out = []
    for m, rate in LEAKAGES:
        null, other = densities(m, rate)
        out.append(float(exposed.advantage(m, rate)) / float(np.maximum(other - null, 0.0).sum()))
    return out


def deltas(error: float) -> list[float]:
    """Delta in either direction."""
    out = []
    for m, rate in LEAKAGES:
        null, other = densities(m, rate)
        for epsilon in (0.0, 0.3, 1.0):
            grown = np.exp(epsilon)
            for stated, first, second in (
                (exposed.delta_in(m, epsilon, rate), other, null),
                (exposed.delta_out(m, epsilon, rate), null, other),
            ):
                exact = float(np.maximum(first - grown * second, 0.0).sum())
                if exact > 1e-6:
                    out.append(float(stated) / exact)
    return out


def likelihood_ratio_test(error: float) -> list[float]:
    """Size and power of the test of two normals (003, Algorithm 3) against the best."""
    out = []
    grid = _GRID[::4]
    for mean, sd in ((1.0, 1.3), (1.0, 0.7), (-2.0, 1.0)):
        null, other = (norm.pdf(grid, *pair) for pair in ((0.0, 1.0), (mean, sd)))
        null, other = null / null.sum(), other / other.sum()
        for level in (0.05, 0.1):
            accused = parametric.decide(grid, 0.0, 1.0, mean, sd, [level])[:, 0]
            out.append(float(null[accused].sum()) / level)
            out.append(float(other[accused].sum()) / best_power(null, other, level))
    return out


def empty_counts(error: float) -> list[float]:
    """No error among N correlated decisions: the beta-binomial by scipy."""
    out = []
    for n, tau in ((10, 0.02), (50, 0.01), (50, 0.1)):
        rate = np.array([0.01, 0.05, 0.2])
        wide = 1.0 / tau - 1.0
        exact = betabinom.pmf(0, n, rate * wide, (1.0 - rate) * wide)
        out += (np.exp(correlated.log_none(rate, float(n), tau)) / exact).tolist()
    return out


def both_counts(error: float) -> list[float]:
    """Correlated counts: the variance of a count is that of the beta-binomial.

    The margin's size and its variance factor tell the variance that is used.
    """
    out = []
    for n, tau in ((100.0, 0.02), (100.0, 0.1)):
        counts = np.array([[40.0, n, 30.0, n]])
        growth = correlated.CorrelatedGrowth(counts, tau, "normal", np.zeros(1))
        wide = 1.0 / tau - 1.0
        exact = betabinom.var(int(n), 0.4 * wide, 0.6 * wide)
        count, size, factor, _, _ = growth.margins[0][0]
        out += [exact / (size * factor * 0.4 * 0.6), 1.0 + abs(float(count - 0.4 * size))]
    return out


def cases() -> Iterator[Check]:
    """Leakage, the parametric test, and the margins of correlated counts."""
    rows = (
        ("leakage, power", "sampled and whole means", power),
        ("leakage, advantage", "sampled and whole means", advantage),
        ("leakage, delta", "sampled and whole means", deltas),
        ("retraining, test of two normals", "most powerful test", likelihood_ratio_test),
        ("retraining, correlated counts", "beta-binomial, no error", empty_counts),
        ("retraining, correlated counts", "beta-binomial, variance", both_counts),
    )
    for bound, mechanism, compute in rows:
        yield Check(
            bound,
            "formula",
            None,
            mechanism,
            "exact",
            compute,
            quantity=_FORMULA,
            limit=1.0 + _NEAR,
            attained=(1.0 - _NEAR) / (1.0 + _NEAR),
        )
