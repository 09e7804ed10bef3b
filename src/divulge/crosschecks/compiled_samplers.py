"""MCMC-DP-Est as published, compiled by numba: Algorithms 1 and 6.

Both are Metropolis-Hastings with averaged acceptance ratios: each step draws ``auxiliaries`` pairs
of error rates per attack and compares the mean weights at the current and the proposed parameters.
The auxiliaries come from ``q``: the unit square as published, or Beta distributions near the
posterior of each error rate, which wastes far fewer; the weights are divided by the density of q,
so both target the same posterior.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_LARGEST = 600.0


@njit(cache=True)
def seed(value: int) -> None:
    """Seed the generator of the compiled code, which is not numpy's."""
    np.random.seed(value)  # noqa: NPY002


@njit(cache=True)
def log_prior(e: float, family: int, scale: float, spread: float) -> float:
    """The logarithm of the density of epsilon, up to a constant; families as in priors.py."""
    if family == 0:
        return -0.5 * e * e / scale
    if family == 1:
        return -e / scale
    if family == 2:
        return 0.0 if e <= scale else -np.inf
    z = (math.log(e) - math.log(scale)) / spread
    return -0.5 * z * z - math.log(e)


@njit(cache=True)
def log_strength(s: float, a: float, b: float) -> float:
    """The logarithm of the density of the strength, up to a constant."""
    if not 0.0 < s < 1.0:
        return -np.inf
    return (a - 1.0) * math.log(s) + (b - 1.0) * math.log(1.0 - s)


@njit(cache=True)
def inside(x: float, y: float, growth: float, d: float) -> bool:
    """Whether (x, y) lies in R(e, d), with growth = exp(e) (Theorem 1)."""
    return (
        x + growth * y >= 1.0 - d
        and y + growth * x >= 1.0 - d
        and y + growth * x <= growth + d
        and x + growth * y <= growth + d
    )


@njit(cache=True)
def area(e: float, s: float, d: float) -> float:
    """The area of R(e, d) without R(s e, s d) (eq. 3)."""
    inner = (1.0 - s * d) ** 2 / (1.0 + math.exp(s * e))
    return float(2.0 * (inner - (1.0 - d) ** 2 / (1.0 + math.exp(e))))


@njit(cache=True)
def _binomial(x: float, n: float, rate: float) -> float:
    """The logarithm of a binomial likelihood, up to a constant."""
    total = 0.0
    if x > 0.0:
        total += x * math.log(rate)
    if x < n:
        total += (n - x) * math.log(1.0 - rate)
    return total


@njit(cache=True)
def independent(
    counts: np.ndarray,
    delta: float,
    family: int,
    scale: float,
    spread: float,
    a: float,
    b: float,
    fixed: float,
    start: tuple,
    step_e: float,
    step_s: float,
    auxiliaries: int,
    burn_in: int,
    draws: int,
    square: bool,
) -> tuple:
    """Algorithm 1; ``fixed`` in [0, 1) keeps the strength, a negative value samples it."""
    n = counts.shape[0]
    e, s = start[0], start[1] if fixed < 0.0 else fixed
    rates = np.empty((n, auxiliaries, 2))
    weight = np.empty((n, auxiliaries))
    current = np.empty((n, 2))
    for j in range(n):
        for _ in range(100_000):
            x, y = _draw(counts[j], square)
            current[j, 0], current[j, 1] = x, y
            if inside(x, y, math.exp(e), delta) and not inside(x, y, math.exp(s * e), s * delta):
                break
    out = np.empty((draws, 2))
    accepted = 0
    top = np.empty(n)
    if square:
        for j in range(n):
            x, m, y, k = counts[j]
            top[j] = _binomial(x, m, min(max(x / m, 1e-12), 1.0 - 1e-12))
            top[j] += _binomial(y, k, min(max(y / k, 1e-12), 1.0 - 1e-12))
    for i in range(burn_in + draws):
        e_new = e * math.exp(step_e * np.random.standard_normal())  # noqa: NPY002
        s_new = s
        if fixed < 0.0:
            s_new = s + step_s * np.random.standard_normal()  # noqa: NPY002
        possible = (fixed >= 0.0 or 0.0 < s_new < 1.0) and e_new < _LARGEST
        ratio = log_prior(e_new, family, scale, spread) - log_prior(e, family, scale, spread)
        ratio += math.log(e_new) - math.log(e)
        if possible and fixed < 0.0:
            ratio += log_strength(s_new, a, b) - log_strength(s, a, b)
        outer, inner = math.exp(e), math.exp(s * e)
        outer_new, inner_new = math.exp(min(e_new, _LARGEST)), math.exp(min(s_new * e_new, 600.0))
        change = 0.0
        if possible:
            change = math.log(area(e, s, delta)) - math.log(area(e_new, s_new, delta))
        for j in range(n):
            old, new = 0.0, 0.0
            for k in range(auxiliaries):
                if k == 0:
                    x, y = current[j, 0], current[j, 1]
                else:
                    x, y = _draw(counts[j], square)
                rates[j, k, 0], rates[j, k, 1] = x, y
                g = 1.0
                if square:
                    g = math.exp(
                        _binomial(counts[j, 0], counts[j, 1], x)
                        + _binomial(counts[j, 2], counts[j, 3], y)
                        - top[j]
                    )
                weight[j, k] = g
                if inside(x, y, outer, delta) and not inside(x, y, inner, s * delta):
                    old += g
                if (
                    possible
                    and inside(x, y, outer_new, delta)
                    and not inside(x, y, inner_new, s_new * delta)
                ):
                    new += g
            if new <= 0.0:
                possible = False
            if possible:
                ratio += math.log(new) - math.log(old) + change
        if possible and math.log(np.random.random()) <= ratio:  # noqa: NPY002
            e, s = e_new, s_new
            outer, inner = outer_new, inner_new
            accepted += 1
        for j in range(n):
            total = 0.0
            for k in range(auxiliaries):
                x, y = rates[j, k, 0], rates[j, k, 1]
                if not inside(x, y, outer, delta) or inside(x, y, inner, s * delta):
                    weight[j, k] = 0.0
                total += weight[j, k]
            goal = total * np.random.random()  # noqa: NPY002
            for k in range(auxiliaries):
                goal -= weight[j, k]
                if goal <= 0.0 and weight[j, k] > 0.0:
                    current[j, 0], current[j, 1] = rates[j, k, 0], rates[j, k, 1]
                    break
        if i >= burn_in:
            out[i - burn_in, 0], out[i - burn_in, 1] = e, s
    return out, accepted / (burn_in + draws)


