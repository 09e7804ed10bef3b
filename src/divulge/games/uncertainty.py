"""Around the bound: bootstrap of the published correction, and the negative control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds import recursion
from divulge.bounds.statement import HONEST_GUESSES
from divulge.games import corrections
from divulge.pieces import Pieces, digest
from divulge.result import Bound
from divulge.shift import conditional, propensity
from divulge.shift.adjust import Propensities, adjust
from divulge.shift.bootstrap import bootstrap
from divulge.shift.prepared import Prepared
from divulge.work import Engine

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Resampled:
    """The published conditional bound on mu after its bootstrap."""

    bound: Bound
    diagnostics: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class _Refit:
    """Refit a logistic propensity on resampled rows and recompute the bound; picklable."""

    features_head: Array
    truth_head: Array
    features_tail: Array
    guess: npt.NDArray[Any]
    truth_tail: Array
    luck: Array
    error: float

    def __call__(self, rows: npt.NDArray[np.intp]) -> float:
        predict = propensity.fit_log_odds(
            self.features_head[rows], self.truth_head[rows], rng=np.random.default_rng(0)
        )
        return self.bound(predict(self.features_tail))

    def bound(self, log_odds: Array) -> float:
        counts = conditional.tampered_counts(
            self.guess, self.truth_tail, log_odds, self.luck, signed=False
        )
        return recursion.mu_lower_bound(counts.trials, counts.guesses, counts.correct, self.error)


def published(
    prepared: Prepared,
    features: Array,
    *,
    error: float,
    resamples: int,
    rng: np.random.Generator,
    engine: Engine,
    pieces: Pieces,
    progress: Callable[[str, int, int], None] | None,
) -> Resampled:
    """000 as published: logistic propensity with Platt scaling, conditional guesses, bootstrap.

    The error is split evenly between the test and the bootstrap. Guesses and luck stay fixed.
    """
    head, tail = prepared.head, prepared.tail
    half = error / 2.0
    log_odds = np.empty(prepared.truth.size)
    log_odds[head] = propensity.cross_fit(features[head], prepared.truth[head], rng=rng)
    predict = propensity.fit_log_odds(features[head], prepared.truth[head], rng=rng)
    log_odds[tail] = predict(features[tail])
    luck = rng.random(prepared.truth.size)
    simple = replace(prepared, log_odds=log_odds, score=prepared.raw)
    guess, counts = corrections.conditional_guesses(simple, half, luck, rng, signed=False)
    refit = _Refit(
        features[head],
        prepared.truth[head],
        features[tail],
        guess,
        prepared.truth[tail],
        luck[tail],
        half,
    )
    named = digest(*(getattr(refit, f.name) for f in fields(refit)))
    point = recursion.mu_lower_bound(counts.trials, counts.guesses, counts.correct, half)
    report = None if progress is None else lambda k, n: progress("bootstrap", k, n)
    values = bootstrap(
        point,
        refit,
        head.size,
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
    shown = {
        "parameter": "mu",
        "values": values.values,
        "point": values.point,
        "lower": values.lower,
    }
    return Resampled(stated, shown)


def negative_control(
    prepared: Prepared, reference: Array, features: Array, *, error: float, rng: np.random.Generator
) -> float:
    """The same audit on a model that never saw the members: what it shows is confounding."""
    known = None if prepared.trim is not None else prepared.log_odds
    again = adjust(
        reference[:, None],
        prepared.truth,
        features,
        coin=prepared.coin,
        source=Propensities(known=known),
        error=error,
        rng=rng,
    )
    audited = corrections.audit(
        again.prepared, deltas=(), error=error, corrections=("prior",), rng=rng
    )
    return audited.bounds[0].value
