"""How wrong the prior of a value is proved to be.

Learners that see the record and a value, but never the target, look for what the prior misses: they
learn to tell true values from values drawn from the prior. What their forecasts prove in direct
bets against the prior is a lower bound on its error, ``c_lb``: the log-odds of some value against
some other are off by at least that. If they are off by at most a, a bound on epsilon falls by a.

It is found from true values, some of them of audited records. It only lowers bounds, so it never
makes a claim false; nothing that is staked or guessed depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_softmax, logsumexp

from divulge.bounds import direct
from divulge.shift.boosted import boosted_regressor
from divulge.shift.design import encode_bins, quantile_edges
from divulge.shift.linear import logistic_ridge
from divulge.shift.value_trials import shuffled_trials
from divulge.types import Array, Index

_MOST_BETS = 200_000
_MOST_CELLS = 2_000_000
_FEWEST = 200
_LARGEST_EVIDENCE = 6.0
_SURE = 1e-4


@dataclass(frozen=True)
class Prior:
    """Log-probabilities of every value, what the record shows, and the least prior of a value."""

    log_value: Array = field(repr=False)
    shown: Array = field(repr=False)
    least: float

    def columns(self, rows: Index, value: Index) -> Array:
        """What a learner sees of a record with a value."""
        kind = np.equal.outer(value, np.arange(self.log_value.shape[1])).astype(float)
        return np.column_stack([self.log_value[rows, value], kind, self.shown[rows]])

    def within(self, rows: Index) -> Array:
        """The prior over the values that are probable enough, 0 for the others."""
        w = np.exp(self.log_value[rows])
        w = np.where(w >= self.least, w, 0.0)
        return np.asarray(w / np.maximum(w.sum(axis=1, keepdims=True), 1e-300))


def misfit(
    codes: Index,
    prior: Prior,
    head: Index,
    tail: Index,
    error: float,
    rng: np.random.Generator,
    *more: Array,
) -> float:
    """Learn on the head where the prior is wrong, and prove it on the tail: in log-odds, at least.

    (On two halves where they are the same records.) ``more`` are further opinions, learned on the
    head, by how much the prior is wrong; one entry per record and value.
    """
    if head is tail:
        mixed = rng.permutation(head)
        head, tail = mixed[: mixed.size // 2], mixed[mixed.size // 2 :]
    most = min(_MOST_BETS, max(_FEWEST, _MOST_CELLS // prior.log_value.shape[1]))
    head, tail = (_staked(codes, prior, rng.permutation(rows)[:most]) for rows in (head, tail))
    if head.size < _FEWEST or tail.size < _FEWEST:
        return 0.0
    learned = _surprise(codes, prior, head, rng)
    w = prior.within(tail)
    log_w = np.log(np.where(w > 0.0, w, 1.0)) + np.where(w > 0.0, 0.0, -np.inf)
    logs = np.stack(
        [log_softmax(log_w + found, axis=1) for found in (*learned(tail), *(m[tail] for m in more))]
    )
    own = np.take_along_axis(logs, codes[None, tail, None], axis=2)[:, :, 0]
    merit = np.cumsum(own, axis=1) - own  # of the rows above, by which the forecasts are mixed
    mixture = merit - logsumexp(merit, axis=0)
    q = np.exp(logsumexp(mixture[:, :, None] + logs, axis=0))
    q = (1.0 - _SURE) * q / q.sum(axis=1, keepdims=True) + _SURE * w
    return direct.bet_values(q, w, codes[tail], error=error).epsilon


def _staked(codes: Index, prior: Prior, rows: Index) -> Index:
    """The records whose value is probable enough, and not the only one."""
    w = prior.within(rows)
    own = np.take_along_axis(w, codes[rows, None], axis=1)[:, 0]
    return np.asarray(rows[(own > 0.0) & ((w > 0.0).sum(axis=1) >= 2)])


def _surprise(
    codes: Index, prior: Prior, rows: Index, rng: np.random.Generator
) -> Callable[[Index], list[Array]]:
    """Evidence of two blind learners, scaled on the half they were not fitted on.

    Each record is shown twice, with its own value and with one drawn from the prior.
    """
    place, value, truth = shuffled_trials(
        codes[rows], prior.within(rows), np.arange(rows.size), rng
    )
    known = prior.columns(rows[place], value)
    half = len(known) // 2
    centre, scale = known.mean(axis=0), np.maximum(known.std(axis=0), 1e-9)
    edges = quantile_edges(known[:half])
    boosted = boosted_regressor(encode_bins(known[:half], edges), 2.0 * truth[:half], rounds=80)
    linear = logistic_ridge((known[:half] - centre) / scale, (truth[:half] > 0.0).astype(float))
    learners: tuple[Callable[[Array], Array], ...] = (
        lambda x: boosted.predict(encode_bins(x, edges)),
        lambda x: linear((x - centre) / scale),
    )
    outcome = (truth[half:] > 0.0).astype(float)
    scalings = [
        logistic_ridge(learner(known[half:])[:, None], outcome, penalty=5.0) for learner in learners
    ]

    def evidence(asked: Index) -> list[Array]:
        values = prior.log_value.shape[1]
        out = [np.zeros((asked.size, values)) for _ in learners]
        for j in range(values):
            seen = prior.columns(asked, np.full(asked.size, j))
            for own, learner, scaling in zip(out, learners, scalings, strict=True):
                if float(scaling.slopes[0]) > 0.0:
                    found = scaling(learner(seen)[:, None])
                    own[:, j] = np.clip(found, -_LARGEST_EVIDENCE, _LARGEST_EVIDENCE)
        return out

    return evidence
