"""Several scores made one, learned on trials that are never counted.

An attack may also look at the records' features: what a score means can depend on the record. Since
the combination is trained on membership it also learns the shift; the prognostic score, the prior
log-odds and balancing take that out again like any other dependence on x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds import learning
from divulge.types import Array, Floats


def one_score(
    scores: Floats,
    truth: npt.NDArray[Any],
    learned: npt.NDArray[np.integer[Any]],
    rng: np.random.Generator,
    features: Array | None = None,
) -> Floats:
    """The score itself, or the evidence of a boosted combination of several (and of features).

    On the learned trials the combination is predicted out of fold (two halves), elsewhere by the
    mean of both fits: it depends on the counted trials' scores, never on their truths. Boosting and
    logistic regression are weighed by the likelihood of their out-of-fold predictions.
    """
    if features is not None:
        scores = np.column_stack([scores, features])
    if scores.shape[1] == 1:
        return scores[:, 0]
    columns = scores.astype(float)
    halves = np.array_split(rng.permutation(learned), 2)
    seen = np.zeros(truth.size, dtype=bool)
    seen[learned] = True
    fits = (learning.boosting, learning.logistic)
    evidence = np.zeros((len(fits), truth.size))
    for fit_on, predict_on in (halves, halves[::-1]):
        blank = np.zeros(fit_on.size)
        for k, fit in enumerate(fits):
            predict = fit(columns[fit_on], truth[fit_on], blank)
            evidence[k, predict_on] = predict(columns[predict_on])
            evidence[k, ~seen] += 0.5 * predict(columns[~seen])
    margin = truth[learned] * evidence[:, learned]
    likelihood = -np.logaddexp(0.0, -margin).sum(axis=1)
    return learning.mixed(evidence, np.zeros(truth.size), likelihood)
