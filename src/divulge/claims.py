"""Is a privacy claim refuted by a result?

Only headline bounds count: they were named before the truth was looked at, and the error is split
between them. A claim of (epsilon, delta) is refuted by a bound on epsilon at the same or a larger
delta; a claim of mu by a bound on mu, or by a bound on epsilon at delta above what G_mu allows.

A claim is about training sets that differ by a record *added* (or removed) or by one *replaced*,
and so is a result. Replacing is removing and adding: by group privacy of two steps, (epsilon,
delta) becomes (2 epsilon, (1 + e^epsilon) delta) and G_mu becomes G_{2 mu}. The other way nothing
follows: a mechanism may guard a replaced record and yet give away how many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.curves import ApproximateDP, Curve, Gaussian, epsilon_from_mu, mu_from_pure_epsilon
from divulge.errors import InputError, require
from divulge.games import registry
from divulge.result import Bound, Result
from divulge.text.rounding import apart, at_least, exact, rounded_up, share


@dataclass(frozen=True)
class Claim:
    """A promise to be held against a result: epsilon at delta, or mu.

    ``neighbours``, if the promise names them: a record is "added" (or removed), or "replaced".
    """

    epsilon: float | None = None
    delta: float = 0.0
    mu: float | None = None
    neighbours: str | None = None

    def __post_init__(self) -> None:
        require(
            self.neighbours in (None, *registry.NEIGHBOURS),
            f"The neighbours of a claim are added or replaced. Found {self.neighbours!r}.",
        )

    @classmethod
    def parse(cls, text: str) -> Claim:
        """``epsilon=8,delta=1e-5`` or ``mu=1``; ``neighbours=added`` or ``replaced`` after it."""
        values: dict[str, float] = {}
        neighbours: str | None = None
        for part in text.split(","):
            name, sign, number = part.partition("=")
            name = name.strip().lower()
            if name == "neighbours" and neighbours is None:
                neighbours = number.strip().lower()
                continue
            try:
                value = float(number)
            except ValueError:
                value = float("nan")
            known = name in ("epsilon", "delta", "mu")
            if not sign or not known or name in values or not 0.0 <= value < math.inf:
                raise InputError(
                    f"Cannot read the claim {text!r}. Write epsilon=8,delta=1e-5 or mu=1."
                )
            values[name] = value
        require(
            ("mu" in values) != ("epsilon" in values)
            and not ("mu" in values and "delta" in values),
            f"A claim is epsilon (with delta) or mu. Found {text!r}.",
        )
        require(
            values.get("delta", 0.0) < 1.0,
            f"The delta of a claim must lie in [0, 1). Found {text!r}.",
        )
        return cls(values.get("epsilon"), values.get("delta", 0.0), values.get("mu"), neighbours)

    def __str__(self) -> str:
        about = f" for a record {self.neighbours}" if self.neighbours else ""
        if self.mu is not None:
            return f"mu = {exact(self.mu)}{about}"
        assert self.epsilon is not None
        return f"epsilon = {exact(self.epsilon)} at delta {exact(self.delta)}{about}"

    def twice(self) -> Claim:
        """What it promises for two steps; delta at most 1."""
        if self.mu is not None:
            return replace(self, mu=2.0 * self.mu)
        assert self.epsilon is not None
        delta = min(1.0, self.delta * (1.0 + math.exp(min(self.epsilon, 700.0))))
        return replace(self, epsilon=2.0 * self.epsilon, delta=delta)

    def held_against(self, game: str) -> Claim | None:
        """What it promises for the neighbours of that game; None: nothing."""
        theirs = registry.neighbours(game)
        if self.neighbours == "added" and theirs != "added":
            return self.twice()
        return None if self.neighbours == "replaced" and theirs == "added" else self

    @property
    def curve(self) -> Curve:
        """The promised trade-off curve."""
        if self.mu is not None:
            return Gaussian(self.mu)
        assert self.epsilon is not None
        return ApproximateDP(self.epsilon, self.delta)

    def limit(self, bound: Bound) -> float | None:
        """The largest value of the bound's parameter that the claim allows; None: says nothing."""
        if self.mu is not None:
            if bound.parameter == "mu":
                return self.mu
            return epsilon_from_mu(self.mu, bound.delta) if bound.delta else None
        assert self.epsilon is not None
        if bound.parameter == "epsilon":
            return self.epsilon if (bound.delta or 0.0) >= self.delta else None
        return mu_from_pure_epsilon(self.epsilon) if self.delta == 0.0 else None


