"""Guards only ever lower a bound: where there is none before them, a brief audit is spared them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from divulge.data.features import Features
from divulge.games.membership.play import Pools, audit_pools
from divulge.mechanisms import Shifted
from divulge.proof.rule import Named, Rule
from divulge.shift import robust

RULE = Rule((1e-5,), 0.002, ("composition", "signed", "balanced", "prior"))


def pools(mu: float, seed: int, rows: int = 700) -> Pools:
    drawn = Shifted("linear", 1.0, mu=mu).sample(rows, np.random.default_rng(seed))
    names = tuple(f"x_{j}" for j in range(drawn.features.shape[1]))
    return Pools(
        truth=drawn.truth,
        score=drawn.score[:, None],
        features=Features(drawn.features, names),
        reference=None,
        propensity=None,
        score_names=("score",),
        inputs=(),
    )


@pytest.fixture
def guarded(monkeypatch):
    """How often the guards ran."""
    seen = []
    estimate = robust.estimate_allowance

    def spied(*args, **options):
        seen.append(1)
        return estimate(*args, **options)

    monkeypatch.setattr(robust, "estimate_allowance", spied)
    return seen


@pytest.mark.parametrize("seed", [0, 1])
def test_a_leak_is_guarded_and_every_bound_is_the_same(seed, guarded):
    table = pools(3.0, seed)
    whole = audit_pools(table, RULE, seed=seed)
    brief = audit_pools(table, replace(RULE, brief=True), seed=seed)
    assert len(guarded) == 2
    assert brief.bounds == whole.bounds
    assert brief.verdict == whole.verdict
    assert any(b.value > 0.0 for b in brief.headline())


@pytest.mark.parametrize("seed", [0, 1])
def test_nothing_found_is_claimed_sooner(seed, guarded):
    table = pools(0.0, seed)
    brief = audit_pools(table, replace(RULE, brief=True), seed=seed)
    assert guarded == []
    assert {b.value for b in brief.bounds} == {0.0}
    whole = audit_pools(table, RULE, seed=seed)
    assert len(guarded) == 1
    assert all(b.value == 0.0 for b in whole.bounds)


def test_a_named_headline_is_guarded_if_it_claims(guarded):
    named = replace(RULE, error=0.5, headline=Named.of("epsilon"))
    for seed in range(3):
        table = pools(0.0, seed)
        whole, brief = (
            audit_pools(table, replace(named, brief=b), seed=seed) for b in (False, True)
        )
        assert [b.value for b in brief.headline()] == [b.value for b in whole.headline()]
    assert len(guarded) > 3


def test_an_allowance_that_raises_bounds_is_refused(monkeypatch):
    wrong = partial(replace, epsilon=-0.3)
    estimate = robust.estimate_allowance
    monkeypatch.setattr(robust, "estimate_allowance", lambda *a, **k: wrong(estimate(*a, **k)))
    with pytest.raises(AssertionError, match="only ever lower"):
        audit_pools(pools(0.0, 0), RULE)


def test_a_control_is_heard_only_of_a_claim(guarded):
    table = replace(pools(0.0, 0), reference=pools(0.0, 0).score[:, 0])
    assert audit_pools(table, replace(RULE, brief=True)).diagnostics.negative_control is None
    assert audit_pools(table, RULE).diagnostics.negative_control is not None
