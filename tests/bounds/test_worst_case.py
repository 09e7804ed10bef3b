"""The p-values of counted guesses against the exact worst case over all private mechanisms.

By symmetry a mechanism on m coins with r guesses is described by the masses of d wrong guesses. A
linear programme over these masses, with the hockey-stick constraint between neighbours for each
(epsilon, delta), gives the largest probability of c or more correct guesses that any
(epsilon, delta)-DP mechanism can reach. A valid p-value is never below it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from divulge import curves
from divulge.bounds import counting, recursion


def worst_case(m: int, r: int, c: int, constraints: list[tuple[float, float]]) -> float:
    masses = r + 1
    size = masses + 2 * r * len(constraints)
    rows, limits = [], []
    slack = masses
    for epsilon, delta in constraints:
        total = np.zeros(size)
        for d in range(r):
            right, wrong = np.zeros(size), np.zeros(size)
            right[d] = (r - d) / m
            wrong[d + 1] = (d + 1) / m
            for p, q in ((right, wrong), (wrong, right)):
                row = p - math.exp(epsilon) * q
                row[slack] -= 1.0
                rows.append(row)
                limits.append(0.0)
                total[slack] = 1.0
                slack += 1
        rows.append(total)
        limits.append(delta)
    objective = np.zeros(size)
    objective[: r - c + 1] = -1.0
    whole = np.zeros((1, size))
    whole[0, :masses] = 1.0
    found = linprog(
        objective, A_ub=np.array(rows), b_ub=limits, A_eq=whole, b_eq=[1.0], method="highs"
    )
    return float(-found.fun)


def recursion_p_value(curve: curves.Curve, m: int, r: int, c: int) -> float:
    """The smallest error at which the recursion rejects."""
    low, high = 1e-12, 1.0 - 1e-12
    if not recursion.rejects(curve, m, r, c, error=high):
        return 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        if recursion.rejects(curve, m, r, c, error=middle):
            high = middle
        else:
            low = middle
    return high


GAMES = [(1, 1), (2, 2), (5, 5), (8, 3), (20, 20), (40, 10)]
PRIVACY = [(0.0, 0.0), (1.0, 0.0), (0.0, 0.01), (1.0, 0.01), (0.5, 0.05), (2.0, 1e-3)]


@pytest.mark.parametrize(("m", "r"), GAMES)
@pytest.mark.parametrize(("epsilon", "delta"), PRIVACY)
def test_no_p_value_is_below_the_worst_case(m, r, epsilon, delta):
    for c in sorted({(r + 1) // 2, (3 * r) // 4, r - 1, r} - {0}):
        worst = worst_case(m, r, c, [(epsilon, delta)])
        if worst > 0.5:
            continue
        p_values = {
            "recursion": recursion_p_value(curves.ApproximateDP(epsilon, delta), m, r, c),
            "steinke": counting.steinke_p_value(m, r, c, epsilon, delta),
            "zero-run": counting.zero_run_p_value(m, r, c, epsilon, delta),
        }
        for name, p in p_values.items():
            assert p >= worst * (1 - 1e-6) - 1e-9, name
        if worst > 1e-4:
            assert p_values["recursion"] <= 1.6 * worst, "and the recursion is nearly tight"


@pytest.mark.parametrize(("m", "r"), [(2, 2), (5, 5), (8, 3), (12, 12)])
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
def test_gaussian_recursion_is_not_below_the_worst_case(m, r, mu):
    """A grid of epsilons relaxes G_mu a little, hence the tolerance."""
    grid = np.linspace(0.0, max(4.0, 6.0 * mu), 120)
    constraints = [(float(e), curves.Gaussian(mu).delta(float(e))) for e in grid]
    for c in sorted({(3 * r) // 4, r} - {0}):
        worst = worst_case(m, r, c, constraints)
        assert recursion_p_value(curves.Gaussian(mu), m, r, c) >= worst * (1 - 2e-3) - 1e-9
