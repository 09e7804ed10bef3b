"""What guards deduct: all of what they find, and no less than it is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from divulge.selftest.case import Check
from divulge.shift import sensitivity
from divulge.shift.allowance import Allowance, Simulated
from divulge.shift.large_families import Slope
from divulge.shift.neighbours import Near, largest
from divulge.shift.robust import BeforeGuards
from divulge.shift.value_prior import Priors


def deducted(error: float) -> list[float]:
    """What a blind baseline proves is deducted: nothing is left of a finding of the same size."""
    nothing = np.zeros((1, 2))
    head = np.zeros(0, dtype=np.intp)
    out = []
    for c in (0.1, 0.7, 2.0):
        priors = Priors(nothing, nothing, nothing, nothing, head, head, 1.5, "", c_lb=c)
        mu = 2.0 * float(norm.ppf(expit(c)))
        out += [priors.proved_epsilon(c), priors.proved_mu(mu)]
        out.append(float(sensitivity.sensitivity(c).epsilon[-1]))
    return out


def missed_together(error: float) -> list[float]:
    """What both models missed in many small functions of few columns is charged at its sum."""
    out = []
    for count, errors in ((1, 4.5), (2, 3.5), (3, 3.1), (6, 2.7), (12, 2.2)):
        sizes = [errors] * count + [0.0] * (100 - count)
        found = [
            Near(f"pair {i}", "mean", 0.01 * size, 0.01, 2.0, 100, frozenset((2 * i, 2 * i + 1)))
            for i, size in enumerate(sizes)
        ]
        out.append(0.02 * errors * count / max(largest(found, 1.0), 1e-9))
        level = Near("level", "mean", 0.035, 0.01, 2.0, 2, frozenset((-1,)))
        silent = [replace(n, value=0.0) for n in found]
        out.append(0.07 / max(largest([level, *silent], 1.0), 1e-9))
    return out


def explained(error: float) -> list[float]:
    """Whether guards of a brief audit end while something is left of what was found before them."""
    nothing = Simulated(0.0, 0.0, 0.0)

    def left(found: BeforeGuards, epsilon: float, mu: float) -> float:
        allowance = Allowance(epsilon, mu, 0.0, nothing, Slope(0.0, 0.0), {})
        return float(found.explained(allowance))

    return [
        left(BeforeGuards(1.0, 0.5), 0.9, 0.6),
        left(BeforeGuards(1.0, 0.5), 1.1, 0.4),
        left(BeforeGuards(math.inf, 0.0), 9.0, 9.0),
        left(BeforeGuards(), math.inf, math.inf),
        float(BeforeGuards(0.0, 0.1).nothing or BeforeGuards(0.1, 0.0).nothing),
    ]


def cases() -> Iterator[Check]:
    """What is left of a finding that a guard explains."""
    yield Check(
        "guards of a brief audit",
        "epsilon",
        0.0,
        "a finding above its allowance",
        "exact",
        explained,
        quantity="called explained",
        limit=0.0,
    )
    yield Check(
        "neighbours, many small misses",
        "epsilon",
        0.0,
        "1 to 12 functions of two columns",
        "100 looked at",
        missed_together,
        quantity="missed over charged",
        limit=1.0 + 1e-9,
    )
    yield Check(
        "blind baseline, deduction",
        "epsilon",
        0.0,
        "shift of the size of the finding",
        "exact",
        deducted,
        quantity="what is left",
        limit=1e-6,
    )
