"""Uncertainty of the published correction: its bounds with the propensity fitted again (000).

Algorithm 3 for every bound of the conditional correction as printed: mu (Theorem 5.1.2), epsilon at
delta 0 (Theorem D.1) and at each delta (Theorem 5.1.1), all from the same refits of a logistic
propensity. What is resampled are the records that taught it: held-out ones, or the learned trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds import recursion
from divulge.bounds.counting import signed_epsilon_lower_bound
from divulge.bounds.statement import HONEST_GUESSES
from divulge.proof import corrections
from divulge.proof.bootstrap import bootstrap_each
from divulge.proof.prepared import Prepared
from divulge.result import Bound
from divulge.result.shared import Bootstrap
from divulge.shift import conditional, propensity, tampered
from divulge.trials import Trials
from divulge.types import Array, Progress
from divulge.work import Engine
from divulge.work.pieces import Pieces, digest

_THEOREM = "Zero-Run auditing, {} and Algorithm 3 as printed"


@dataclass(frozen=True)
class Resampled:
    """The published conditional bounds after their bootstrap."""

    bounds: tuple[Bound, ...]
    diagnostics: Bootstrap = field(repr=False)
    """The values of mu."""


@dataclass(frozen=True)
class Refit:
    """Refit a logistic propensity on resampled rows and recompute the bounds; picklable."""

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
    deltas: tuple[float, ...] = ()
    at_delta: tuple[npt.NDArray[Any], ...] = ()
    """The guesses for each delta."""

    def __call__(self, rows: npt.NDArray[np.intp]) -> Array:
        truth = self.truth_fit[rows]
        predict = propensity.fit_log_odds(
            self.features_fit[rows], truth, rng=np.random.default_rng(0)
        )
        moved = propensity.recentred(truth, self.coin) if self.apart else 0.0
        return self.bounds(predict(self.features_tail) + moved)

    def bounds(self, log_odds: Array) -> Array:
        """Mu, epsilon at delta 0, epsilon at each delta."""
        counts = conditional.tampered_counts(
            self.guess, self.truth_tail, log_odds, self.uniforms, signed=False
        )
        mu = recursion.mu_lower_bound(counts.trials, counts.guesses, counts.correct, self.error)
        against = self.guess * np.abs(log_odds)
        pure = signed_epsilon_lower_bound(self.guess, self.truth_tail, against, self.error)
        rest = [
            tampered.epsilon_lower_bound(
                guess, self.truth_tail, log_odds, self.uniforms, delta, self.error, signed=False
            )
            for guess, delta in zip(self.at_delta, self.deltas, strict=True)
        ]
        return np.array([mu, pure, *rest])


def published(
    trials: Trials,
    prepared: Prepared,
    *,
    error: float,
    deltas: Sequence[float],
    resamples: int,
    rng: np.random.Generator,
    engine: Engine,
    pieces: Pieces,
    progress: Progress | None,
) -> Resampled:
    """000 as published: logistic propensity with Platt scaling, conditional guesses, bootstrap.

    The error is split evenly between the test and the bootstrap. Guesses and uniforms stay fixed.
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
    guess, _ = corrections.conditional_guesses(simple, half, uniforms, rng, signed=False)
    refit = Refit(
        taught,
        truth,
        heldout is not None,
        prepared.coin,
        features[tail],
        guess,
        prepared.truth[tail],
        uniforms[tail],
        half,
        tuple(deltas),
        corrections.guesses_at(simple, deltas, half, rng),
    )
    named = digest(*(getattr(refit, f.name) for f in fields(refit)))
    report = None if progress is None else lambda k, n: progress("bootstrap", k, n)
    found = bootstrap_each(
        refit.bounds(simple.log_odds_of(tail)).tolist(),
        refit,
        truth.size,
        error=half,
        rng=rng,
        resamples=resamples,
        engine=engine,
        keep=pieces.tasks("bootstrap", lambda seed: {"refit": named, "seed": seed}),
        progress=report,
    )
    kinds: list[tuple[str, float | None, str, str]] = [
        ("mu", None, "recursion", "Theorem 5.1.2"),
        ("epsilon", 0.0, "binomial", "Theorem D.1"),
        *(("epsilon", delta, "zero-run", "Theorem 5.1.1") for delta in deltas),
    ]
    stated = tuple(
        Bound(
            parameter=parameter,
            delta=delta,
            value=values.lower,
            confidence=1.0 - error,
            method=f"{method}, bootstrapped propensity",
            theorem=_THEOREM.format(theorem),
            assumptions=(
                corrections.INDEPENDENT,
                "a logistic propensity is right up to sampling error",
                HONEST_GUESSES,
            ),
            correction="conditional",
        )
        for values, (parameter, delta, method, theorem) in zip(found, kinds, strict=True)
    )
    mu = found[0]
    shown = Bootstrap(parameter="mu", values=mu.values.tolist(), point=mu.point, lower=mu.lower)
    return Resampled(stated, shown)
