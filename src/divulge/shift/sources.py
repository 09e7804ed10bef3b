"""Who fits the log-odds, and on which records: the four sources share everything else.

The revealed trials teach the propensity stack (the default) or one simple learner, held-out records
teach either of them, or nobody is taught because the log-odds are given. Prognosis, trim, blind
baseline and allowance are the same for all (``robust.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from divulge.shift import propensity
from divulge.shift.design import Rows
from divulge.shift.linear import log_losses
from divulge.shift.prognostic import Prognostic
from divulge.shift.stack import Propensity, fit_propensity
from divulge.types import Array, Index

_FEWEST = 8


class Fit(Protocol):
    """Cross-fit on ``fit_on``, predict ``predict_on``; no other truth is touched."""

    def __call__(
        self,
        truth: Array,
        records: Rows,
        prognostic: Prognostic,
        fit_on: Index,
        predict_on: Index,
        *,
        coin: float,
        rng: np.random.Generator,
    ) -> Propensity: ...


@dataclass(frozen=True)
class SimpleLearner:
    """One calibrated learner of the features, as published."""

    learner: str
    calibration: str = "platt"

    def __call__(
        self,
        truth: Array,
        records: Rows,
        prognostic: Prognostic,
        fit_on: Index,
        predict_on: Index,
        *,
        coin: float,
        rng: np.random.Generator,
    ) -> Propensity:
        """Out of fold on ``fit_on``; a constant where there are too few of one kind."""
        member = truth[fit_on] > 0.0
        if min(member.sum(), (~member).sum()) < _FEWEST:
            fitted, predicted = np.full(fit_on.size, coin), np.full(predict_on.size, coin)
        else:
            both = np.concatenate([fit_on, predict_on])
            out, _ = propensity.split_fit(
                records.features[both],
                truth[both],
                np.arange(both.size),
                fit_on.size,
                learner=self.learner,
                calibration=self.calibration,
                rng=rng,
            )
            fitted, predicted = out[: fit_on.size], out[fit_on.size :]
        return _judged(fitted, predicted, member.astype(float))


@dataclass(frozen=True)
class PropensitySource:
    """The revealed trials teach ``fit``, unless other records do or the log-odds are given."""

    fit: Fit = fit_propensity
    heldout: Index | None = field(default=None, repr=False)
    """Rows beyond the trials: they alone teach."""
    given: Array | None = field(default=None, repr=False)
    """Log-odds per trial that nobody is taught."""

    @property
    def refit(self) -> Fit | None:
        """What would be fitted anew in another world."""
        return self.fit if self.given is None else None

    @property
    def taught(self) -> int | None:
        """How many records teach, where these are not trials."""
        return None if self.heldout is None else int(self.heldout.size)

    def elsewhere(
        self,
        truth: Array,
        records: Rows,
        prognostic: Prognostic,
        trials: Index,
        *,
        coin: float,
        rng: np.random.Generator,
    ) -> Propensity | None:
        """Log-odds of all trials that none of their truths has touched; None if trials teach.

        The share of members among the held-out records is exchanged for the coin's.
        """
        if self.given is not None:
            return _judged(self.given, self.given, (truth[trials] > 0.0).astype(float))
        if self.heldout is None:
            return None
        moved = propensity.recentred(truth[self.heldout], coin)
        found = self.fit(
            truth, records, prognostic, self.heldout, trials, coin=coin - moved, rng=rng
        )
        return replace(found, fitted=found.fitted + moved, predicted=found.predicted + moved)


FROM_TRIALS = PropensitySource()


def _judged(fitted: Array, predicted: Array, outcome: Array) -> Propensity:
    """With the log-loss on the records that taught; there is no linear learner to compare with."""
    share = (outcome.sum() + 0.5) / (outcome.size + 1.0)
    constant = np.full(outcome.size, math.log(share / (1.0 - share)))
    return Propensity(
        fitted,
        predicted,
        float(log_losses(fitted, outcome).mean()),
        math.nan,
        float(log_losses(constant, outcome).mean()),
    )
