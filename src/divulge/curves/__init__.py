"""What a privacy guarantee is: trade-off curves and their conversions."""

from divulge.curves.families import (
    ApproximateDP,
    Curve,
    Gaussian,
    Laplace,
    SubsampledGaussian,
    WithFailure,
    epsilon_from_mu,
    gaussian_delta,
    mu_from_epsilon,
    mu_from_pure_epsilon,
)
from divulge.curves.piecewise import PiecewiseLinear, from_privacy_loss, from_roc, from_scores

__all__ = [
    "ApproximateDP",
    "Curve",
    "Gaussian",
    "Laplace",
    "PiecewiseLinear",
    "SubsampledGaussian",
    "WithFailure",
    "epsilon_from_mu",
    "from_privacy_loss",
    "from_roc",
    "from_scores",
    "gaussian_delta",
    "mu_from_epsilon",
    "mu_from_pure_epsilon",
]
