"""Leakage of one record through a mean, played: does the statistic fall as the formulas say?

A record is in the table or not, the mean of the table (or of a sample of it, with noise or not) is
released, and the likelihood ratio is mapped to the false-positive rate at which it would accuse.
Without the record that rate is uniform; with it ``1 - power`` of it is. As for the posterior
(``posteriors.py``) three parts of [0, 1] must not be hit more often than their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from divulge.attacks.means import likelihood_ratio
from divulge.crosschecks.per_datum import Mean, Normal, round_of_target
from divulge.exposure import exposed
from divulge.exposure.covariance import DIAGONAL, Covariance
from divulge.selftest.case import Case
from divulge.selftest.posteriors import PARTS, inside_part

SPREAD = np.linspace(0.5, 2.0, 8)
SIZE = 60
SHARE = 5.0


@dataclass(frozen=True)
class Round:
    """One release, and where the likelihood ratio of a fixed record falls."""

    noise: float
    rate: float
    inside: bool
    part: str

    def rank(self, rng: np.random.Generator) -> float:
        """The predicted probability of a smaller statistic."""
        nothing = np.zeros(SPREAD.size)
        population = Normal(nothing, np.diag(SPREAD))
        target = np.full(SPREAD.size, 4.0)
        released, _ = round_of_target(
            Mean(self.noise, self.rate), population, SIZE, target, rng, inside=self.inside
        )
        release = exposed.Release(SIZE, self.noise, self.rate)
        covariance = Covariance(nothing, SPREAD**2, kind=DIAGONAL, references=0)
        m = float(exposed.leakage_scores(target, covariance, release))
        sampled = float(exposed.strength(m, self.rate))
        value = float(likelihood_ratio(released, target, covariance, release))
        if self.rate < 1.0:  # back from the mixture to the ratio of the two bell curves
            value = np.log((np.exp(value) - (1.0 - self.rate)) / self.rate)
        deviate = (value + sampled**2 / 2.0) / sampled
        false_positives = float(ndtr(-deviate))
        if not self.inside:
            return 1.0 - false_positives
        return 1.0 - float(exposed.power(m, false_positives, self.rate))

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        return inside_part(self.rank(rng), self.part, error)


def cases() -> Iterator[Case]:
    """Whole, noisy and sub-sampled means, with the record and without."""
    for noise, rate in ((0.0, 1.0), (0.3, 1.0), (0.0, 0.5)):
        for inside in (False, True):
            for part in PARTS:
                kind = "whole mean" if rate == 1.0 else f"mean of {rate:.0%}"
                noisy = f", noise {noise:g}" if noise else ""
                yield Case(
                    bound=f"leakage, rank in the {part}",
                    parameter="rank",
                    delta=None,
                    mechanism=f"{kind}{noisy}, record {'in' if inside else 'out'}",
                    setting=f"n={SIZE}, {SPREAD.size} columns",
                    play=Round(noise, rate, inside, part),
                    truth=0.0,
                    quick=True,
                    share=SHARE,
                )
