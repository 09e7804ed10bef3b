"""The one way from trials to what they prove."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, overload

import numpy as np

from divulge.bounds import several_draws
from divulge.proof import published, values
from divulge.proof.adjust import adjust
from divulge.proof.corrections import DEDUCTED, Proof, correct, deduct
from divulge.proof.headline import with_headline
from divulge.proof.lineup import LineUp, LineUpProof, lined_up
from divulge.proof.prepared import Prepared
from divulge.proof.published import CoinProof, Coins
from divulge.proof.rule import Rule
from divulge.proof.values import ValueProof, Values
from divulge.result import Bound
from divulge.shift.robust import BeforeGuards
from divulge.trials import Trials
from divulge.types import Progress


@overload
def prove(
    trials: Trials, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> Proof: ...


@overload
def prove(
    trials: Values, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> ValueProof: ...


@overload
def prove(
    trials: Coins, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> CoinProof: ...


@overload
def prove(
    trials: LineUp, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> LineUpProof: ...


def prove(
    trials: Trials | Values | Coins | LineUp,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Proof | ValueProof | CoinProof | LineUpProof:
    """What the scores prove beyond what the records give away; CannotConclude where nothing can.

    Shift is taken into account (``adjust.py``), then every correction states its bounds
    (``corrections.py``). Whatever is learned, chosen and drawn at random follows from the trials,
    the rule and the generator. A value that records keep to themselves is bet on itself, and
    guessed in pairs (``values.py``), or shown by coins as published (``published.py``). Of line-ups
    the true value itself is bet on and guessed (``lineup.py``).
    """
    if isinstance(trials, LineUp):
        return lined_up(trials, rule, rng, progress)
    if isinstance(trials, Values):
        proof = values.bet_and_pair(trials, rule, rng, progress)
        return replace(proof, bounds=values.stated(proof))
    if isinstance(trials, Coins):
        flipped = published.flip_coins(trials, rule, rng, progress)
        return replace(flipped, bounds=published.stated(flipped))

    before: Proof | None = None
    after: list[Any] = []

    def finds(unguarded: Prepared) -> BeforeGuards:
        nonlocal before
        own = copy.deepcopy(rng)  # the same uniforms for both
        before = _headed(correct(unguarded, rule, own), rule, own)
        after.append(own.bit_generator.state)
        return _found(before.bounds)

    prepared = adjust(trials, rule, rng, progress, finds if rule.brief else None)
    if before is not None and rule.headline is None and rule.seeds == 1:
        rng.bit_generator.state = after[-1]  # whoever draws next draws what follows the bounds
        return deduct(before, prepared)
    tell = None if progress is None else partial(progress, "bets")
    if progress is not None:
        progress("bounds", 0, 1)
    if rule.seeds == 1:
        return _headed(correct(prepared, rule, rng, tell), rule, rng)
    again = copy.deepcopy(rng)  # the same uniforms for both
    whole = correct(prepared, rule, rng, tell, several_draws.goal(rule.half, rule.seeds))
    whole = _headed(whole, rule, rng)
    counting = tuple(c for c in rule.corrections if c != "prior")
    if not counting and rule.headline is None:
        return whole
    error = several_draws.error_of_each(rule.error, rule.seeds)
    less = replace(rule, corrections=counting, error=error)
    smaller = _headed(correct(prepared, less, again), less, again)
    return replace(whole, smaller=smaller.bounds)


def _headed(proof: Proof, rule: Rule, rng: np.random.Generator) -> Proof:
    return proof if rule.headline is None else with_headline(proof, rule, rng)


def _found(bounds: Iterable[Bound]) -> BeforeGuards:
    """The largest bounds of which an allowance is deducted; any other one is to have all guards."""
    largest = {"epsilon": 0.0, "mu": 0.0}
    for bound in bounds:
        if bound.value > 0.0 and bound.correction != "none":
            value = bound.value if bound.correction in DEDUCTED else math.inf
            largest[bound.parameter] = max(largest[bound.parameter], value)
    return BeforeGuards(**largest)