@njit(cache=True)
def _draw(row: np.ndarray, square: bool) -> tuple:
    if square:
        return np.random.random(), np.random.random()  # noqa: NPY002
    return (
        np.random.beta(row[0] + 1.0, row[1] - row[0] + 1.0),  # noqa: NPY002
        np.random.beta(row[2] + 1.0, row[3] - row[2] + 1.0),  # noqa: NPY002
    )


@njit(cache=True)
def _log_normal(
    zx: float, zy: float, lx: float, ly: float, tau: float, c: float, n: float
) -> float:
    """The bivariate normal of eq. 7 in standard units of a binomial, up to a constant."""
    v = 1.0 + (n - 1.0) * tau
    rest = 1.0 - c * c
    form = (zx * zx - 2.0 * c * zx * zy + zy * zy) / (v * rest)
    return -0.5 * form - 0.5 * math.log(rest) - math.log(v) - 0.5 * (lx + ly)


@njit(cache=True)
def correlated(
    counts: np.ndarray,
    delta: float,
    family: int,
    scale: float,
    spread: float,
    a: float,
    b: float,
    sigma_tau: float,
    start: tuple,
    steps: tuple,
    auxiliaries: int,
    burn_in: int,
    draws: int,
    square: bool,
) -> tuple:
    """Algorithm 6, with tau proposed around tau (the paper's text says around s).

    All rows must have the same number N of negatives and of positives.
    """
    n = counts.shape[0]
    size = counts[0, 1]
    e, s, tau, c = start
    current = np.empty((n, 2))
    points = np.empty((n, auxiliaries, 7))
    old_weight, new_weight = np.empty((n, auxiliaries)), np.empty((n, auxiliaries))
    for j in range(n):
        for _ in range(100_000):
            x, y, _q = _spread_draw(counts[j], square)
            current[j, 0], current[j, 1] = x, y
            if inside(x, y, math.exp(e), delta) and not inside(x, y, math.exp(s * e), s * delta):
                break
    out = np.empty((draws, 4))
    accepted = 0
    for i in range(burn_in + draws):
        e_new = e * math.exp(steps[0] * np.random.standard_normal())  # noqa: NPY002
        s_new = s + steps[1] * np.random.standard_normal()  # noqa: NPY002
        tau_new = tau + steps[2] * np.random.standard_normal()  # noqa: NPY002
        v, v_new = 1.0 + (size - 1.0) * tau, 1.0 + (size - 1.0) * tau_new
        rho_new = c * v / size + steps[3] * np.random.standard_normal()  # noqa: NPY002
        possible = 0.0 < s_new < 1.0 and v_new > 1e-9 and tau_new < 1.0 and e_new < _LARGEST
        c_new = rho_new * size / v_new if possible else 0.0
        possible = possible and abs(c_new) < 1.0 - 1e-9
        ratio = 0.0
        change = 0.0
        if possible:
            ratio = log_prior(e_new, family, scale, spread) - log_prior(e, family, scale, spread)
            ratio += math.log(e_new) - math.log(e)
            ratio += log_strength(s_new, a, b) - log_strength(s, a, b)
            # The density of (tau, rho), eq. 10: rho is uniform on an interval of length 2 v / N.
            ratio += 0.5 * (tau * tau - tau_new * tau_new) / sigma_tau**2
            ratio += math.log(v) - math.log(v_new)
            change = math.log(area(e, s, delta)) - math.log(area(e_new, s_new, delta))
        outer, inner = math.exp(e), math.exp(s * e)
        outer_new, inner_new = math.exp(min(e_new, 600.0)), math.exp(min(s_new * e_new, 600.0))
        for j in range(n):
            top_old, top_new = -np.inf, -np.inf
            for k in range(auxiliaries):
                if k == 0:
                    x, y = current[j, 0], current[j, 1]
                    q = _spread_density(counts[j], x, y, square)
                else:
                    x, y, q = _spread_draw(counts[j], square)
                vx, vy = size * x * (1.0 - x), size * y * (1.0 - y)
                zx = (counts[j, 0] - size * x) / math.sqrt(vx)
                zy = (counts[j, 2] - size * y) / math.sqrt(vy)
                lx, ly = math.log(vx), math.log(vy)
                points[j, k, 0], points[j, k, 1] = x, y
                old_weight[j, k] = -np.inf
                new_weight[j, k] = -np.inf
                if inside(x, y, outer, delta) and not inside(x, y, inner, s * delta):
                    old_weight[j, k] = _log_normal(zx, zy, lx, ly, tau, c, size) - q
                    top_old = max(top_old, old_weight[j, k])
                if (
                    possible
                    and inside(x, y, outer_new, delta)
                    and not inside(x, y, inner_new, s_new * delta)
                ):
                    new_weight[j, k] = _log_normal(zx, zy, lx, ly, tau_new, c_new, size) - q
                    top_new = max(top_new, new_weight[j, k])
            if top_new == -np.inf:
                possible = False
            if possible:
                old, new = 0.0, 0.0
                for k in range(auxiliaries):
                    old += math.exp(old_weight[j, k] - top_old)
                    new += math.exp(new_weight[j, k] - top_new)
                ratio += math.log(new) + top_new - math.log(old) - top_old + change
        take = possible and math.log(np.random.random()) <= ratio  # noqa: NPY002
        if take:
            e, s, tau, c = e_new, s_new, tau_new, c_new
            accepted += 1
        for j in range(n):
            chosen = new_weight if take else old_weight
            top = -np.inf
            for k in range(auxiliaries):
                top = max(top, chosen[j, k])
            total = 0.0
            for k in range(auxiliaries):
                total += math.exp(chosen[j, k] - top)
            goal = total * np.random.random()  # noqa: NPY002
            for k in range(auxiliaries):
                goal -= math.exp(chosen[j, k] - top)
                if goal <= 0.0 and chosen[j, k] > -np.inf:
                    current[j, 0], current[j, 1] = points[j, k, 0], points[j, k, 1]
                    break
        if i >= burn_in:
            at = i - burn_in
            out[at, 0], out[at, 1], out[at, 2] = e, s, tau
            out[at, 3] = c * (1.0 + (size - 1.0) * tau) / size
    return out, accepted / (burn_in + draws)


