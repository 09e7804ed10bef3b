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
from divulge.selftest import hostile
from divulge.shift import allowance, robust

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


@pytest.mark.parametrize("seed", [6, 11])
def test_a_control_of_a_finding_is_the_same(seed):
    """It draws what follows the bounds, whoever skipped computing them again."""
    table, other = pools(3.0, seed), pools(3.0, seed + 100)
    mixed = 0.5 * table.score[:, 0] + other.score[:, 0]
    table = replace(table, reference=mixed)
    whole, brief = (audit_pools(table, replace(RULE, brief=b), seed=seed) for b in (False, True))
    assert whole.diagnostics.negative_control is not None
    assert brief.diagnostics.negative_control == whole.diagnostics.negative_control
    assert brief.verdict == whole.verdict
    assert brief.headline() == whole.headline()


def test_guards_end_once_a_finding_is_explained(monkeypatch, guarded):
    """A score that knows what moves the groups, and no leak: neighbours say it, the rest rests."""
    ran = []
    simulate = allowance.simulate

    def spied(*args):
        ran.append(1)
        return simulate(*args)

    monkeypatch.setattr(allowance, "simulate", spied)
    audit = partial(hostile.audit, "checkerboard of two columns", 3000, 0.05, control=False)
    brief = audit(np.random.default_rng(1), brief=True)
    assert (len(guarded), len(ran)) == (1, 0)
    assert not any(b.value for b in brief.headline())
    whole = audit(np.random.default_rng(1))
    assert (len(guarded), len(ran)) == (2, 1)
    assert not any(b.value for b in whole.headline())
