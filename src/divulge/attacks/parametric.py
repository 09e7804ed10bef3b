"""LiRA's parametric test: two normal distributions of a loss, told apart by one observation.

MCMC-DP-Est, Algorithm 3 and Appendix D. The most powerful test of ``N(m0, v0)`` against
``N(m1, v1)`` rejects where ``(x + R)^2`` is small (v0 > v1) or large (v0 < v1), with
``R = (m0/v0 - m1/v1) / (1/v1 - 1/v0)``. Algorithm 3 prints R with the wrong sign; Appendix D is
right. The threshold is solved from normal probabilities, which stays exact where the quantile of a
noncentral chi-squared distribution with a large noncentrality does not.

That threshold keeps its target error only if the losses are normal, which cross-entropies are not:
they are skewed, and a narrow H1 near 0 cuts out the very part of H0 where a skewed loss has most of
its mass. Calibration by *ranks* assumes nothing but that models trained alike are exchangeable: the
likelihood ratio of the model under test is ranked among those of its H0 shadow models, all fitted
together, and the record is said to be in if the rank is among the highest share ``target``. Under
H0 every rank is as probable as any other, so the error is at most the target, for every sample size
and every distribution.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from divulge.errors import require
from divulge.types import Array

_EQUAL = 1e-9
"""Relative difference of variances below which they count as equal."""
_LEAST = 1e-12
_STEPS = 200
NORMAL, RANKS = "normal", "ranks"
CALIBRATIONS = (NORMAL, RANKS)


def decide(
    loss: npt.ArrayLike,
    mean0: npt.ArrayLike,
    sd0: npt.ArrayLike,
    mean1: npt.ArrayLike,
    sd1: npt.ArrayLike,
    levels: npt.ArrayLike,
) -> npt.NDArray[np.bool_]:
    """Whether "trained with the record" is decided, per loss (rows) and target error (columns)."""
    target = np.asarray(levels, dtype=float)
    require(bool(np.all((target > 0.0) & (target < 1.0))), "Target errors must lie in (0, 1).")
    columns = np.broadcast_arrays(
        *(np.asarray(v, dtype=float) for v in (loss, mean0, sd0, mean1, sd1))
    )
    x, m0, s0, m1, s1 = (np.atleast_1d(v)[:, None] for v in columns)
    s0, s1 = np.maximum(s0, _LEAST), np.maximum(s1, _LEAST)
    gap = (s0**2 - s1**2) / np.maximum(s0**2, s1**2)
    equal = np.abs(gap) < _EQUAL
    # In standard units of the null: z ~ N(0, 1), centre of the acceptance or rejection region.
    z = (x - m0) / s0
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = (m1 - m0) * s0 / (s1**2 - s0**2)  # (m0 + R) / s0
    shift = np.where(equal, 0.0, shift)
    inside = np.where(gap > 0.0, target, 1.0 - target)
    radius = half_width(shift, inside)
    close = np.abs(z + shift) <= radius
    unequal = np.where(gap > 0.0, close, ~close)
    one_sided = np.sign(m1 - m0) * z > ndtri(1.0 - target)
    return np.asarray(np.where(equal, one_sided, unequal))


def half_width(shift: Array, probability: Array) -> Array:
    """The r with ``P(|Z + shift| <= r) = probability`` for a standard normal Z, by bisection."""
    far = np.abs(shift)
    low = np.zeros(np.broadcast_shapes(shift.shape, probability.shape))
    high = np.broadcast_to(far + 40.0, low.shape).copy()
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            break
        # By symmetry about shift > 0: Z lies between -far - r and -far + r.
        held = ndtr(middle - far) - ndtr(-middle - far)
        low, high = (
            np.where(held < probability, middle, low),
            np.where(held < probability, high, middle),
        )
    return 0.5 * (low + high)


def without_each(values: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the other values, for each value left out."""
    n = values.size
    require(n >= 4, f"Cross-feeding needs at least four models per side. Found {n}.")
    mean = (values.sum() - values) / (n - 1)
    centred = values - values.mean()
    square = np.sum(centred**2) - centred**2
    variance = (square - (n - 1) * (mean - values.mean()) ** 2) / (n - 2)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def check_calibration(calibration: str) -> None:
    """InputError unless the name is one of CALIBRATIONS."""
    require(
        calibration in CALIBRATIONS,
        f"Unknown calibration {calibration!r}. Choose from {', '.join(CALIBRATIONS)}.",
    )


