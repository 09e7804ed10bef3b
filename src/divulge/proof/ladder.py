"""The ladder: what bias a target leaves that learned from more of the population than the helpers.

A helper that learned from n members plays the target, with helpers that learned from n/2 of them as
the features, on members that neither saw. Nothing can leak there, so whatever the audit finds
before any allowance is the bias of one doubling. Two rungs (n/4 to n/2, and n/2 to n) and several
seeds are climbed.

*What is estimated.* The raw finding under the fixed bet: the evidence is learned on the head of
the order of revelation and staked on its tail. With ever more trials a bet refutes epsilon while
its mean log-growth is positive, so the finding tends to the smallest epsilon at which that mean is
not. Its upper limit is the smallest epsilon at which even the upper confidence limit of the mean
growth is not positive: the growths of all seeds are averaged trial by trial, with the central limit
theorem over trials and Student's over seeds (variance pooled over both rungs), half of the error
each. Evidence is drawn in to what at least ``STAKED`` trials have, since of fewer no rate can be
told. For mu and for epsilon at delta the limit of a seed is what the count's Clopper-Pearson upper
limit would prove at an error of one half, that of a rung their mean (limits of a mean are at most
the mean of limits) and Student's over seeds. A lower bound would not do: it is small where there
are few trials. Nor would the largest seed.

*What is assumed.* The target has the helpers' architecture, optimiser, epochs, pre-training and mix
of records; doublings are counted in the members' population; the bias per doubling does not grow.
Learning curves are flat before they are steep, so the last is looked at, not believed: where the
upper rung lies above the lower one's upper limit nothing is extrapolated, and otherwise the larger
limit of both is deducted; nor is anything where the helpers' learning curve forbids it
(``learning_curve.py``). This is a sensitivity analysis. Its outcome, "adjusted epsilon, if the
ladder holds", is not a lower bound and never alone a reason to call a finding robust.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import log_expit
from scipy.stats import beta, norm, t

from divulge.bounds import learning
from divulge.bounds.betting import GRID_END, GRID_STEP
from divulge.bounds.guessing import Counts
from divulge.errors import CannotConclude
from divulge.proof import stated
from divulge.proof.adjust import adjust
from divulge.proof.corrections import correct
from divulge.proof.learning_curve import LearningCurve
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.result.of_helpers import Adjusted, LadderRecord, RungRecord
from divulge.text.rounding import at_least, at_most
from divulge.trials import Trials
from divulge.types import Array
from divulge.work import Engine

GROWS = (
    "The bias grows from the lower to the upper rung, so the steps from there to the target may "
    "be larger still."
)
STAKED = 100
"""Trials that evidence must have to be staked in full."""
_MEDIAN = 0.5


@dataclass(frozen=True)
class Rung:
    """One rung: audits in which nothing can leak, one per seed, on the same trials."""

    helpers: int
    """Members that taught the helpers among the features."""
    records: int
    """Members that taught the helpers in the role of the target: twice as many."""
    trials: tuple[Trials, ...] = field(repr=False)


@dataclass(frozen=True)
class Raw:
    """One audit before any allowance: the bets that were fixed, and the count."""

    evidence: Array = field(repr=False)
    """Of the counted trials; 0, which stakes nothing, outside the trim."""
    truth: Array = field(repr=False)
    log_odds: Array = field(repr=False)
    counts: Counts | None

    @classmethod
    def of(cls, trials: Trials, rule: Rule, rng: np.random.Generator) -> Raw:
        """Fit both nuisance models as the audit does, learn the evidence, stake it on the tail."""
        plain = replace(rule, raw=True, corrections=("balanced",))
        prepared = adjust(trials, plain, rng)
        score = prepared.score.astype(float)
        truth, log_odds = prepared.truth, prepared.log_odds
        inside, tail = prepared.inside(log_odds), prepared.tail
        head = prepared.head[inside[prepared.head]]
        kinds = truth[head] > 0
        if head.size < 2 * STAKED or kinds.all() or not kinds.any():
            raise CannotConclude("Too few trials of the ladder overlap.")
        teach = learning.stacked(score[head, None], truth[head], log_odds[head])
        most = np.sort(np.abs(teach(score[head, None])))[-STAKED]
        evidence = np.where(inside[tail], np.clip(teach(score[tail, None]), -most, most), 0.0)
        counts = correct(prepared, plain, rng).counts
        return cls(evidence, truth[tail], log_odds[tail], counts)

    def growth(self, epsilon: float) -> Array:
        """Log-factor of every bet against epsilon (section 4 of the theory)."""
        staked = np.abs(self.evidence) > epsilon
        own = self.truth * (self.log_odds + self.evidence)
        edge = self.truth * (self.log_odds + np.sign(self.evidence) * epsilon)
        return np.where(staked, log_expit(own) - log_expit(edge), 0.0)

    def counted(self, bound: Bound, deltas: Sequence[float], sure: float) -> float:
        """The raw finding of a count, at an upper confidence ``sure`` (a half: the middle)."""
        if self.counts is None or self.counts.guesses == 0:
            return 0.0
        m, r, c = self.counts.trials, self.counts.guesses, self.counts.correct
        if sure > _MEDIAN and c < r:
            c = math.ceil(r * float(beta.ppf(sure, c + 1, r - c)))
        counts = Counts(m, r, min(c, r))
        if bound.parameter == "mu":
            return stated.mu(counts, _MEDIAN)
        return stated.epsilons(counts, deltas, _MEDIAN)[bound.delta or 0.0]


def climb(
    rungs: Sequence[Rung],
    rule: Rule,
    seed: int,
    *,
    engine: Engine,
    progress: Callable[[int, int], None] | None = None,
) -> list[list[Raw]]:
    """Every audit of every rung; CannotConclude where one of them cannot be played."""
    tasks = [trials for rung in rungs for trials in rung.trials]
    found: list[Any] = list(engine.run(_Climb(rule, seed), tasks, progress=progress))
    places = np.cumsum([0, *(len(r.trials) for r in rungs)])
    return [found[a:b] for a, b in pairwise(places)]


@dataclass(frozen=True)
class _Climb:
    """Picklable; the same generator for all, so that all reveal in the same order."""

    rule: Rule
    seed: int

    def __call__(self, trials: Trials) -> Raw:
        return Raw.of(trials, self.rule, np.random.default_rng(self.seed))


Limits = list[tuple[float, float, list[float]]]
"""Per rung: bias over the seeds, its upper limit, and the bias of each seed."""


def upper_limits(
    raw: Sequence[Sequence[Raw]], bound: Bound, deltas: Sequence[float], error: float
) -> Limits:
    """The raw findings of one parameter, whatever rule found them."""
    if bound.method == "betting":
        return _of_bets(raw, error)
    return _of_counts(raw, bound, deltas, error)


def _of_counts(
    raw: Sequence[Sequence[Raw]], bound: Bound, deltas: Sequence[float], error: float
) -> Limits:
    sure = 1.0 - error / 2.0
    points = [[one.counted(bound, deltas, _MEDIAN) for one in rung] for rung in raw]
    limits = [[one.counted(bound, deltas, sure) for one in rung] for rung in raw]
    out = []
    for own, upper in zip(points, limits, strict=True):
        margin = _between(points, sure) / math.sqrt(len(own))
        out.append((float(np.mean(own)), float(np.mean(upper)) + margin, own))
    return out


def _of_bets(raw: Sequence[Sequence[Raw]], error: float) -> Limits:
    sure = 1.0 - error / 2.0
    z = float(norm.ppf(sure))
    upper: list[float | None] = [None for _ in raw]
    middle: list[float | None] = [None for _ in raw]
    each: list[list[float | None]] = [[None for _ in rung] for rung in raw]
    for step in range(round(GRID_END / GRID_STEP)):
        epsilon = step * GRID_STEP
        grown = [np.array([one.growth(epsilon) for one in rung]) for rung in raw]
        means = [g.mean(axis=1).tolist() for g in grown]
        seeds = _between(means, sure)
        for k, g in enumerate(grown):
            pooled = g.mean(axis=0)
            margin = z * float(pooled.std(ddof=1)) / math.sqrt(pooled.size)
            margin += seeds / math.sqrt(len(g))
            mean = float(pooled.mean())
            upper[k] = epsilon if upper[k] is None and mean + margin <= 0.0 else upper[k]
            middle[k] = epsilon if middle[k] is None and mean <= 0.0 else middle[k]
            for j, own in enumerate(means[k]):
                each[k][j] = epsilon if each[k][j] is None and own <= 0.0 else each[k][j]
        if all(u is not None for u in upper):
            break
    return [
        (_or_end(m), _or_end(u), [_or_end(e) for e in own])
        for m, u, own in zip(middle, upper, each, strict=True)
    ]


def _or_end(epsilon: float | None) -> float:
    return GRID_END if epsilon is None else epsilon


def _between(values: Sequence[Sequence[float]], sure: float) -> float:
    """Student's quantile times the deviation between seeds, pooled over the rungs."""
    freedom = sum(len(rung) - 1 for rung in values)
    if freedom == 0:
        return math.inf
    spread = sum(float(np.var(rung)) * len(rung) for rung in values)
    return float(t.ppf(sure, freedom)) * math.sqrt(spread / freedom)


