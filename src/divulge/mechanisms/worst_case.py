"""The worst that a private mechanism can do to a test that counts guesses: a linear program.

By symmetry (records exchanged, both values of a coin exchanged) a mechanism on m fair coins whose
output names r of them and guesses these is described by the probabilities of k correct guesses. If
its output may also decide how many are guessed, there is one such vector for each r. Between
neighbours, whose i-th coin differs, a correct guess of the i-th among k correct ones becomes a
wrong one among k - 1. So (epsilon, delta)-privacy is a linear constraint with slack variables, and
the largest probability of a false claim over all mechanisms that keep to it is found exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from divulge.errors import require


def worst_case(
    trials: int,
    thresholds: Mapping[int, int],
    privacy: Sequence[tuple[float, float]],
    candidates: int = 2,
) -> float:
    """The largest probability that a number of guesses r comes with ``thresholds[r]`` correct ones.

    ``privacy`` are pairs (epsilon, delta) that the mechanism must keep to; a grid of epsilons on a
    curve relaxes it a little, so that the answer errs upwards. With more ``candidates`` than two a
    wrong guess is one of several, which are alike by symmetry; between neighbours whose i-th truth
    is one of two candidates only guesses of these two differ.
    """
    require(len(thresholds) > 0, "Give at least one number of guesses.")
    require(max(thresholds) <= trials, "More guesses than trials.")
    sizes = np.array(list(thresholds))
    first = np.concatenate([[0], np.cumsum(sizes + 1)])
    masses = int(first[-1])
    correct = np.concatenate([np.arange(1, r + 1) for r in sizes])
    right = np.concatenate(
        [start + np.arange(1, r + 1) for start, r in zip(first, sizes, strict=False)]
    )
    guessed = np.repeat(sizes, sizes)
    gain = correct / trials
    loss = (guessed - correct + 1) / (trials * (candidates - 1))
    steps, pairs = right.size, len(privacy)
    columns, rows, values = [], [], []
    for p, (epsilon, _) in enumerate(privacy):
        e = math.exp(epsilon)
        for side, (up, rise, down, fall) in enumerate(
            ((right, gain, right - 1, loss), (right - 1, loss, right, gain))
        ):
            row = np.arange(steps) + (2 * p + side) * steps
            columns += [up, down, masses + row]
            values += [rise, -e * fall, -np.ones(steps)]
            rows += [row, row, row]
        row = np.arange(2 * p * steps, 2 * (p + 1) * steps)
        columns.append(masses + row)
        values.append(np.ones(row.size))
        rows.append(np.full(row.size, 2 * pairs * steps + p))
    size = masses + 2 * pairs * steps
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(2 * pairs * steps + pairs, size),
    ).tocsr()
    limits = np.concatenate([np.zeros(2 * pairs * steps), [delta for _, delta in privacy]])
    false = np.zeros(size)
    for start, r in zip(first, sizes, strict=False):
        false[start + thresholds[int(r)] : start + r + 1] = -1.0
    whole = np.zeros((1, size))
    whole[0, :masses] = 1.0
    for method in ("highs", "highs-ipm"):
        found = linprog(false, matrix, limits, whole, [1.0], method=method)
        if found.success:
            break
    require(found.success, f"The linear program was not solved: {found.message}")
    return float(-found.fun)
