"""Around the bound: bootstrap of the published correction, and the negative control."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from divulge.bounds import recursion
from divulge.bounds.statement import HONEST_GUESSES
from divulge.errors import CannotConclude
from divulge.proof import corrections
from divulge.proof.bootstrap import bootstrap
from divulge.proof.corrections import Proof
from divulge.proof.prepared import Prepared
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.result.of_helpers import LadderRecord
from divulge.result.shared import Bootstrap
from divulge.shift import conditional, propensity
from divulge.trials import Trials
from divulge.types import Array, Floats, Progress
from divulge.work import Engine
from divulge.work.pieces import Pieces, digest


@dataclass(frozen=True)
class Resampled:
    """The published conditional bound on mu after its bootstrap."""

    bound: Bound
    diagnostics: Bootstrap = field(repr=False)


@dataclass(frozen=True)
class _Refit:
    """Refit a logistic propensity on resampled rows and recompute the bound; picklable."""

    features_fit: Array
    truth_fit: Array
    apart: bool
    """Whether it is fitted on held-out records, whose share of members is not the coin's."""
    coin: float
    features_tail: Array
    guess: npt.NDArray[Any]
    truth_tail: Array
    uniforms: Array
    error: float

    def __call__(self, rows: npt.NDArray[np.intp]) -> float:
        truth = self.truth_fit[rows]
        predict = propensity.fit_log_odds(
            self.features_fit[rows], truth, rng=np.random.default_rng(0)
        )
        moved = propensity.recentred(truth, self.coin) if self.apart else 0.0
        return self.bound(predict(self.features_tail) + moved)

    def bound(self, log_odds: Array) -> float:
        counts = conditional.tampered_counts(
            self.guess, self.truth_tail, log_odds, self.uniforms, signed=False
        )
        return recursion.mu_lower_bound(counts.trials, counts.guesses, counts.correct, self.error)


def published(
    trials: Trials,
    prepared: Prepared,
    *,
    error: float,
    resamples: int,
    rng: np.random.Generator,
    engine: Engine,
    pieces: Pieces,
    progress: Progress | None,
) -> Resampled:
    """000 as published: logistic propensity with Platt scaling, conditional guesses, bootstrap.

    The error is split evenly between the test and the bootstrap. Guesses and uniforms stay fixed.
    What is resampled are the records that taught the propensity: held-out ones, or the head.
    """
    features, heldout = trials.features, trials.heldout
    assert features is not None
    head, tail = prepared.head, prepared.tail
    half = error / 2.0
    if heldout is None:
        log_odds, _ = propensity.split_fit(
            features, prepared.truth, prepared.order, head.size, learner="logistic", rng=rng
        )
        taught, truth = features[head], prepared.truth[head]
    else:
        taught, truth = heldout
        log_odds = propensity.fit_log_odds(taught, truth, rng=rng)(features)
        log_odds += propensity.recentred(truth, prepared.coin)
    uniforms = rng.random(prepared.truth.size)
    simple = replace(prepared, log_odds=log_odds, score=prepared.raw)
    guess, counts = corrections.conditional_guesses(simple, half, uniforms, rng, signed=False)
    refit = _Refit(
        taught,
        truth,
        heldout is not None,
        prepared.coin,
        features[tail],
        guess,
        prepared.truth[tail],
        uniforms[tail],
        half,
    )
    named = digest(*(getattr(refit, f.name) for f in fields(refit)))
    point = recursion.mu_lower_bound(counts.trials, counts.guesses, counts.correct, half)
    report = None if progress is None else lambda k, n: progress("bootstrap", k, n)
    values = bootstrap(
        point,
        refit,
        truth.size,
        error=half,
        rng=rng,
        resamples=resamples,
        engine=engine,
        keep=pieces.tasks("bootstrap", lambda seed: {"refit": named, "seed": seed}),
        progress=report,
    )
    stated = Bound(
        parameter="mu",
        value=values.lower,
        confidence=1.0 - error,
        method="recursion, bootstrapped propensity",
        theorem="Zero-Run auditing, Theorem 5.1 and Algorithm 3 as printed",
        assumptions=(
            corrections.INDEPENDENT,
            "a logistic propensity is right up to sampling error",
            HONEST_GUESSES,
        ),
        correction="conditional",
    )
    shown = Bootstrap(
        parameter="mu", values=values.values.tolist(), point=values.point, lower=values.lower
    )
    return Resampled(stated, shown)