def ladder(
    rungs: Sequence[Rung],
    raw: Sequence[Sequence[Raw]],
    bounds: Sequence[Bound],
    rule: Rule,
    *,
    helpers: int,
    training_size: int | None,
    curves: LearningCurve,
) -> LadderRecord:
    """What the ladder says of the headline bounds; the upper rung comes last."""
    doublings = None
    if training_size is not None:
        doublings = max(1.0, math.log2(max(training_size, 1) / helpers))
    shown: list[RungRecord] = []
    adjusted: list[Adjusted] = []
    reason = curves.doubt(doublings, rule.error)
    for bound in (b for b in bounds if b.headline):
        found = upper_limits(raw, bound, rule.deltas, rule.error)
        for rung, (bias, upper, each) in zip(rungs, found, strict=True):
            shown.append(
                RungRecord(
                    records=rung.records,
                    helpers=rung.helpers,
                    parameter=bound.parameter,
                    delta=bound.delta,
                    bias=bias,
                    upper=upper,
                    of_each_seed=tuple(each),
                )
            )
        if bound.parameter == "epsilon" and grows(found):
            reason = reason or GROWS
        step = max(upper for _, upper, _ in found)
        value = None if doublings is None else max(0.0, bound.value - doublings * step)
        adjusted.append(
            Adjusted(
                parameter=bound.parameter,
                delta=bound.delta,
                bound=bound.value,
                bias_per_doubling=step,
                value=value,
            )
        )
    if reason:
        adjusted = [replace(a, value=None) for a in adjusted]
    found_record = LadderRecord(
        extrapolable=not reason,
        reason=reason,
        helpers=helpers,
        training_size=training_size,
        doublings=doublings,
        error=rule.error,
        survives=None if reason else _survives(adjusted),
        rungs=tuple(shown),
        adjusted=tuple(adjusted),
    )
    return replace(found_record, sentence=sentence(found_record))


