"""Values: what bets and pairs prove beside the published game, with and without a sure prior."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.prove import prove
from divulge.proof.published import Coins
from divulge.proof.rule import Rule
from divulge.proof.values import Values
from divulge.shift import value_prior
from divulge.shift.pooling import log_probabilities

RULE = Rule((1e-5,), 0.05)


def drawn(records, seed, **kwargs):
    table = NoisyLabels(**kwargs).sample(records, np.random.default_rng(seed))
    log_target, log_proxy = log_probabilities(table.target), log_probabilities(table.proxy)
    head, tail = value_prior.split(records, 0.1, np.random.default_rng(seed))
    priors = value_prior.vouched(log_proxy, table.proxy, head, tail)
    return table, log_target - log_proxy, priors


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 10])
def test_more_is_proved_than_by_coins_and_less_than_is_there(classes):
    table, score, priors = drawn(4000, 0, kind="uniform", epsilon=2.0, classes=classes)
    rng = np.random.default_rng(0)
    proof = prove(Values(score, table.codes, priors), RULE, rng)
    coins = prove(Coins(score, table.codes, table.proxy, priors.head, priors.tail, True), RULE, rng)
    found, published = ({(b.parameter, b.delta): b.value for b in p.bounds} for p in (proof, coins))
    assert 1.7 < found["epsilon", 0.0] <= 2.0
    assert 1.6 < found["epsilon", 1e-5] <= 2.0
    assert 1.2 * published["epsilon", 0.0] < found["epsilon", 0.0]
    assert published["mu", None] < found["mu", None]
    standings = {(b.parameter, b.standing) for b in proof.bounds}
    assert standings == {("mu", "numerical"), ("epsilon", "proved")}


@pytest.mark.parametrize("games", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_a_value_that_leaks_nothing_is_not_claimed(games):
    claims = 0
    for seed in range(games):
        table, score, priors = drawn(300, seed, kind="uniform", classes=3)
        proof = prove(
            Values(score, table.codes, priors), Rule((), 0.4), np.random.default_rng(seed)
        )
        claims += any(b.value > 0.0 for b in proof.bounds)
    assert claims <= 0.4 * games + 3 * np.sqrt(games * 0.4 * 0.6)


def test_coins_without_a_voucher_are_estimates_and_a_tau_is_a_headline():
    table, score, priors = drawn(2000, 3, kind="uniform", epsilon=3.0)
    parts = (score, table.codes, table.proxy, priors.head, priors.tail)
    rng = np.random.default_rng(0)
    unsure = prove(Coins(*parts, False), RULE, rng)
    assert {b.standing for b in unsure.bounds} == {"estimated"}
    within = prove(Coins(*parts, True), Rule((1e-5,), 0.05, tau=1e-3), rng)
    assert {b.correction for b in within.bounds if b.headline} == {"tau"}
    assert {b.standing for b in within.bounds if not b.headline} == {"estimated"}