@dataclass(frozen=True)
class Controls:
    """What was computed around a proof."""

    reference: float | None = None
    """What the same audit proves of a model that never saw the members; None: not tried."""
    unheard: str = ""
    """Why such a model could not be tried, if so."""
    before: float = 0.0
    """What it shows before any allowance is deducted."""
    target_before: float = math.inf
    """What the target shows before any allowance is deducted."""
    likeness: float | None = None
    """Rank correlation of the two scores among non-members, of what the features leave of them."""
    sizes: tuple[int, int] | None = None
    """Records of the members' kind that the target and the control learned from: a user's word."""
    as_given: float | None = None
    """Rank correlation of the scores as given, among non-members."""
    apart: float | None = None
    """How much the control's mean score differs there, in its standard deviations."""

    @property
    def speaks(self) -> bool:
        """Whether the control shows what the target shows, after the allowance or before it.

        The allowance is deducted from both, so a control may be silent by as little as the target
        speaks. What it shows before the deduction is bias for certain: where that is at least half
        of what the target shows, the target's finding is not told from it.
        """
        return bool(self.reference) or self.before >= SAME_SHARE * self.target_before > 0.0

    resampled: Resampled | None = None
    ladder: LadderRecord | None = None
    """What population knowledge may explain, by helpers in the role of the target."""


NO_CONTROLS = Controls()
SAME_SHARE = 0.5
"""The share of the target's finding, before any allowance, from which a control's is the same."""


def negative_control(
    trials: Trials,
    reference: Array,
    target: Proof,
    rule: Rule,
    rng: np.random.Generator,
    sizes: tuple[int, int] | None = None,
) -> Controls:
    """The same audit on a model that never saw the members: what it shows is confounding.

    The propensities come from the same source and have the same guards. ``target`` is the proof
    from the target's scores, ``sizes`` are the numbers of records that both learned from.
    """
    again = replace(trials, score=reference)
    only = replace(rule, deltas=(), corrections=("prior",), combine="scores", seeds=1)
    try:
        proof = prove(again, only, rng)
        bets = target if target.bet is not None else prove(trials, only, rng)
    except CannotConclude as reason:
        return Controls(unheard=f"The negative control could not be run. {reason}")
    outside = target.prepared.truth < 0  # neither model saw these records
    left = (p.prepared.score[outside] for p in (target, proof))
    found = Controls(
        reference=proof.bounds[0].value,
        before=_before(proof),
        target_before=_before(bets),
        likeness=_likeness(*left),
        sizes=sizes,
    )
    if trials.columns.shape[1] > 1:  # one score of several has no scale to compare
        return found
    given, control = target.prepared.raw[outside], proof.prepared.raw[outside]
    scale = max(float(control.std()), 1e-12)
    apart = abs(float(given.mean(dtype=float) - control.mean(dtype=float))) / scale
    return replace(found, as_given=_likeness(given, control), apart=apart)


def _before(proof: Proof) -> float:
    """What the bet proves before the allowance is deducted."""
    return 0.0 if proof.bet is None else float(proof.bet.epsilon)


def _likeness(target: Floats, control: Floats) -> float:
    """Rank correlation of two scores.

    Of what the features leave of them it says most: two models may agree in what everybody sees,
    while one of them knows what the features do not show and the other does not.
    """
    ranks = [rankdata(score) for score in (target, control)]
    if any(np.ptp(r) == 0.0 for r in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
