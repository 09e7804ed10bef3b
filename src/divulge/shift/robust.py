"""The guards: both nuisance models, a blind baseline and an allowance, whatever the propensity is.

The prognostic score is fitted on all trials without truths. The propensity is fitted on the head of
the order of revelation for everything that is counted, and once more on the first three quarters
for the bets on the rest; or on held-out records, or it is given (``sources.py``). What both models
may have missed is estimated and deducted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.shift.allowance import Allowance, Nuisances, estimate_allowance
from divulge.shift.blind import LEARNERS, blind_evidence, proved_shift
from divulge.shift.design import read_records
from divulge.shift.levels import Codes
from divulge.shift.prognostic import fit_prognostic, leak_slope, residual_score
from divulge.shift.sources import FROM_TRIALS, PropensitySource
from divulge.shift.stack import Propensity
from divulge.types import Array, Index, Progress

MOST_ALLOWANCE = 1.2
"""A larger allowance means that nothing can be concluded."""
MOST_BLIND = 0.5
"""So does a blind baseline that proves more than that."""
STAGES = 6
_LARGEST_LOG_ODDS = 12.0
_FEWEST_INSIDE = 50


@dataclass(frozen=True)
class Fitted:
    """Nuisance predictions per trial, and the allowance for what they missed."""

    log_odds: Array = field(repr=False)
    """For counting: out of fold on the head of the order, predicted from the head on the tail."""
    score: Array = field(repr=False)
    """The score less its prognosis for a non-member, in conditional standard deviations."""
    bet_log_odds: Array = field(repr=False)
    """For betting: predicted from the trials revealed before."""
    bet_score: Array = field(repr=False)
    quality: Mapping[str, Any] = field(default_factory=dict)
    allowance: float = 0.0
    """What is deducted from epsilon; infinite if nothing can be said."""
    allowance_mu: float = 0.0
    c_lb: float | None = None
    """What the blind baseline proved against the log-odds; None if it could not be tried."""


@dataclass(frozen=True)
class BeforeGuards:
    """The largest bounds before the guards; infinite where they are all to be known."""

    epsilon: float = math.inf
    mu: float = math.inf

    @property
    def nothing(self) -> bool:
        """Whether there is no bound to be lowered."""
        return self.epsilon == self.mu == 0.0

    def explained(self, allowance: Allowance) -> bool:
        """Whether nothing is left of them, whatever else is deducted."""
        return math.isfinite(self.epsilon + self.mu) and (
            allowance.epsilon >= self.epsilon and allowance.mu >= self.mu
        )


@dataclass(frozen=True)
class _Revealed:
    """The models fitted on the first trials of the order."""

    rows: Index
    later: Index
    propensity: Propensity
    leak: float

    def log_odds(self, trials: int, coin: float) -> Array:
        out = np.empty(trials)
        out[self.rows] = self.propensity.fitted
        out[self.later] = self.propensity.predicted
        return np.clip(out, coin - _LARGEST_LOG_ODDS, coin + _LARGEST_LOG_ODDS)


def fit(
    score: Array,
    truth: Array,
    features: Array,
    order: Index,
    learned: int,
    *,
    trim: float,
    coin: float,
    error: float,
    rng: np.random.Generator,
    source: PropensitySource = FROM_TRIALS,
    levels: Codes | None = None,
    raw: bool = False,
    finds: Callable[[Fitted], BeforeGuards] | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit both nuisance models in the order of revelation, and judge them.

    ``score`` is larger for members, ``truth`` is +1 or -1, ``features`` are standardised, the first
    ``learned`` trials of ``order`` are the head. Rows of ``truth`` and ``features`` beyond the
    scores are held-out records. Nothing in ``log_odds`` and ``score`` depends on a
    truth of the tail; the bets on the tail's second half depend on no truth of that half. The
    blind baseline bets at ``error``. ``raw`` stops before the guards: such a fit proves nothing
    (``proof/ladder.py``). Guards only ever lower a bound: a fit of which ``finds`` says how much it
    shows has as many of them as it takes to explain all of that. They have generators of their own,
    so that everything else is the same.
    """
    done = 0

    def advance(stage: str) -> None:
        nonlocal done
        if progress is not None:
            progress(stage, done, STAGES)
        done += 1

    trials = score.size
    score = standard_score(score)
    advance("prognostic score")
    records = read_records(features, rng, levels)
    prognostic = fit_prognostic(score, records, rng)
    middle = learned + (trials - learned) // 2

    def reveal(count: int) -> _Revealed:
        rows, later = order[:count], order[count:]
        if outside is None:
            propensity = source.fit(truth, records, prognostic, rows, later, coin=coin, rng=rng)
        else:
            everywhere = outside.predicted
            propensity = replace(outside, fitted=everywhere[rows], predicted=everywhere[later])
        near = _near_coin(propensity.fitted - coin, trim)
        leak = leak_slope(
            score[rows[near]],
            prognostic.some(rows[near]),
            propensity.fitted[near],
            truth[rows[near]],
        )
        return _Revealed(rows, later, propensity, leak)

    advance("propensity for counting")
    own = np.arange(trials)
    outside = source.elsewhere(truth, records, prognostic, own, coin=coin, rng=rng)
    if len(records) > trials:  # held-out records have taught all they can
        records, prognostic, truth = records.some(own), prognostic.some(own), truth[own]
    first = reveal(learned)
    log_odds = first.log_odds(trials, coin)
    residual = residual_score(score, prognostic, log_odds, first.leak)
    if raw:
        return Fitted(log_odds, residual, log_odds, residual)
    advance("propensity for betting")
    second = reveal(middle)
    best_log_odds = second.log_odds(trials, coin)
    last = order[middle:]
    bet_log_odds = log_odds.copy()
    bet_log_odds[last] = best_log_odds[last]
    bet_residual = residual.copy()
    bet_residual[last] = residual_score(
        score[last], prognostic.some(last), best_log_odds[last], second.leak
    )
    unguarded = Fitted(log_odds, residual, bet_log_odds, bet_residual)
    found = BeforeGuards() if finds is None else finds(unguarded)
    if found.nothing:
        return unguarded
    (rng,) = rng.spawn(1)
    tail = order[learned:]
    inside = np.abs(bet_log_odds[tail] - coin) <= trim
    bets = tail[inside]
    everything = Nuisances(
        records,
        score,
        truth,
        best_log_odds,
        prognostic,
        second.leak,
        trim=trim,
        coin=coin,
        refit=source.refit,
        taught=source.taught,
    )
    allowance = estimate_allowance(
        everything, bets=bets.size, rng=rng, enough=found.explained, progress=advance
    )
    if found.explained(allowance):
        return replace(unguarded, allowance=allowance.epsilon, allowance_mu=allowance.mu)
    advance("blind baseline")
    blocks = ((first, log_odds, order[learned:middle]), (second, best_log_odds, last))
    evidence = [
        blind_evidence(
            truth,
            records,
            prognostic,
            model.rows,
            odds[model.rows],
            block,
            odds[block],
            trim=trim,
            coin=coin,
            rng=rng,
        )
        for model, odds, block in blocks
    ]
    c_lb = None
    if any(e is not None for e in evidence):
        silent = [np.zeros((len(LEARNERS), block.size)) for _, _, block in blocks]
        known = [s if e is None else e for e, s in zip(evidence, silent, strict=True)]
        c_lb = proved_shift(
            np.concatenate(known, axis=1)[:, inside], truth[bets], bet_log_odds[bets], error
        )
    allowance = allowance.beside(c_lb or 0.0)
    losses = {
        "propensity_log_loss": second.propensity.log_loss,
        "propensity_log_loss_linear": second.propensity.log_loss_linear,
        "propensity_log_loss_constant": second.propensity.log_loss_constant,
    }
    quality = {
        **{name: loss for name, loss in losses.items() if math.isfinite(loss)},
        "prognostic_r2": prognostic.r2,
        **allowance.parts(),
    }
    return replace(
        unguarded,
        quality=quality,
        allowance=allowance.epsilon,
        allowance_mu=allowance.mu,
        c_lb=c_lb,
    )


def standard_score(score: Array) -> Array:
    """Mean 0 and variance 1, after drawing in what lies far outside the bulk.

    Far is five times the range of the central 99% beyond it: no regular score is touched, the order
    is kept up to ties, and one infinite-looking loss does not ruin the regressions.
    """
    largest = float(np.abs(score).max())
    score = score / largest if largest > 0.0 else score
    low, high = np.quantile(score, [0.005, 0.995])
    if high > low:
        score = np.clip(score, low - 5.0 * (high - low), high + 5.0 * (high - low))
    scale = float(score.std())
    return np.asarray((score - score.mean()) / (scale if scale > 0.0 else 1.0))


def _near_coin(distance: Array, trim: float) -> npt.NDArray[np.bool_]:
    """Inside the trim, or the fifth nearest to the coin where hardly any trial is."""
    size = np.abs(distance)
    inside = size <= trim
    return inside if inside.sum() >= _FEWEST_INSIDE else size <= np.quantile(size, 0.2)