@dataclass(frozen=True)
class Judgement:
    """What a result says about a claim."""

    comparable: bool
    refuted: bool
    sentence: str

    @property
    def exit_code(self) -> int:
        """0 not refuted, 1 refuted, 3 not comparable."""
        if not self.comparable:
            return 3
        return 1 if self.refuted else 0


def described(result: Result, claim: Claim) -> dict[str, Any]:
    """The claim, its judgement and its curve, as the report draws it."""
    judgement = check(result, claim)
    status = "not comparable"
    if judgement.comparable:
        status = "refuted" if judgement.refuted else "not refuted"
    fpr = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 120)])
    tpr = (claim.held_against(result.game) or claim).curve.tpr(fpr)
    curve = {"fpr": fpr.tolist(), "tpr": tpr.tolist(), "label": str(claim)}
    return {"text": str(claim), "status": status, "sentence": judgement.sentence, "curve": curve}


def check(result: Result, claim: Claim | str) -> Judgement:
    """Hold a claim, such as ``epsilon=8,delta=1e-5``, against the headline bounds of a result."""
    claim = Claim.parse(claim) if isinstance(claim, str) else claim
    if result.verdict.status == "cannot conclude":
        return _incomparable(result.verdict.sentence)
    held = claim.held_against(result.game)
    if held is None:
        return _incomparable(
            f"the {result.game} result is about a record that is added or left out, the claim "
            "about one that is replaced, and neither follows from the other."
        )
    if held.delta >= 1.0:
        return _incomparable(f"two steps of {claim} promise nothing about a replaced record.")
    pairs = ((b, held.limit(b)) for b in result.headline())
    usable = [(b, limit) for b, limit in pairs if limit is not None]
    if not usable:
        have = ", ".join(_parameter(b) for b in result.headline())
        larger = held.delta > claim.delta
        needed = f"delta {rounded_up(held.delta)} or more" if larger else "that delta"
        return _incomparable(
            f"the result has headline bounds on {have or 'nothing'}, none of which applies to "
            f"{claim}. Audit again with {needed}."
        )
    worst, limit = max(usable, key=lambda pair: pair[0].value - pair[1])
    name, sure = _parameter(worst), f"with confidence {share(worst.confidence)}"
    allows = f"{claim} allows {name} up to"
    if worst.value > limit:
        fragile = "" if result.verdict.robust else " The finding is fragile, see its reasons."
        allowed, seen = apart(limit, worst.value)
        return Judgement(
            True,
            True,
            f"Refuted: {allows} {allowed}, but {name} is at least {seen} {sure}.{fragile}"
            f"{_reserve(result, claim)}",
        )
    return Judgement(
        True,
        False,
        f"Not refuted: {allows} {at_least(limit)}; {name} is at least "
        f"{at_least(worst.value)} {sure}.",
    )


def _incomparable(reason: str) -> Judgement:
    return Judgement(False, False, f"Not comparable: {reason}")


def _reserve(result: Result, claim: Claim) -> str:
    """A refutation that needs the claim to be about replaced records says so."""
    if claim.neighbours or registry.neighbours(result.game) != "replaced":
        return ""
    added = replace(claim, neighbours="added")
    if check(result, added).refuted:
        return ""
    return " It is about a replaced record; if the claim is not, add neighbours=added to it."


def _parameter(bound: Bound) -> str:
    return bound.parameter if bound.delta is None else f"epsilon at delta {exact(bound.delta)}"
