"""What do the guesses prove? Pure functions from counts or scores to lower bounds.

``mu_lower_bound`` and ``epsilon_lower_bound`` are the two calls behind ``divulge bound``.
"""

from __future__ import annotations

from divulge.bounds.betting import BettingResult, bet, bet_given
from divulge.bounds.checks import check_delta
from divulge.bounds.counting import (
    binomial_epsilon_lower_bound,
    poisson_binomial_tail,
    signed_epsilon_lower_bound,
    steinke_epsilon_lower_bound,
    zero_run_epsilon_lower_bound,
)
from divulge.bounds.error_rates import epsilon_from_errors
from divulge.bounds.guessing import Counts, Target, calibrated, top_guesses, union
from divulge.bounds.recursion import epsilon_lower_bound as recursion_epsilon_lower_bound
from divulge.bounds.recursion import largest_rejected, mu_lower_bound, rejects, sweep
from divulge.errors import InputError

METHODS = ("auto", "binomial", "recursion", "steinke", "zero-run")

__all__ = [
    "METHODS",
    "BettingResult",
    "Counts",
    "Target",
    "bet",
    "bet_given",
    "binomial_epsilon_lower_bound",
    "calibrated",
    "epsilon_from_errors",
    "epsilon_lower_bound",
    "largest_rejected",
    "mu_lower_bound",
    "poisson_binomial_tail",
    "recursion_epsilon_lower_bound",
    "rejects",
    "resolve_method",
    "signed_epsilon_lower_bound",
    "steinke_epsilon_lower_bound",
    "sweep",
    "top_guesses",
    "union",
    "zero_run_epsilon_lower_bound",
]


def resolve_method(method: str, delta: float, tau: float = 0.0) -> str:
    """The method that ``auto`` stands for: binomial at delta 0, the recursion elsewhere."""
    if method not in METHODS:
        raise InputError(f"Unknown method {method!r}. Choose from {', '.join(METHODS)}.")
    if method == "auto":
        return "binomial" if delta == 0.0 and tau == 0.0 else "recursion"
    if method == "binomial" and delta > 0.0:
        raise InputError("The binomial bound is for delta 0. Use recursion for delta above 0.")
    if tau > 0.0 and method != "recursion":
        raise InputError(f"tau is part of the recursion. Found method {method!r}.")
    return method


def epsilon_lower_bound(
    trials: int,
    guesses: int,
    correct: int,
    delta: float = 0.0,
    error: float = 0.05,
    *,
    method: str = "auto",
    tau: float = 0.0,
) -> float:
    """Lower bound on epsilon at delta from counted guesses on independent fair coins."""
    check_delta(delta)
    chosen = resolve_method(method, delta, tau)
    if chosen == "binomial":
        return binomial_epsilon_lower_bound(trials, guesses, correct, error)
    if chosen == "steinke":
        return steinke_epsilon_lower_bound(trials, guesses, correct, delta, error)
    if chosen == "zero-run":
        return zero_run_epsilon_lower_bound(trials, guesses, correct, delta, error)
    return recursion_epsilon_lower_bound(trials, guesses, correct, delta, error, tau=tau)
