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
from divulge.bounds import guessing, tangents, weighted
from divulge.errors import CannotConclude
from divulge.mechanisms import Mechanism
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.shift import balance
from divulge.trials import Trials

Run: TypeAlias = Callable[[Trials, Mechanism, float, np.random.Generator], float]
DELTA = 1e-5
LARGER_DELTA = 3e-4
LARGE_DELTA = 0.02
TAU = 0.005
_SHARE = 0.2
_TINY = 20
_NOISE_COLUMNS = 20
_COARSE = 0.5


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


def _number(trials: Trials) -> int:
    """A fifth of the trials is guessed, all of them in a tiny game; fixed beforehand."""
    return len(trials) if len(trials) <= _TINY else round(_SHARE * len(trials))


def _counts(trials: Trials, rng: np.random.Generator) -> tuple[int, int, int]:
    """Guesses by rank of the score."""
    guess = guessing.top_guesses(guessing.centred_ranks(trials.score), _number(trials), rng)
    return _counted(guess, trials)


def _counted(guess: np.ndarray, trials: Trials) -> tuple[int, int, int]:
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


def recursion_large_delta(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return bounds.epsilon_lower_bound(*_counts(trials, rng), LARGE_DELTA, error)


def recursion_tau(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """Every trial is guessed: only then is there anything left to prove after the budget."""
    guess = guessing.top_guesses(trials.score, len(trials), rng)
    return bounds.mu_lower_bound(*_counted(guess, trials), error, tau=TAU)


def _posterior(trials: Trials, mechanism: Mechanism) -> np.ndarray:
    """The strongest attack: the exact posterior, prior included."""
    return np.asarray(mechanism.evidence(trials.score) + trials.prior, dtype=float)


def signed(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    guess = guessing.top_guesses(_posterior(trials, mechanism), _number(trials), rng)
    return bounds.signed_epsilon_lower_bound(guess, trials.truth, trials.prior, error)


def balanced_mu(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    counts = _balanced_counts(trials, mechanism, rng)
    return 0.0 if counts is None else bounds.mu_lower_bound(*counts, error)


def balanced_epsilon(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    counts = _balanced_counts(trials, mechanism, rng)
    return 0.0 if counts is None else bounds.epsilon_lower_bound(*counts, DELTA, error)


def _balanced_counts(
    trials: Trials, mechanism: Mechanism, rng: np.random.Generator
) -> tuple[int, int, int] | None:
    """The attack still sees the prior that balancing has made worthless."""
    attack = Trials(_posterior(trials, mechanism), trials.truth, trials.prior)
    try:
        kept = balance(attack, rng)
    except CannotConclude:
        return None
    return _counted(guessing.top_guesses(kept.score, _number(kept), rng), kept)


def _with_prior(trials: Trials) -> np.ndarray:
    """Score and prior as two columns: a bettor that could exploit an ignored prior."""
    if np.ptp(trials.prior) == 0.0:
        return trials.score
    return np.column_stack([trials.score, trials.prior])


def betting(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
    x = _with_prior(trials)
    learners = None if x.ndim == 1 else ("logistic",)
    return bounds.bet(
        x, trials.truth, trials.prior, error=error, learners=learners, rng=rng
    ).epsilon


def betting_average(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    return bounds.bet(
        trials.score, trials.truth, trials.prior, error=error, combine="average", rng=rng
    ).epsilon


def betting_noise(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """Many useless columns: a bettor that saw its own truths would win."""
    noise = rng.normal(size=(len(trials), _NOISE_COLUMNS))
    return bounds.bet(
        np.column_stack([trials.score, noise]),
        trials.truth,
        trials.prior,
        error=error,
        learners=("logistic",),
        rng=rng,
    ).epsilon


def betting_coarse(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """A grid so coarse that claiming the first point not rejected would show."""
    return bounds.bet(
        trials.score, trials.truth, trials.prior, error=error, step=_COARSE, rng=rng
    ).epsilon


def betting_bold(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """Given bets that are too sure of themselves, so that they stake where they should not."""
    bold = 1.5 * mechanism.evidence(trials.score) + rng.normal(0.0, 0.5, size=len(trials))
    q = expit(bold + trials.prior)
    return bounds.bet_given(
        np.clip(q, 1e-9, 1.0 - 1e-9), trials.truth, trials.prior, error=error
    ).epsilon


def _weighted(delta: float) -> Run:
    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        return weighted.calibrated(trials, rng, delta=delta, error=error)

    return run


def weighted_bold(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """Every trial guessed by the exact evidence: what is disclosed weighs most."""
    evidence = mechanism.evidence(trials.score)
    target = weighted.choose_target(evidence, LARGER_DELTA, error)
    found = weighted.weigh(evidence, trials.truth, target)
    return weighted.epsilon_lower_bound(found, LARGER_DELTA, error)


def _betting_at(delta: float) -> Run:
    """Bets on what the mechanism says, a little too sure; no trial is learned from."""

    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        bold = 1.1 * np.clip(mechanism.evidence(trials.score), -8.0, 8.0)
        found = bounds.bet_given(
            np.clip(expit(bold + trials.prior), 1e-9, 1.0 - 1e-9),
            trials.truth,
            trials.prior,
            error=error,
            deltas=(delta,),
        )
        return found.at_delta[0].epsilon

    return run


def _calibrated(target: guessing.Target) -> Run:
    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        counts = guessing.calibrated(trials, rng, target=target, error=error)
        return target.bound(counts, error)

    return run


def tangents_mu(
    trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator
) -> float:
    """Mu proved for a number of guesses that was chosen from scores."""
    counts = guessing.calibrated(trials, rng, target=_MU, error=error)
    return tangents.mu_lower_bound(counts.trials, counts.guesses, counts.correct, error)


def _union(target: guessing.Target) -> Run:
    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        return guessing.union(trials, rng, target=target, error=error)

    return run


def _proof(correction: str, parameter: str) -> Run:
    """The way every game goes, with the true prior log-odds."""

    def run(trials: Trials, mechanism: Mechanism, error: float, rng: np.random.Generator) -> float:
        rule = Rule((), 2.0 * error, (correction,))  # half of it goes to bets, half to counts
        try:
            proof = prove(trials, rule, rng)
        except CannotConclude:
            return 0.0
        return max(b.value for b in proof.bounds if b.headline and b.parameter == parameter)

    return run


_MU, _PURE, _APPROXIMATE = guessing.Target(None), guessing.Target(0.0), guessing.Target(DELTA)
_LARGER = guessing.Target(LARGER_DELTA)

PROCEDURES: dict[str, Procedure] = {
    p.name: p
    for p in (
        Procedure("binomial", "epsilon", binomial, 0.0),
        Procedure("signed poisson-binomial", "epsilon", signed, 0.0, prior=True),
        Procedure("steinke", "epsilon", steinke, DELTA),
        Procedure("zero-run 5.1.1", "epsilon", zero_run, DELTA),
        Procedure("recursion mu", "mu", recursion_mu),
        Procedure("recursion epsilon", "epsilon", recursion_epsilon, DELTA),
        Procedure("recursion, large delta", "epsilon", recursion_large_delta, LARGE_DELTA),
        Procedure("recursion mu, tau", "mu", recursion_tau),
        Procedure("balanced recursion mu", "mu", balanced_mu, prior=True),
        Procedure("balanced recursion epsilon", "epsilon", balanced_epsilon, DELTA, prior=True),
        Procedure("betting", "epsilon", betting, 0.0, prior=True),
        Procedure("betting, averaged wealth", "epsilon", betting_average, 0.0, prior=True),
        Procedure("betting, bold bets given", "epsilon", betting_bold, 0.0, prior=True),
        Procedure("betting, noise columns", "epsilon", betting_noise, 0.0),
        Procedure("betting, coarse grid", "epsilon", betting_coarse, 0.0),
        Procedure("proof mu", "mu", _proof("balanced", "mu"), prior=True),
        Procedure("proof epsilon", "epsilon", _proof("prior", "epsilon"), 0.0, prior=True),
        Procedure("calibrated guesses mu", "mu", _calibrated(_MU)),
        Procedure("tangents mu", "mu", tangents_mu),
        Procedure("calibrated guesses epsilon", "epsilon", _calibrated(_APPROXIMATE), DELTA),
        Procedure("calibrated, larger delta", "epsilon", _calibrated(_LARGER), LARGER_DELTA),
        Procedure("weighted guesses", "epsilon", _weighted(0.0), 0.0),
        Procedure("weighted guesses at delta", "epsilon", _weighted(DELTA), DELTA),
        Procedure("weighted, larger delta", "epsilon", _weighted(LARGER_DELTA), LARGER_DELTA),
        Procedure("weighted, exact evidence", "epsilon", weighted_bold, LARGER_DELTA),
        Procedure("betting at delta", "epsilon", _betting_at(DELTA), DELTA, prior=True),
        Procedure("betting, larger delta", "epsilon", _betting_at(LARGER_DELTA), LARGER_DELTA),
        Procedure("union of guesses mu", "mu", _union(_MU)),
        Procedure("union of guesses epsilon", "epsilon", _union(_PURE), 0.0),
    )
}
