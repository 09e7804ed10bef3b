"""From counts to a list of stated bounds: what ``divulge bound`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from divulge.bounds import METHODS, epsilon_lower_bound, mu_lower_bound, resolve_method
from divulge.errors import InputError, require
from divulge.result import Bound

DELTAS = (0.0, 1e-6, 1e-5)

THEOREMS = {
    "binomial": "Steinke, Nasr, Jagielski 2023, Proposition 5.1 (exact binomial tail)",
    "steinke": "Steinke, Nasr, Jagielski 2023, Theorem 5.2",
    "zero-run": "Zero-Run auditing, Theorem 5.1.1",
    "recursion": "Mahloujifar, Melis, Chaudhuri 2024, Theorem 9 (f-DP recursion, monotone tails)",
    "tau": "Observational auditing of label privacy, Theorem 5 (f-DP recursion with shift budget)",
}
FAIR_COINS = "the truths of the trials are independent fair coins, given the records"
HONEST_GUESSES = "the guesses and their number were fixed without looking at these truths"
FIXED_NUMBER = (
    "the guesses were fixed without looking at these truths, their number without looking at the "
    "scores"
)
"""Of counts that a user brings; where a game chose the number, that is paid for."""


def state_bounds(
    trials: int,
    guesses: int,
    correct: int,
    *,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    method: str = "auto",
    tau: float = 0.0,
) -> list[Bound]:
    """The bound on mu, and on epsilon at each delta, each at confidence ``1 - error``.

    Each holds on its own; the headline is the first, mu by recursion (or the first epsilon where
    the method has no mu), so that a verdict rests on one bound named beforehand.
    """
    if method not in METHODS:
        raise InputError(f"Unknown method {method!r}. Choose from {', '.join(METHODS)}.")
    require(len(deltas) > 0, "Give at least one delta.")
    assumptions = (FAIR_COINS, FIXED_NUMBER)
    if tau > 0.0:
        near = f"within total variation {tau:g} of independent fair coins, given the records"
        assumptions = (f"the truths of the trials are {near}", FIXED_NUMBER)
    bounds = []
    if method in ("auto", "recursion"):
        bounds.append(
            Bound(
                parameter="mu",
                value=mu_lower_bound(trials, guesses, correct, error, tau=tau),
                confidence=1.0 - error,
                method="recursion",
                theorem=THEOREMS["tau" if tau > 0.0 else "recursion"],
                assumptions=assumptions,
                headline=True,
                standing="proved",
            )
        )
    for delta in deltas:
        chosen = resolve_method(method, delta, tau)
        bounds.append(
            Bound(
                parameter="epsilon",
                delta=float(delta),
                value=epsilon_lower_bound(
                    trials, guesses, correct, delta, error, method=chosen, tau=tau
                ),
                confidence=1.0 - error,
                method=chosen,
                theorem=THEOREMS["tau" if tau > 0.0 else chosen],
                assumptions=assumptions,
                headline=not bounds,
                standing="proved",
            )
        )
    return bounds
