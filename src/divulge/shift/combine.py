"""Several scores made one, learned on trials that are never counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from divulge.bounds import learners

Array = npt.NDArray[np.float64]


def one_score(
    scores: Array, truth: Array, learned: npt.NDArray[np.intp], rng: np.random.Generator
) -> Array:
    """The score itself, or the evidence of a boosted combination of several.

    On the learned trials the combination is predicted out of fold (two halves), elsewhere by the
    mean of both fits: it depends on the counted trials' scores, never on their truths.
    """
    if scores.shape[1] == 1:
        return np.asarray(scores[:, 0], dtype=float)
    shuffled = rng.permutation(learned)
    halves = np.array_split(shuffled, 2)
    out = np.zeros(truth.size)
    seen = np.zeros(truth.size, dtype=bool)
    seen[learned] = True
    for fit_on, predict_on in (halves, halves[::-1]):
        blank = np.zeros(fit_on.size)
        members = [
            fit(scores[fit_on], truth[fit_on], blank)
            for fit in (learners.boosting, learners.logistic)
        ]
        for predict in members:
            out[predict_on] += predict(scores[predict_on]) / len(members)
            out[~seen] += predict(scores[~seen]) / (2.0 * len(members))
    return out
