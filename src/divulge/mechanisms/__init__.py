"""What has a known answer? Mechanisms with their exact curve and a sampler of trials."""

from divulge.mechanisms.base import Mechanism, draw_truths
from divulge.mechanisms.dpsgd import DPSGD
from divulge.mechanisms.known_closeness import KnownGenerator, ShownRecords
from divulge.mechanisms.noisy_sum import NoisySum
from divulge.mechanisms.rare import RareDisclosure
from divulge.mechanisms.scalar import (
    GaussianMechanism,
    LaplaceMechanism,
    MixedExposure,
    Null,
    ProxyError,
    RandomisedResponse,
    SubsampledGaussianMechanism,
    Tied,
)
from divulge.mechanisms.shifted import Shifted, ShiftedTable
from divulge.mechanisms.tight import Disclosing

__all__ = [
    "DPSGD",
    "Disclosing",
    "GaussianMechanism",
    "KnownGenerator",
    "LaplaceMechanism",
    "Mechanism",
    "MixedExposure",
    "NoisySum",
    "Null",
    "ProxyError",
    "RandomisedResponse",
    "RareDisclosure",
    "Shifted",
    "ShiftedTable",
    "ShownRecords",
    "SubsampledGaussianMechanism",
    "Tied",
    "draw_truths",
]
