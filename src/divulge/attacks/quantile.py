"""Quantile regression (Bertran et al., 2023): what is usual for such a record?

No shadow models. On a population that the target never saw, its signal (the logit of the true
label, or minus the loss) is regressed on the record's features and label, as a normal with mean and
deviation: the score is the signal in these standard units, whose normal quantile level orders
records alike. Both are fitted by boosted trees, the deviation to residuals of folds left out. Needs
the features of records and population. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed
from divulge.attacks.logit_gap import signal
from divulge.errors import require
from divulge.types import Array
from divulge.work.threads import Sized, sized

FEWEST = 50
"""Records of the population below which nothing is fitted."""
FOLDS = 3
_LEAST = 1e-6


def standard_scores(
    own: Array, features: Array, population: Array, population_features: Array
) -> Array:
    """Signals in standard units of the population's, given the features."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    require(
        population.size >= FEWEST,
        f"Quantile regression needs at least {FEWEST} population records. Found {population.size}.",
    )
    require(
        features.shape[1] == population_features.shape[1],
        f"Records have {features.shape[1]} features, the population "
        f"{population_features.shape[1]}.",
    )
    learner = HistGradientBoostingRegressor(max_iter=100, early_stopping=False, random_state=0)
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    with sized(population.size):
        usual = cross_val_predict(learner, population_features, population, cv=folds)
    mean = Sized(learner).fit(population_features, population).predict(features)
    gamma = HistGradientBoostingRegressor(
        loss="gamma", max_iter=50, early_stopping=False, random_state=0
    )
    spread = Sized(gamma).fit(population_features, np.abs(population - usual) + _LEAST)
    return np.asarray((own - mean) / spread.predict(features))


def _columns(observed: Observed) -> Array:
    assert observed.features is not None
    parts = [np.asarray(observed.features, dtype=float)]
    if observed.labels is not None:
        parts.append(observed.labels[:, None].astype(float))
    return np.column_stack(parts)


def _score(observed: Observed) -> Array:
    others = observed.population
    assert others is not None
    require(
        others.has("features") and others.has("losses"),
        "Quantile regression needs the features of the population and the target's answers to it.",
    )
    return standard_scores(
        signal(observed.target, observed.labels),
        _columns(observed),
        signal(others.target, others.labels),
        _columns(others),
    )


ATTACK = Attack(
    name="quantile",
    title="signal against what is usual for the features",
    paper="Bertran et al. 2023, Gaussian form",
    lower_is_member=False,
    needs=("losses", "features", "population"),
    score=_score,
)
