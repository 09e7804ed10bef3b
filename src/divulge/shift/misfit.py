"""How wrong the prior of a value may be: what is proved of its error, and what is allowed for it.

Learners that see the record and the value shown, but never the target, look for what the prior log-
odds miss. What they prove in bets is a lower bound on the error, ``c_lb``. An audit that deducts a
lower bound is left without one, so beside it stands an *allowance*: along a direction t, learned on
other records, the log-odds of a trial are ``l + g t``; g is estimated on the records that are
judged, and its upper confidence limit is what the prior may be wrong by. If the prior log-odds are
wrong by at most a, a bound on epsilon falls by a.

Both are found from true values, some of them of audited records. They only lower bounds, so they
never make a claim false; nothing that is staked or guessed depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from divulge.bounds import betting
from divulge.shift.linear import logistic_ridge
from divulge.shift.prognostic import boosted_regressor
from divulge.shift.value_trials import draw_values, flipped_trials, shuffled_trials
from divulge.types import Array, Index

UPPER = 1.645
"""Allowances are one-sided 95% limits."""
_MOST_BETS = 200_000
_FEWEST = 200
_LARGEST_EVIDENCE = 6.0
_STRONG = 0.75
"""Directions are scaled by this quantile of their size: g is the error where it is large."""
_SHARE_RECORDS = 50.0
"""Shares of values are shrunk by so many records, so that a rare value sets no direction."""
_NEWTON_STEPS = 25
_LARGEST_ERROR = 5.0


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


@dataclass(frozen=True)
class Misfit:
    """What is proved of the prior's error, and what it may be; in log-odds."""

    proved: float = 0.0
    allowance: float = 0.0


def misfit(
    codes: Index,
    prior: Prior,
    head: Index,
    tail: Index,
    error: float,
    rng: np.random.Generator,
    *more: Array,
) -> Misfit:
    """Learn on the head where the prior is wrong, and judge it on the tail.

    (On two halves where they are the same records.) ``more`` are further opinions, learned on the
    head, by how much the prior is wrong; one entry per record and value.
    """
    if head is tail:
        mixed = rng.permutation(head)
        head, tail = mixed[: mixed.size // 2], mixed[mixed.size // 2 :]
    rows, value, truth = shuffled_trials(codes, prior.proxy, head, rng)
    new_rows, new_value, new_truth = flipped_trials(codes, prior.proxy, tail, rng, _MOST_BETS)
    drawn = draw_values(prior.proxy[new_rows], rng)
    offset, new_offset = prior.log_odds[rows, value], prior.log_odds[new_rows, new_value]
    old, new = np.abs(offset) <= prior.trim, np.abs(new_offset) <= prior.trim
    if old.sum() < _FEWEST or new.sum() < _FEWEST:
        return Misfit()
    learned = _surprise(prior.columns(rows[old], value[old]), truth[old], offset[old])

    def evidence(rows: Index, value: Index) -> Array:
        return np.vstack([learned(prior.columns(rows, value)), *(m[rows, value] for m in more)])

    bets = expit(new_offset[new] + evidence(new_rows[new], new_value[new]))
    proved = betting.bet_given(bets, new_truth[new], new_offset[new], error=error).epsilon
    own = codes[new_rows]
    shares = _shares(codes, prior, head)
    along = zip(
        np.vstack([evidence(new_rows, own), shares[own]]),
        np.vstack([evidence(new_rows, drawn), shares[drawn]]),
        strict=True,
    )
    offsets = prior.log_odds[new_rows, own], prior.log_odds[new_rows, drawn]
    return Misfit(proved, max(upper_error(t, u, *offsets, prior.trim) for t, u in along))


def allowance_along(
    codes: Index, prior: Prior, rows: Index, direction: Array, rng: np.random.Generator
) -> float:
    """What the prior may be wrong by along a direction that was not learned on the record."""
    rows = rng.permutation(rows)[:_MOST_BETS]
    own, drawn = codes[rows], draw_values(prior.proxy[rows], rng)
    return upper_error(
        direction[rows, own],
        direction[rows, drawn],
        prior.log_odds[rows, own],
        prior.log_odds[rows, drawn],
        prior.trim,
    )


def upper_error(true: Array, drawn: Array, prior: Array, drawn_prior: Array, trim: float) -> float:
    """Upper limit of g where the log-odds are ``l + g t``; 0 where t says nothing.

    One entry per record: direction and prior of its own value, and of a drawn one. A record's own
    value and a drawn one are trials with a fair coin, so g solves the likelihood equation
    ``sum t (1 - p) over own values = sum t p over drawn ones``, ``p = sigma(l + g t)``; its
    standard error is that of independent records (sandwich).
    """
    t, u = (np.where(np.abs(p) <= trim, d, 0.0) for d, p in ((true, prior), (drawn, drawn_prior)))
    some = np.abs(np.concatenate([t, u]))
    some = some[some > 0.0]
    if some.size < _FEWEST:
        return 0.0
    scale = float(np.quantile(some, _STRONG))
    t, u = np.clip(t / scale, -1.0, 1.0), np.clip(u / scale, -1.0, 1.0)
    g = 0.0
    for _ in range(_NEWTON_STEPS):
        p, q = expit(prior + g * t), expit(drawn_prior + g * u)
        score = t * (1.0 - p) - u * q
        curvature = float((t * t * p * (1.0 - p) + u * u * q * (1.0 - q)).sum())
        step = float(score.sum()) / max(curvature, 1e-12)
        g = min(max(g + step, -_LARGEST_ERROR), _LARGEST_ERROR)
        if abs(step) < 1e-9:
            break
    spread = math.sqrt(float((score * score).sum())) / max(curvature, 1e-12)
    return max(0.0, g + UPPER * spread)


def _shares(codes: Index, prior: Prior, head: Index) -> Array:
    """How much more frequent each value is on the head than the prior says."""
    seen = np.bincount(codes[head], minlength=prior.log_proxy.shape[1])
    expected = np.exp(prior.log_odds[head] + prior.log_proxy[head]).sum(axis=0)
    return np.asarray(np.log((seen + _SHARE_RECORDS) / (expected + _SHARE_RECORDS)))


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