_WIDE = 2.5
"""Variance by which the auxiliaries of Algorithm 6 are wider than those of Algorithm 1."""


@njit(cache=True)
def _spread_draw(row: np.ndarray, square: bool) -> tuple:
    if square:
        return np.random.random(), np.random.random(), 0.0  # noqa: NPY002
    x = np.random.beta(row[0] / _WIDE + 0.5, (row[1] - row[0]) / _WIDE + 0.5)  # noqa: NPY002
    y = np.random.beta(row[2] / _WIDE + 0.5, (row[3] - row[2]) / _WIDE + 0.5)  # noqa: NPY002
    x, y = min(max(x, 1e-300), 1.0 - 1e-16), min(max(y, 1e-300), 1.0 - 1e-16)
    return x, y, _spread_density(row, x, y, square)


@njit(cache=True)
def _spread_density(row: np.ndarray, x: float, y: float, square: bool) -> float:
    """The logarithm of q, up to a constant of the row."""
    if square:
        return 0.0
    return float(
        (row[0] / _WIDE - 0.5) * math.log(x)
        + ((row[1] - row[0]) / _WIDE - 0.5) * math.log(1.0 - x)
        + (row[2] / _WIDE - 0.5) * math.log(y)
        + ((row[3] - row[2]) / _WIDE - 0.5) * math.log(1.0 - y)
    )
