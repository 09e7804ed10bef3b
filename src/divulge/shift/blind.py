"""The blind baseline: can a classifier that sees x, but not the score, beat the propensities?

If it can, the claimed log-odds are not all that the record gives away. Three learners of the
residual membership (boosting, nearest neighbours, logistic on columns and squares) are cross-fitted
on the revealed trials, scaled there out of fold, and bet against the log-odds of the next ones.
What the bet proves is residual shift, ``c_lb``, which no audit may call a leak.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from divulge.bounds import betting
from divulge.shift.boosted import boosted_regressor
from divulge.shift.design import FIT_ROWS, Rows, at_most, encode_bins, quantile_edges
from divulge.shift.linear import logistic_ridge
from divulge.shift.prognostic import Prognostic
from divulge.types import Array, Index

LEARNERS = ("boosting", "neighbours", "logistic")
MOST_BETS = 20_000
_FEWEST = 100
_NEIGHBOURS = 60
_REFERENCES = 5000
_LARGEST_EVIDENCE = 5.0
_ROUNDS = 30
_SCALED = 5000
"""Revealed trials per half on which a learner's evidence is scaled, at most."""


def blind_evidence(
    truth: Array,
    records: Rows,
    prognostic: Prognostic,
    revealed: Index,
    revealed_log_odds: Array,
    new: Index,
    new_log_odds: Array,
    *,
    trim: float,
    coin: float,
    rng: np.random.Generator,
) -> Array | None:
    """What each learner adds to the log-odds of the new trials: one row per learner.

    Only revealed truths are used, and only trials inside the trim; the others get no evidence. None
    if there is too little inside to learn from, or nothing to bet on: that is not silence.
    """
    evidence = np.zeros((len(LEARNERS), new.size))
    inside = at_most(np.flatnonzero(np.abs(revealed_log_odds - coin) <= trim), FIT_ROWS, rng)
    asked = np.flatnonzero(np.abs(new_log_odds - coin) <= trim)[:MOST_BETS]
    if inside.size < _FEWEST or asked.size == 0:
        return None
    inside = rng.permutation(inside)
    fit_on, offset = revealed[inside], revealed_log_odds[inside]
    outcome = (truth[fit_on] > 0.0).astype(float)
    rows = np.concatenate([fit_on, new[asked]])
    log_odds = np.concatenate([offset, new_log_odds[asked]])
    known = fit_on.size
    half = known // 2
    halves = (np.arange(half), np.arange(half, known))
    checked = np.concatenate([part[:_SCALED] for part in halves])
    learners = (
        _boosting(records, prognostic, rows, log_odds),
        _neighbours(records, prognostic, rows),
        _logistic(records, prognostic, rows, log_odds),
    )
    for k, learner in enumerate(learners):
        guess = np.zeros(rows.size)
        for train, out in (halves, halves[::-1]):
            predict = learner(train, outcome[train], offset[train])
            guess[out[:_SCALED]] = predict(out[:_SCALED])
            guess[known:] += 0.5 * predict(np.arange(known, rows.size))
        scaling = logistic_ridge(
            guess[checked, None], outcome[checked], offset=offset[checked], penalty=5.0
        )
        if float(scaling.slopes[0]) > 0.0:
            evidence[k, asked] = np.clip(
                scaling(guess[known:, None]), -_LARGEST_EVIDENCE, _LARGEST_EVIDENCE
            )
    return evidence


def proved_shift(evidence: Array, truth: Array, log_odds: Array, error: float) -> float:
    """The residual shift that the blind bets prove: wealths of the learners are averaged."""
    if truth.size == 0:
        return 0.0
    return betting.bet_given(expit(log_odds + evidence), truth, log_odds, error=error).epsilon


_Predict = Callable[[Index], Array]
_Learner = Callable[[Index, Array, Array], _Predict]
"""``learner(train, outcome, offset)`` returns ``predict(out)``; both index the same rows."""


def _boosting(records: Rows, prognostic: Prognostic, rows: Index, log_odds: Array) -> _Learner:
    more = np.column_stack([prognostic.mean[rows], log_odds])
    bins = np.concatenate([records.bins[rows], encode_bins(more, quantile_edges(more))], axis=1)

    def learn(train: Index, outcome: Array, offset: Array) -> _Predict:
        model = boosted_regressor(bins[train], 4.0 * (outcome - expit(offset)), _ROUNDS)
        return lambda out: model.predict(bins[out])

    return learn


def _neighbours(records: Rows, prognostic: Prognostic, rows: Index) -> _Learner:
    """Mean surprise among the nearest revealed records, by the columns relevant to the score."""
    from sklearn.neighbors import NearestNeighbors

    weighted = records.clipped(rows) * np.maximum(prognostic.relevance, 0.1)

    def learn(train: Index, outcome: Array, offset: Array) -> _Predict:
        count = min(train.size, _REFERENCES)
        surprise = 4.0 * (outcome - expit(offset))[:count]
        near = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, max(count // 4, 1)))
        near.fit(weighted[train[:count]])

        def predict(out: Index) -> Array:
            nearest = near.kneighbors(weighted[out], return_distance=False)
            return np.asarray(surprise[nearest].mean(axis=1))

        return predict

    return learn


def _logistic(records: Rows, prognostic: Prognostic, rows: Index, log_odds: Array) -> _Learner:
    clipped = records.clipped(rows)
    squares = clipped[:, records.geometry.continuous] ** 2
    own = np.column_stack([prognostic.mean[rows], log_odds])
    columns = np.concatenate([clipped, squares, own, own**2], axis=1)

    def learn(train: Index, outcome: Array, offset: Array) -> _Predict:
        model = logistic_ridge(columns[train], outcome, offset=offset)
        return lambda out: model(columns[out])

    return learn
