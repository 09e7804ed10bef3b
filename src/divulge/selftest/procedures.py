"""Every bound as a user would run it: from trials to one claimed number.

Each procedure has the shape ``procedure(trials, mechanism, error, rng) -> claim``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from divulge import bounds
from divulge.bounds import guessing
from divulge.errors import CannotConclude
from divulge.mechanisms import Mechanism
from divulge.shift import balance
from divulge.trials import Trials

Run: TypeAlias = Callable[[Trials, Mechanism, float, np.random.Generator], float]
DELTA = 1e-5
TAU = 0.05
_SHARE = 0.2


@dataclass(frozen=True)
class Procedure:
    """A bound under test."""

    name: str
    parameter: str
    run: Run
    delta: float | None = None
    prior: bool = False
    """Whether it may be used when the record gives something away."""

    def truth(self, mechanism: Mechanism) -> float:
        """The exact value of the parameter."""
        curve = mechanism.curve
        return curve.mu() if self.delta is None else curve.epsilon(self.delta)


def _counts(trials: Trials, rng: np.random.Generator) -> tuple[int, int, int]:
    """A fifth of the trials is guessed, by rank; the number was fixed beforehand."""
    guesses = max(1, round(_SHARE * len(trials)))
    guess = guessing.top_guesses(guessing.centred_ranks(trials.score), guesses, rng)
    c = guessing.count_correct(guess, trials.truth)
    return c.trials, c.guesses, c.correct


def binomial(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    return bounds.epsilon_lower_bound(*_counts(trials, rng), 0.0, error)


def steinke(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    return bounds.epsilon_lower_bound(*_counts(trials, rng), DELTA, error, method="steinke")


def zero_run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    return bounds.epsilon_lower_bound(*_counts(trials, rng), DELTA, error, method="zero-run")


def recursion_mu(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return bounds.mu_lower_bound(*_counts(trials, rng), error)


def recursion_epsilon(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return bounds.epsilon_lower_bound(*_counts(trials, rng), DELTA, error)


def recursion_tau(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return bounds.mu_lower_bound(*_counts(trials, rng), error, tau=TAU)


def signed(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    """The strongest attack: guesses follow the exact posterior, prior included."""
    posterior = mechanism.evidence(trials.score) + trials.log_odds
    guess = guessing.top_guesses(posterior, max(1, round(_SHARE * len(trials))), rng)
    return bounds.signed_epsilon_lower_bound(guess, trials.truth, trials.log_odds, error)


def balanced_mu(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return _balanced(recursion_mu, trials, mechanism, error, rng)


def balanced_epsilon(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return _balanced(recursion_epsilon, trials, mechanism, error, rng)


def _balanced(
    inner: Run, trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    try:
        kept = balance(trials, rng)
    except CannotConclude:
        return 0.0
    return inner(kept, mechanism, error, rng)


def betting(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    return bounds.bet(trials.score, trials.truth, trials.log_odds, error=error, rng=rng).epsilon


def betting_average(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return bounds.bet(
        trials.score, trials.truth, trials.log_odds, error=error, combine="average", rng=rng
    ).epsilon


def betting_given(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """Bets with the exact posterior of the mechanism."""
    q = expit(mechanism.evidence(trials.score) + trials.log_odds)
    return bounds.bet_given(
        np.clip(q, 1e-9, 1.0 - 1e-9), trials.truth, trials.log_odds, error=error
    ).epsilon


def _calibrated(target: guessing.Target) -> Run:
    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        counts = guessing.calibrated(trials, rng, target=target, error=error)
        return target.bound(counts, error)

    return run


def _union(target: guessing.Target) -> Run:
    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        return guessing.union(trials, rng, target=target, error=error)

    return run


_MU, _PURE, _APPROXIMATE = guessing.Target(None), guessing.Target(0.0), guessing.Target(DELTA)

PROCEDURES: dict[str, Procedure] = {
    p.name: p
    for p in (
        Procedure("binomial", "epsilon", binomial, 0.0),
        Procedure("signed poisson-binomial", "epsilon", signed, 0.0, prior=True),
        Procedure("steinke", "epsilon", steinke, DELTA),
        Procedure("zero-run 5.1.1", "epsilon", zero_run, DELTA),
        Procedure("recursion mu", "mu", recursion_mu),
        Procedure("recursion epsilon", "epsilon", recursion_epsilon, DELTA),
        Procedure("recursion mu, tau", "mu", recursion_tau),
        Procedure("balanced recursion mu", "mu", balanced_mu, prior=True),
        Procedure("balanced recursion epsilon", "epsilon", balanced_epsilon, DELTA, prior=True),
        Procedure("betting", "epsilon", betting, 0.0, prior=True),
        Procedure("betting, averaged wealth", "epsilon", betting_average, 0.0, prior=True),
        Procedure("betting, exact posterior", "epsilon", betting_given, 0.0, prior=True),
        Procedure("calibrated guesses mu", "mu", _calibrated(_MU)),
        Procedure("calibrated guesses epsilon", "epsilon", _calibrated(_APPROXIMATE), DELTA),
        Procedure("union of guesses mu", "mu", _union(_MU)),
        Procedure("union of guesses epsilon", "epsilon", _union(_PURE), 0.0),
    )
}
