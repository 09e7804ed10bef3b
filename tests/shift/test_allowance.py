from __future__ import annotations

import dataclasses
import math
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift import allowance as allowances
from divulge.shift.allowance import (
    MU_SCALE,
    REACH,
    Nuisances,
    estimate_allowance,
    higher_order,
    second_order,
    simulate,
)
from divulge.shift.design import read_records
from divulge.shift.prognostic import fit_prognostic
from divulge.shift.terms import describe

ROWS = 3000


def nuisances(**options):
    """What was fitted once, and chance as it stood then."""
    return deepcopy(fitted(**options))


@cache
def fitted(seed=1, rows=ROWS, shift=0.0, claimed=None, missed=0.0, columns=10):
    """Membership and score share ``missed`` times a function of x that both models missed."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    known = shift * x[:, 0]
    hidden = missed * np.clip(x[:, 1] * x[:, 2] * x[:, 3] * x[:, 4], -4.0, 4.0)
    truth = np.where(rng.random(rows) < expit(known + hidden), 1.0, -1.0)
    score = 0.7 * x[:, 0] + hidden + rng.standard_normal(rows)
    records = read_records(x, rng)
    prognostic = fit_prognostic(score, records, rng, folds=2)
    log_odds = known if claimed is None else claimed(x)
    return Nuisances(records, score, truth, log_odds, prognostic, 0.0, trim=1.5, coin=0.0), rng


def test_small_without_shift():
    n, rng = nuisances()
    allowance = estimate_allowance(n, bets=ROWS // 2, rng=rng)
    assert 0.0 < allowance.epsilon < 0.2
    assert allowance.epsilon == pytest.approx(REACH * allowance.slope)
    assert allowance.mu == pytest.approx(MU_SCALE * allowance.slope)


@pytest.mark.slow
def test_large_with_shift_that_no_model_learned():
    n, rng = nuisances(missed=1.0)
    slopes = higher_order(n, rng)
    assert slopes["quadruples"].value > 3.0 * slopes["quadruples"].standard_error
    allowance = estimate_allowance(n, bets=ROWS // 2, rng=rng)
    assert 0.6 < allowance.epsilon < math.inf


def test_second_order_sees_a_shared_error_and_only_that():
    shared, rng = nuisances(shift=1.0, claimed=lambda x: np.zeros(ROWS))
    wrong_score = Nuisances(
        shared.records, shared.score, shared.truth, shared.log_odds,
        flat(shared), shared.leak, trim=1.5, coin=0.0,
    )  # fmt: skip
    one_wrong, both_wrong = second_order(shared, rng), second_order(wrong_score, rng)
    assert abs(one_wrong.value) < 0.08
    assert both_wrong.value > 0.3
    assert both_wrong.value > 5.0 * both_wrong.standard_error


def flat(n):
    """A prognostic score that denies that x matters, with all columns still relevant."""
    from dataclasses import replace

    return replace(n.prognostic, mean=np.zeros(len(n.records)), scale=np.ones(len(n.records)))


def test_a_leak_alone_does_not_show():
    n, rng = nuisances()
    leaking = Nuisances(
        n.records, n.score + 1.0 * (n.truth > 0), n.truth, n.log_odds, n.prognostic,
        1.0, trim=1.5, coin=0.0,
    )  # fmt: skip
    slope = second_order(leaking, rng)
    assert abs(slope.value) < 3.0 * slope.standard_error


@pytest.mark.slow
def test_the_simulated_world_has_the_errors_of_the_fit():
    many, rng = nuisances(rows=2500, shift=1.0)
    few, _ = nuisances(rows=500, shift=1.0)
    well, badly = simulate(many, rng), simulate(few, rng)
    assert 0.0 < well.propensity_error < badly.propensity_error
    assert 0.0 < well.prognostic_error < badly.prognostic_error


def allowed(bets=1000):
    n, _ = nuisances(rows=800)
    return estimate_allowance(n, bets=bets, rng=np.random.default_rng(1))


@pytest.fixture(scope="module")
def plain():
    return allowed()


def test_what_the_blind_baseline_proved_is_deducted_too(plain):
    blind = plain.beside(0.5)
    assert blind.epsilon == pytest.approx(plain.epsilon + 0.5)
    assert blind.mu == pytest.approx(plain.mu + 0.6239, abs=1e-4)  # 2 Phi^-1(sigma(0.5))


def test_more_bets_reach_further(plain):
    assert allowed(bets=1_000_000).epsilon > 1.5 * plain.epsilon


def test_too_few_trials_are_said():
    n, rng = nuisances(rows=150)
    allowance = estimate_allowance(n, bets=60, rng=rng)
    assert allowance.epsilon == allowance.mu == math.inf
    assert all(math.isfinite(v) for v in allowance.parts().values())


@pytest.mark.parametrize("leak", [-1.0, 1.0])
def test_a_world_that_cannot_be_judged_is_said_of_lower_scores_too(leak, monkeypatch):
    n, rng = nuisances(rows=800)
    nowhere = allowances.Simulated(math.inf, math.inf, math.inf)
    monkeypatch.setattr(allowances, "simulate", lambda *_: nowhere)
    found = estimate_allowance(dataclasses.replace(n, leak=leak), bets=1000, rng=rng)
    assert found.epsilon == found.mu == math.inf


def test_binary_columns_have_no_waves(rng):
    n, _ = nuisances()
    x = rng.integers(0, 2, (ROWS, 5)).astype(float)
    assert describe(x, rng).continuous.size == 0
    binary = Nuisances(
        read_records(x, rng), n.score, n.truth, n.log_odds, n.prognostic, 0.0, trim=1.5, coin=0.0
    )
    found = set(higher_order(binary, rng))
    assert {"pairs", "pairs_of_signs", "pairs_decorrelated", "triples", "quadruples"} <= found
    assert not any("waves" in name for name in found)


def test_correlated_columns_keep_the_scale_of_a_slope(rng):
    """Twenty copies of one column, nearly, and a shared error in its square."""
    n, _ = nuisances()
    x = rng.standard_normal((ROWS, 1)) + 0.3 * rng.standard_normal((ROWS, 20))
    hidden = 0.5 * (x[:, 0] ** 2 - x[:, 0].var())
    truth = np.where(rng.random(ROWS) < expit(hidden), 1.0, -1.0)
    shared = Nuisances(
        read_records(x, rng), rng.standard_normal(ROWS) + hidden, truth, np.zeros(ROWS),
        flat(n), 0.0, trim=1.5, coin=0.0,
    )  # fmt: skip
    true = float(hidden.var() / np.sqrt(1.0 + hidden.var()))
    slope = higher_order(shared, rng)["pairs"]
    assert slope.value > 5.0 * slope.standard_error
    assert 0.3 * true < slope.value < 2.0 * true
    right = Nuisances(
        shared.records, rng.standard_normal(ROWS), rng.choice([-1.0, 1.0], ROWS), np.zeros(ROWS),
        flat(n), 0.0, trim=1.5, coin=0.0,
    )  # fmt: skip
    for slope in higher_order(right, rng).values():
        assert abs(slope.value) < 4.5 * slope.standard_error
