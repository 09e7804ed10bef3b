"""What a record gives away about a value shown with it, without the target.

A trial shows a record with its true value or with one drawn from the proxy. Seeing the value y, the
prior log-odds that it is the true one are ``log D(y | x) - log D'(y | x)``, D the truth and D' the
proxy: 0 only if the proxy is right. Three sources: the proxy is vouched for; D is estimated from
the record alone (blind); or D is estimated on held-out records, which the target never saw, with
the target's own probabilities among the features, so that what the target knows of the population
is never mistaken for memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import norm

from divulge.shift import misfit, students
from divulge.types import Array, Index, Progress

EXACT = "the proxy is the distribution of the value given the record"
BLIND = (
    "what the target knows of the value beyond its student is memorised, except for what the "
    "student's learning curve allows for: the features carry what the target knows of the "
    "population in a form that the student learns, and the log-odds of the corrected proxy are "
    "right to within c_lb"
)
HELD_OUT = (
    "without their values the target would answer on the training records as it does on the "
    "held-out ones, or more confidently; and given what the record shows, the values of both "
    "have the same distribution, except for records on which the target answers as on records "
    "it never saw"
)
LEAST_EXPLAINED = 0.8
"""Blind claims need a student that explains at least this share of what its target says."""
MOST_SHIFTED = 0.2
"""Held-out records whose values are proved to be further off, in log-odds, prove nothing."""
TRIM, FAR = 1.5, 4.0
LEARNED_SHARE, VOUCHED_SHARE, HELD_OUT_SHARE = 0.5, 0.1, 0.3
MOST_LEARNED = 100_000


@dataclass(frozen=True)
class Unlearned:
    """How much of a finding could be knowledge that the student did not learn.

    Knowledge of size v in log-odds, hidden in a residual of which it is a share ``share`` (by
    energy), makes evidence look larger by that share: regression of v on the residual. And a
    finding that is no larger than v itself could be v alone.
    """

    share: float = 0.0
    epsilon: float = 0.0
    """Size of the knowledge in log-odds: ``p (1 - p) d^2 / 2`` is the relative entropy of d."""
    mu: float = 0.0
    """Its size as a mu: log-odds of variance mu^2 carry ``mu^2 / 2``."""

    @classmethod
    def of(cls, student: students.Student) -> Unlearned:
        """From the learning curve of the student."""
        known = student.learnable
        share = min(1.0, known / max(student.left, 1e-12))
        return cls(
            share, math.sqrt(4.0 * known / max(student.unsure, 1e-6)), math.sqrt(2.0 * known)
        )

    def less(self, value: float, size: float) -> float:
        """The bound that stands."""
        return 0.0 if value <= size else value * (1.0 - self.share)


NOTHING = Unlearned()


@dataclass(frozen=True)
class Priors:
    """One entry per record and value. The head is learned from, the tail is audited."""

    log_proxy: Array = field(repr=False)
    proxy: Array = field(repr=False)
    """The probabilities that values are drawn with: not floored, as the logarithms are."""
    log_odds: Array = field(repr=False)
    """``log D - log D'``: out of fold on the head, fitted on other records for the tail."""
    expected: Array = field(repr=False)
    """Log-probabilities that the target was expected to give: the student's, or the proxy's."""
    head: Index = field(repr=False)
    tail: Index = field(repr=False)
    trim: float
    assumption: str
    c_lb: float = 0.0
    """What a blind baseline proves against the prior log-odds: deducted from epsilon."""
    shift: float = 0.0
    """What is proved of the difference between the values of training and held-out records."""
    explained: float = 1.0
    """Share of what the target says beyond a constant that its student explains."""
    other: Array | None = field(default=None, repr=False)
    """A second opinion on the log-odds: a bet must beat both."""
    beyond: Priors | None = field(default=None, repr=False)
    """The same of the held-out records, which follow the training records."""
    unlearned: Unlearned = NOTHING
    """What the student may have missed of the target's knowledge: deducted as well."""
    quality: Mapping[str, Any] = field(default_factory=dict)

    @property
    def followed(self) -> bool:
        """Whether the student explains its target well enough to tell memory from knowledge.

        A target whose student learns nothing, at n records as at n/2, is a flat learning curve and
        no evidence of memory: parity and fast waves are such targets.
        """
        return self.explained >= LEAST_EXPLAINED

    def proved_epsilon(self, epsilon: float) -> float:
        """What is left of a bound on epsilon."""
        return self.unlearned.less(max(0.0, epsilon - self.c_lb), self.unlearned.epsilon)

    def proved_mu(self, mu: float) -> float:
        """What is left of a bound on mu: ``sqrt(mu^2 - mu_c^2)``, as c composes as G_{mu_c}."""
        shift = 2.0 * float(norm.ppf(expit(self.c_lb)))
        left = math.sqrt(max(0.0, mu * mu - shift * shift))
        return self.unlearned.less(left, self.unlearned.mu)

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Where the prior is moderate; elsewhere nothing is guessed and nothing staked."""
        return np.asarray(np.abs(self.log_odds) <= self.trim)

    def settle(self, evidence: Array, log_odds: Array, other: Array | None) -> tuple[Array, Array]:
        """Evidence and prior with which to bet: 0 where the two opinions do not both allow it.

        For a value to be the true one the larger prior must be beaten, against it the smaller.
        """
        prior = log_odds
        if other is not None:
            larger, smaller = np.maximum(log_odds, other), np.minimum(log_odds, other)
            prior = np.where(evidence > 0.0, larger, np.where(evidence < 0.0, smaller, log_odds))
            left = log_odds + evidence - prior
            evidence = np.where(evidence > 0.0, np.maximum(left, 0.0), np.minimum(left, 0.0))
        return np.where(np.abs(prior) <= self.trim, evidence, 0.0), prior


def vouched(log_proxy: Array, proxy: Array, head: Index, tail: Index) -> Priors:
    """The user vouches for the proxy: nothing is given away by the record."""
    nothing = np.zeros_like(log_proxy)
    return Priors(log_proxy, proxy, nothing, log_proxy, head, tail, FAR, EXACT)


def blind(
    codes: Index,
    log_target: Array,
    log_proxy: Array,
    proxy: Array,
    features: Array,
    head: Index,
    tail: Index,
    *,
    error: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Priors:
    """Estimate D from the record alone, and what the target would say without memory."""
    advance = _counter(progress, 3)
    advance("student of the target")
    taught = students.fit_student(log_target, log_proxy, features, rng)
    student = taught.log_probabilities
    advance("corrected proxy")
    value, pool = students.fit_values(codes, log_proxy, features, head, tail, rng, student)
    log_odds = value - log_proxy
    advance("blind baseline")
    shown = students.record_features(log_proxy, features, student)
    prior = misfit.Prior(proxy, log_proxy, log_odds, shown, TRIM)
    c_lb = misfit.misfit(codes, prior, head, tail, error, rng)
    unlearned = Unlearned.of(taught)
    explained = _explained(log_target, student)
    quality = {
        "student_explained": explained,
        "student_unexplained": _unexplained(log_target, student, log_proxy),
        "student_learnable_share": unlearned.share,
        "student_unlearned_epsilon": unlearned.epsilon,
        "student_unlearned_mu": unlearned.mu,
        "pool_weights": dict(
            zip(("proxy", "linear", "boosted", "student"), pool.weights, strict=True)
        ),
    }
    return Priors(
        log_proxy=log_proxy,
        proxy=proxy,
        log_odds=log_odds,
        expected=student,
        head=head,
        tail=tail,
        trim=TRIM,
        assumption=BLIND,
        c_lb=c_lb,
        explained=explained,
        unlearned=unlearned,
        quality=quality,
    )


def held_out(
    codes: Index,
    log_target: Array,
    log_proxy: Array,
    proxy: Array,
    features: Array,
    head: Index,
    tail: Index,
    outside: Index,
    *,
    error: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Priors:
    """Estimate D on the rows ``outside``, which the target never saw, from all that it says.

    The target may speak of training records more surely than of others without having learned
    their values (it saw their x), so this prior alone may be wrong in either direction. A second
    one, without the target, bounds it from the other side: a bet must beat both.
    """
    advance = _counter(progress, 2)
    inside = np.concatenate([head, tail])
    advance("value on held-out records")
    value, pool = students.fit_values(codes, log_proxy, features, outside, inside, rng, log_target)
    alone, _ = students.fit_values(codes, log_proxy, features, outside, inside, rng)
    advance("blind baseline")
    shown = students.record_features(log_proxy, features)
    knowing = misfit.Prior(proxy, log_proxy, value - log_proxy, shown, FAR)
    unknowing = misfit.Prior(proxy, log_proxy, alone - log_proxy, shown, FAR)
    own = misfit.misfit(codes, knowing, outside, outside, error, rng)
    here, _ = students.fit_values(codes, alone, features, head, tail, rng)
    shift = misfit.misfit(codes, unknowing, head, tail, error, rng, here - alone)
    weights = dict(zip(("proxy", "linear", "boosted", "target"), pool.weights, strict=True))
    return Priors(
        log_proxy=log_proxy,
        proxy=proxy,
        log_odds=value - log_proxy,
        expected=log_proxy,
        head=head,
        tail=tail,
        trim=FAR,
        assumption=HELD_OUT,
        c_lb=max(own, shift),
        shift=shift,
        other=alone - log_proxy,
        quality={"pool_weights": weights, "shift_proved": shift},
    )


def parted(priors: Priors, records: int) -> Priors:
    """Of the first records, among which head and tail lie, with the rest beyond."""

    def part(rows: slice) -> Priors:
        return replace(
            priors,
            log_proxy=priors.log_proxy[rows],
            proxy=priors.proxy[rows],
            log_odds=priors.log_odds[rows],
            expected=priors.expected[rows],
            other=None if priors.other is None else priors.other[rows],
        )

    return replace(part(slice(0, records)), beyond=part(slice(records, None)))


def split(records: int, share: float, rng: np.random.Generator) -> tuple[Index, Index]:
    """Head and tail of a random order: what is learned from, and what is audited."""
    order = rng.permutation(records)
    learned = max(1, min(round(share * records), MOST_LEARNED))
    return order[:learned], order[learned:]


def _explained(log_target: Array, student: Array) -> float:
    """Share of the target's divergence from its own mean that its student explains."""
    p = np.exp(log_target)
    mean = np.log(p.mean(axis=0))
    left = float((p * (log_target - student)).sum())
    return 1.0 - left / max(float((p * (log_target - mean)).sum()), 1e-12)


def _unexplained(log_target: Array, student: Array, log_proxy: Array) -> float:
    """Share of the target's divergence from the proxy that its student does not explain."""
    p = np.exp(log_target)
    left = float((p * (log_target - student)).sum())
    return left / max(float((p * (log_target - log_proxy)).sum()), 1e-12)


def _counter(progress: Progress | None, stages: int) -> Callable[[str], None]:
    done = 0

    def advance(stage: str) -> None:
        nonlocal done
        if progress is not None:
            progress(stage, done, stages)
        done += 1

    return advance
