"""How wrong the prior of a value is proved to be.

Learners that see the record and the value shown, but never the target, look for what the prior log-
odds miss. What they prove in bets is a lower bound on the error, ``c_lb``. If the prior log-odds
are wrong by at most a, a bound on epsilon falls by a.

It is found from true values, some of them of audited records. It only lowers bounds, so it never
makes a claim false; nothing that is staked or guessed depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from divulge.bounds import betting
from divulge.shift.linear import logistic_ridge
from divulge.shift.prognostic import boosted_regressor
from divulge.shift.value_trials import flipped_trials, shuffled_trials
from divulge.types import Array, Index

_MOST_BETS = 200_000
_FEWEST = 200
_LARGEST_EVIDENCE = 6.0


@dataclass(frozen=True)
class Prior:
    """The prior of a value, one entry per record and value, and what the record shows."""

    proxy: Array = field(repr=False)
    log_proxy: Array = field(repr=False)
    log_odds: Array = field(repr=False)
    shown: Array = field(repr=False)
    trim: float

    def columns(self, rows: Index, value: Index) -> Array:
        """What a learner sees of a trial."""
        own = np.column_stack([self.log_proxy[rows, value], self.log_odds[rows, value]])
        kind = np.equal.outer(value, np.arange(self.log_proxy.shape[1])).astype(float)
        return np.column_stack([own, kind, self.shown[rows]])


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
    rows, value, truth = shuffled_trials(codes, prior.proxy, head, rng)
    new_rows, new_value, new_truth = flipped_trials(codes, prior.proxy, tail, rng, _MOST_BETS)
    offset, new_offset = prior.log_odds[rows, value], prior.log_odds[new_rows, new_value]
    old, new = np.abs(offset) <= prior.trim, np.abs(new_offset) <= prior.trim
    if old.sum() < _FEWEST or new.sum() < _FEWEST:
        return 0.0
    learned = _surprise(prior.columns(rows[old], value[old]), truth[old], offset[old])

    def evidence(rows: Index, value: Index) -> Array:
        return np.vstack([learned(prior.columns(rows, value)), *(m[rows, value] for m in more)])

    bets = expit(new_offset[new] + evidence(new_rows[new], new_value[new]))
    return betting.bet_given(bets, new_truth[new], new_offset[new], error=error).epsilon


def _surprise(known: Array, truth: Array, prior: Array) -> Callable[[Array], Array]:
    """Evidence of two blind learners, scaled on the half they were not fitted on; one row each."""
    half = len(known) // 2
    target = 4.0 * ((truth > 0.0) - expit(prior))
    centre, scale = known.mean(axis=0), np.maximum(known.std(axis=0), 1e-9)
    boosted = boosted_regressor(known[:half], target[:half], 5, rounds=80)
    linear = logistic_ridge(
        (known[:half] - centre) / scale, (truth[:half] > 0.0).astype(float), offset=prior[:half]
    )
    learners: tuple[Callable[[Array], Array], ...] = (
        lambda x: np.asarray(boosted.predict(x), dtype=float),
        lambda x: linear((x - centre) / scale),
    )
    outcome = (truth[half:] > 0.0).astype(float)
    scalings = [
        logistic_ridge(learner(known[half:])[:, None], outcome, offset=prior[half:], penalty=5.0)
        for learner in learners
    ]

    def evidence(asked: Array) -> Array:
        out = np.zeros((len(learners), len(asked)))
        for own, learner, scaling in zip(out, learners, scalings, strict=True):
            if float(scaling.slopes[0]) > 0.0:
                found = scaling(learner(asked)[:, None])
                own[:] = np.clip(found, -_LARGEST_EVIDENCE, _LARGEST_EVIDENCE)
        return out

    return evidence