def grows(found: Limits) -> bool:
    """Whether the upper rung's bias lies above what the lower one's error explains."""
    return found[-1][0] > found[0][1]


def failed(reason: str, helpers: int, training_size: int | None, error: float) -> LadderRecord:
    """A ladder that could not be climbed."""
    found = LadderRecord(
        extrapolable=False,
        reason=reason,
        helpers=helpers,
        training_size=training_size,
        error=error,
    )
    return replace(found, sentence=sentence(found))


def _survives(adjusted: Sequence[Adjusted]) -> float | None:
    """After how many doublings the epsilon at the smallest delta would be 0; None: never."""
    found = [a for a in adjusted if a.parameter == "epsilon"]
    if not found:
        return None
    one = min(found, key=lambda a: a.delta or 0.0)
    if not one.bias_per_doubling or one.bound is None:
        return None
    return one.bound / one.bias_per_doubling


def sentence(found: LadderRecord) -> str:
    """The ladder in words, for the terminal and the report."""
    if not found.extrapolable:
        return f"The ladder is not extrapolable, so there is no adjusted epsilon. {found.reason}"
    parts = []
    for one in (a for a in found.adjusted if a.parameter == "epsilon"):
        at = f"at delta {one.delta:g}" if one.delta else "at delta 0"
        step = f"at most {at_most(one.bias_per_doubling or 0.0)} per doubling"
        if one.value is None:
            parts.append(f"{at}: bias {step}")
        else:
            parts.append(f"{at} {at_least(one.value)} (bias {step})")
    if found.doublings is None:
        size = ""
        if found.survives is not None:
            reach = found.helpers * 2.0 ** min(found.survives, 40.0)
            size = (
                " Population knowledge could explain the finding if the target learned from more "
                f"than {math.floor(reach):,} such records."
            )
        return (
            f"The ladder, with helpers that learned from {found.helpers:,} members: "
            f"{'; '.join(parts)}. An adjusted epsilon needs the size of the target's training set "
            f"(--training-size).{size}"
        )
    return (
        f"Adjusted epsilon, if the ladder holds ({found.doublings:.2g} doublings from "
        f"{found.helpers:,} to {found.training_size or 0:,} records): {'; '.join(parts)}. This is "
        "a sensitivity analysis, not a lower bound."
    )
