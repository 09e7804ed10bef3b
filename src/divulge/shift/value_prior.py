"""What a record gives away about its value, without the target: the prior w of every value.

Three sources: the proxy is vouched for, and is w; w is estimated from the record alone (blind); or
on held-out records, which the target never saw, with the target's own probabilities among the
features, so that what the target knows of the population is never mistaken for memory.

An estimate may be wrong. What is proved of its error is ``c_lb``, in log-odds of one value against
another, since that is what bets and pairs rest on; a bound on epsilon falls by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax
from scipy.stats import norm

from divulge.shift import misfit, students
from divulge.types import Array, Index, Progress

EXACT = "the proxy is the distribution of the value given the record"
BLIND = (
    "what the target knows of the value beyond its student is memorised, except for what the "
    "student's learning curve allows for: the features carry what the target knows of the "
    "population in a form that the student learns, and the log-odds of one value against another "
    "in the corrected proxy are right to within c_lb"
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
LEAST, RARE = 0.1, 0.02
"""Nothing is staked on values that are less probable than this, blind and held-out: the logarithm
of a small probability is badly estimated."""
TRIM = 4.0
"""No pair is guessed where two priors differ by more."""
LEARNED_SHARE, VOUCHED_SHARE, HELD_OUT_SHARE = 0.5, 0.1, 0.3
MOST_LEARNED = 100_000
FURTHEST = 0.99
"""Quantile of how far the target moves the prior of held-out records."""


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
class Edges:
    """Between which multiples the prior lies, a row per record; 0 for values that are left out."""

    prior: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)
    mass: Array = field(repr=False)
    """What the values that are there have of the whole prior."""

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Where at least two values are there."""
        return np.asarray((self.prior > 0.0).sum(axis=1) >= 2)

    def some(self, rows: Index) -> Edges:
        """Of some records."""
        return Edges(self.prior[rows], self.low[rows], self.high[rows], self.mass[rows])


@dataclass(frozen=True)
class Priors:
    """One entry per record and value. The head is learned from, the tail is audited."""

    log_proxy: Array = field(repr=False)
    proxy: Array = field(repr=False)
    """The proxy's probabilities: not floored, as the logarithms are."""
    value: Array = field(repr=False)
    """w: the proxy's where it is vouched for, else out of fold on the head, and fitted on other
    records for the tail."""
    expected: Array = field(repr=False)
    """Log-probabilities that the target was expected to give: the student's, or the proxy's."""
    head: Index = field(repr=False)
    tail: Index = field(repr=False)
    least: float
    """Values that are less probable are left out."""
    assumption: str
    c_lb: float = 0.0
    """What a blind baseline proves against w, one value against another: deducted from epsilon."""
    shift: float = 0.0
    """What is proved of the difference between the values of training and held-out records."""
    explained: float = 1.0
    """Share of what the target says beyond a constant that its student explains."""
    other: Array | None = field(default=None, repr=False)
    """A second opinion on w: a bet must beat both."""
    beyond: Priors | None = field(default=None, repr=False)
    """The same of the held-out records, which follow the training records."""
    likeness: Array | None = field(default=None, repr=False)
    """Of held-out records: how much more often training records look like them."""
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

    def edges(self) -> Edges:
        """Both opinions as distributions over the values that are there.

        That a record's value is among these is revealed before anything is staked: given that, its
        prior is w over them, divided by its mass.
        """
        opinions = [self.value] if self.other is None else [self.value, self.other]
        there = np.all([(w > 0.0) & (w >= self.least) for w in opinions], axis=0)
        kept = [np.where(there, w, 0.0) for w in opinions]
        masses = [w.sum(axis=1) for w in kept]
        given = [w / np.maximum(m, 1e-300)[:, None] for w, m in zip(kept, masses, strict=True)]
        mass = np.min(masses, axis=0)
        if len(given) == 1:
            return Edges(given[0], given[0], given[0], mass)
        return Edges(given[0], np.minimum(*given), np.maximum(*given), mass)


def vouched(log_proxy: Array, proxy: Array, head: Index, tail: Index) -> Priors:
    """The user vouches for the proxy."""
    return Priors(log_proxy, proxy, proxy, log_proxy, head, tail, 0.0, EXACT)


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
    advance("blind baseline")
    shown = students.record_features(log_proxy, features, student)
    c_lb = misfit.misfit(codes, misfit.Prior(value, shown, LEAST), head, tail, error, rng)
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
        value=np.exp(value),
        expected=student,
        head=head,
        tail=tail,
        least=LEAST,
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
    value = _as_far(value, alone, outside)
    knowing, unknowing = (misfit.Prior(w, shown, RARE) for w in (value, alone))
    own = misfit.misfit(codes, knowing, outside, outside, error, rng)
    here, _ = students.fit_values(codes, alone, features, head, tail, rng)
    shift = misfit.misfit(codes, unknowing, head, tail, error, rng, here - alone)
    weights = dict(zip(("proxy", "linear", "boosted", "target"), pool.weights, strict=True))
    return Priors(
        log_proxy=log_proxy,
        proxy=proxy,
        value=np.exp(value),
        expected=log_proxy,
        head=head,
        tail=tail,
        least=RARE,
        assumption=HELD_OUT,
        c_lb=max(own, shift),
        shift=shift,
        other=np.exp(alone),
        quality={"pool_weights": weights, "shift_proved": shift},
    )


def _as_far(knowing: Array, alone: Array, outside: Index) -> Array:
    """The knowing prior, no further from the other than where the target has nothing to remember.

    On held-out records it differs by what the target knows. Where it differs by more than on nearly
    all of these, the rest is not knowledge of the population, which is the same for both.
    """
    moved = knowing - alone
    size = moved.max(axis=1) - moved.min(axis=1)
    most = float(np.quantile(size[outside], FURTHEST))
    shrink = np.minimum(1.0, most / np.maximum(size, 1e-12))
    return np.asarray(log_softmax(alone + moved * shrink[:, None], axis=1))


def parted(priors: Priors, records: int) -> Priors:
    """Of the first records, among which head and tail lie, with the rest beyond."""

    def part(rows: slice) -> Priors:
        return replace(
            priors,
            log_proxy=priors.log_proxy[rows],
            proxy=priors.proxy[rows],
            value=priors.value[rows],
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
