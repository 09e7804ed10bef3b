"""Was this record behind a released mean? Scalar products and likelihood ratios, calibrated.

``scalar_product`` is Dwork et al. (2015) and needs no covariance; ``likelihood_ratio`` is equation
10 of 004 with the covariance centred, the noise in it, and the mixture of a sub-sampled mean. With
estimated means and covariances the theoretical thresholds are badly off (false positives of up to
48% at a nominal 5%), so ``attack_mean`` fits on one part of the reference records and takes its
thresholds from the others, which are known to be outside: an exact rank test for a record drawn
like them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require, require_probability
from divulge.exposure.covariance import LEDOIT_WOLF, Covariance, estimate_covariance
from divulge.exposure.exposed import Release
from divulge.types import Array

LIKELIHOOD_RATIO = "likelihood-ratio"
SCALAR_PRODUCT = "scalar-product"
KINDS = (LIKELIHOOD_RATIO, SCALAR_PRODUCT)


def scalar_product(
    released: npt.ArrayLike, targets: npt.ArrayLike, reference: npt.ArrayLike
) -> Array:
    """``(z - r)' (o - r)``: larger speaks for membership. Several rows of r stand for their mean.

    Dwork et al. use one reference record, and the mean ``o`` itself in place of ``o - r``; for a
    record fixed beforehand the difference is a constant.
    """
    centre = np.atleast_2d(np.asarray(reference, dtype=float)).mean(axis=0)
    shift = np.asarray(released, dtype=float) - centre
    return np.asarray((np.asarray(targets, dtype=float) - centre) @ shift)


def likelihood_ratio(
    released: npt.ArrayLike, targets: npt.ArrayLike, covariance: Covariance, release: Release
) -> Array:
    """Log of the ratio of "record in" to "record out", for a target or for every row.

    ``(z - mu)' C^-1 (o - mu) - |z - mu|^2 / (2 k)`` with the noise in C and k records behind the
    mean; for a sub-sampled mean ``log(1 - rate + rate e^v)`` of that.
    """
    model = release.covariance(covariance)
    z = np.asarray(targets, dtype=float)
    shift = model.inner(z - model.mean, np.asarray(released, dtype=float) - model.mean)
    value = np.asarray(shift - model.mahalanobis(z) / (2.0 * release.behind))
    if release.rate == 1.0:
        return value
    return np.asarray(np.logaddexp(math.log1p(-release.rate), math.log(release.rate) + value))


def standardised(
    released: npt.ArrayLike, targets: npt.ArrayLike, covariance: Covariance, release: Release
) -> Array:
    """``sqrt(k) (z - mu)' C^-1 (o - mu) / |z - mu|``: standard normal outside, for every record.

    Orders the outcomes of one record as its likelihood ratio does, sub-sampled or not, and makes
    records comparable with each other.
    """
    model = release.covariance(covariance)
    z = np.asarray(targets, dtype=float)
    shift = model.inner(z - model.mean, np.asarray(released, dtype=float) - model.mean)
    length = np.sqrt(model.mahalanobis(z) / release.behind)
    return np.asarray(np.divide(shift, length, out=np.zeros_like(shift), where=length > 0.0))


@dataclass(frozen=True)
class MeanAttack:
    """Scores of the targets and of reference records that are known to be outside."""

    score: Array = field(repr=False)
    """Larger speaks for membership; comparable between records."""
    outside: Array = field(repr=False)
    """The same score of the held-out reference records, sorted."""
    kind: str
    fitted: int
    """Reference records behind mean and covariance."""

    @property
    def p_value(self) -> Array:
        """Rank among the held-out records: valid for a target drawn like them."""
        beyond = self.outside.size - np.searchsorted(self.outside, self.score, side="left")
        return np.asarray((1.0 + beyond) / (1.0 + self.outside.size))

    def guesses(self, fpr: float) -> npt.NDArray[np.bool_]:
        """Who is taken for a member at this false-positive rate."""
        require_probability("fpr", fpr)
        least = math.ceil(1.0 / fpr - 1.0 - 1e-9)
        require(
            self.outside.size >= least,
            f"A false-positive rate of {fpr:g} needs at least {least} held-out reference records. "
            f"Found {self.outside.size}.",
        )
        return np.asarray(self.p_value <= fpr + 1e-12)


def attack_mean(
    released: npt.ArrayLike,
    targets: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    size: int,
    noise: float = 0.0,
    rate: float = 1.0,
    kind: str = LIKELIHOOD_RATIO,
    covariance: str = LEDOIT_WOLF,
    heldout: float = 0.5,
    names: Sequence[str] | None = None,
    rng: int | np.random.Generator = 0,
) -> MeanAttack:
    """Score targets against a released mean; thresholds from held-out reference records.

    ``heldout`` is the share of the reference records that calibrate, drawn by ``rng``; the others
    give mean and covariance. ``size`` is the number of records in the table behind the mean,
    ``noise`` the standard deviation of the noise on it, ``rate`` the share that was sampled.
    """
    require(kind in KINDS, f"Unknown attack {kind!r}. Choose from {', '.join(KINDS)}.")
    require_probability("heldout", heldout)
    release = Release(size, noise, rate)
    rows = np.asarray(reference, dtype=float)
    z = np.atleast_2d(np.asarray(targets, dtype=float))
    o = np.asarray(released, dtype=float)
    require(rows.ndim == 2, "The reference records must form a 2-d array.")
    for name, found in (("targets", z.shape[1]), ("released mean", o.size)):
        if found != rows.shape[1]:
            raise InputError(
                f"The {name} must have the {rows.shape[1]} columns of the reference. Found {found}."
            )
    apart = round(heldout * rows.shape[0])
    require(
        0 < apart < rows.shape[0],
        f"{rows.shape[0]} reference records cannot be split with a share of {heldout:g}.",
    )
    order = np.random.default_rng(rng).permutation(rows.shape[0])
    outside, fitting = rows[order[:apart]], rows[order[apart:]]
    if kind == SCALAR_PRODUCT:
        centre = fitting.mean(axis=0)
        score, null = (_cosine(v, o, centre) for v in (z, outside))
    else:
        model = estimate_covariance(fitting, covariance, names)
        score, null = (standardised(o, v, model, release) for v in (z, outside))
    return MeanAttack(score, np.sort(null), kind, int(fitting.shape[0]))


def _cosine(targets: Array, released: Array, centre: Array) -> Array:
    """The scalar product over the target's length, so that records are comparable."""
    length = np.linalg.norm(targets - centre, axis=1)
    product = scalar_product(released, targets, centre)
    return np.asarray(np.divide(product, length, out=np.zeros_like(product), where=length > 0.0))