def cross_fed(
    without: npt.ArrayLike,
    with_record: npt.ArrayLike,
    levels: npt.ArrayLike,
    *,
    calibration: str = NORMAL,
) -> Array:
    """Algorithm 5's error counts from losses: columns X, N0, Y, N1, one row per target error.

    Each model is tested against the losses of all the others. With ``ranks`` model j of either side
    is tested against all others but those of place j, so that both sides meet the same test.
    """
    check_calibration(calibration)
    zero, one = (np.asarray(v, dtype=float).ravel() for v in (without, with_record))
    require(bool(np.isfinite(zero).all() and np.isfinite(one).all()), "Losses must be finite.")
    if calibration == RANKS:
        require(zero.size == one.size, "Ranks need as many models with the record as without it.")
        others = ~np.eye(zero.size, dtype=bool)
        rest0, rest1 = (
            np.broadcast_to(v, others.shape)[others].reshape(v.size, -1) for v in (zero, one)
        )
        return _counted(
            independent(zero, rest0, rest1, levels, calibration=RANKS),
            independent(one, rest0, rest1, levels, calibration=RANKS),
        )
    left0, left1 = without_each(zero), without_each(one)
    all0, all1 = (zero.mean(), zero.std(ddof=1)), (one.mean(), one.std(ddof=1))
    accused0 = decide(zero, *left0, *all1, levels)
    accused1 = decide(one, *all0, *left1, levels)
    return _counted(accused0, accused1)


def _counted(accused0: npt.NDArray[np.bool_], accused1: npt.NDArray[np.bool_]) -> Array:
    """X, N0, Y, N1 from decisions, one row per target error."""
    count = accused0.shape[1]
    return np.column_stack(
        [
            accused0.sum(axis=0),
            np.full(count, accused0.shape[0]),
            (~accused1).sum(axis=0),
            np.full(count, accused1.shape[0]),
        ]
    ).astype(float)


def independent(
    losses: npt.ArrayLike,
    shadows0: npt.ArrayLike,
    shadows1: npt.ArrayLike,
    levels: npt.ArrayLike,
    *,
    calibration: str = NORMAL,
) -> npt.NDArray[np.bool_]:
    """Algorithm 2 for each loss, against shadow models of its own (one row of each per loss)."""
    check_calibration(calibration)
    zero, one = np.asarray(shadows0, dtype=float), np.asarray(shadows1, dtype=float)
    require(
        zero.ndim == 2 and one.ndim == 2 and zero.shape[1] >= 2 and one.shape[1] >= 2,
        "Each decision needs at least two shadow models per side.",
    )
    if calibration == RANKS:
        share = rank_share(np.asarray(losses, dtype=float), zero, one)
        # Rounding must not lose a rank that is the target itself, nor let a larger one through.
        return np.asarray(share[:, None] <= np.asarray(levels, dtype=float) * (1.0 + 1e-12))
    return decide(
        losses,
        zero.mean(axis=1),
        zero.std(axis=1, ddof=1),
        one.mean(axis=1),
        one.std(axis=1, ddof=1),
        levels,
    )


def rank_share(losses: Array, shadows0: Array, shadows1: Array) -> Array:
    """Which share of H0, the loss under test among it, has a likelihood ratio at least as large.

    A conformal p-value: the normal of H0 is fitted to its shadow models and the loss together, so
    that under H0 the loss has no place of its own. Ties count against it.
    """
    null = np.column_stack([losses, shadows0])
    fits = [(v.mean(axis=1)[:, None], v.std(axis=1, ddof=1)[:, None]) for v in (null, shadows1)]
    ratio = log_ratio(null, *fits[0], *fits[1])
    return np.asarray((ratio >= ratio[:, :1]).mean(axis=1))


def log_ratio(
    x: npt.ArrayLike,
    mean0: npt.ArrayLike,
    sd0: npt.ArrayLike,
    mean1: npt.ArrayLike,
    sd1: npt.ArrayLike,
) -> Array:
    """``log N(x; mean1, sd1) - log N(x; mean0, sd0)``: what the test above thresholds."""
    s0, s1 = np.maximum(sd0, _LEAST), np.maximum(sd1, _LEAST)
    z0, z1 = (np.asarray(x) - mean0) / s0, (np.asarray(x) - mean1) / s1
    return np.asarray(0.5 * (z0**2 - z1**2) + np.log(s0) - np.log(s1))


def moments(
    values: Array, chosen: npt.NDArray[np.bool_], *, per_record: bool
) -> tuple[Array, Array]:
    """Mean and standard deviation of the chosen values of every row.

    Without ``per_record`` every row has the same deviation, that of all chosen values about the
    means of their rows.
    """
    count = chosen.sum(axis=1)
    require(bool((count > 0).all()), "Every record needs a shadow model on this side.")
    mean = np.where(chosen, values, 0.0).sum(axis=1) / count
    squares = np.where(chosen, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    free = count - 1 if per_record else np.full(count.size, (count - 1).sum())
    require(
        bool((free > 0).all()),
        "A standard deviation needs at least two shadow models on this side of "
        + ("every record." if per_record else "some record."),
    )
    total = squares if per_record else np.full(count.size, squares.sum())
    return mean, np.sqrt(total / free)
