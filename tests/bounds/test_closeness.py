"""What guesses of real records prove about a generator, and about a model on top of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import binom

from divulge.bounds import closeness, counting
from divulge.errors import InputError


def trials(n, c, rng):
    """Half of the members lie where D = e^c G, the rest where D < G."""
    truth = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    share = np.where(truth > 0, 0.5, 0.5 * np.exp(-c))
    return np.where(rng.random(n) < share, 1.0, 0.0), truth


@pytest.mark.parametrize(("r", "c"), [(1, 1), (10, 9), (40, 40), (300, 200), (1000, 990)])
def test_one_level_is_the_exact_binomial_bound(r, c):
    ours = closeness._binomial_lower(np.array([r]), np.array([c]), 0.05)[0]
    assert ours == pytest.approx(counting.binomial_epsilon_lower_bound(r, r, c, 0.05), abs=1e-7)
    if ours > 0:
        assert binom.sf(c - 1, r, expit(ours)) <= 0.05


def test_levels_of_the_grid_are_at_most_twenty_and_of_the_rule_all_every_number():
    assert closeness.levels(10_000, "grid").size == 20
    assert closeness.levels(10_000, "grid").max() == 6000
    assert closeness.levels(7, "grid").max() <= 7
    np.testing.assert_array_equal(closeness.levels(4, "all"), [1, 2, 3, 4])
    with pytest.raises(InputError, match="Unknown rule"):
        closeness.levels(4, "best")


@pytest.mark.parametrize("rule", closeness.RULES)
def test_the_error_is_divided_by_the_levels(rule):
    rng = np.random.default_rng(1)
    score, truth = trials(400, 2.0, rng)
    found = closeness.recall_bounds(score, truth, error=0.05, rule=rule, rng=rng)
    k = int(np.argmax(found.lower))
    alone = counting.binomial_epsilon_lower_bound(
        400, int(found.guesses[k]), int(found.correct[k]), 0.05 / found.guesses.size
    )
    assert found.value == pytest.approx(alone, abs=1e-7)
    assert found.value > 0.5


@pytest.mark.parametrize("rule", closeness.RULES)
@pytest.mark.parametrize("c", [0.0, 1.0, 3.0])
def test_false_claims_are_rare(rule, c):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(400):
        score, truth = trials(300, c, rng)
        found.append(closeness.recall_bounds(score, truth, error=0.05, rule=rule, rng=rng).value)
    assert np.mean(np.array(found) > c) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_ties_are_broken_without_the_truth():
    rng = np.random.default_rng(3)
    truth = np.repeat([1.0, -1.0], 500)  # sorted: a stable sort alone would guess the real ones
    found = closeness.recall_bounds(np.zeros(1000), truth, error=0.05, rng=rng)
    assert found.value == 0.0
    assert abs(found.precision[-1] - 0.5) < 0.1


@pytest.mark.parametrize("failures", [0.3, 2.0, 7.5, 19.0, 40.0])
@pytest.mark.parametrize(("r", "c", "q"), [(30, 25, 0.6), (50, 45, 0.9), (20, 20, 0.5)])
def test_the_worst_case_of_the_failures_solves_the_linear_programme(r, c, q, failures):
    k = np.arange(c + 1)
    h = binom.sf(c - k - 1, r, q)
    solved = linprog(
        -h, A_ub=[k], b_ub=[failures], A_eq=[np.ones(c + 1)], b_eq=[1.0], bounds=(0, None)
    )
    assert closeness.worst_tail(r, c, q, failures) == pytest.approx(-solved.fun, abs=1e-7)


def test_without_failures_the_relaxed_bound_is_the_exact_one_and_failures_lower_it():
    exact = counting.binomial_epsilon_lower_bound(100, 100, 90, 0.05)
    values = [closeness.relaxed_lower_bound(100, 90, f, 0.05) for f in (0.0, 0.1, 1.0, 5.0, 50.0)]
    assert values[0] == pytest.approx(exact, abs=1e-5)
    assert values[0] <= exact
    assert values == sorted(values, reverse=True)
    assert values[-1] == 0.0


def test_few_failures_are_steinkes_maximum():
    tail = closeness.worst_tail(100, 90, float(expit(1.0)), 2 * 1000 * 1e-6)
    assert tail == pytest.approx(counting.steinke_p_value(1000, 100, 90, 1.0, 1e-6), rel=1e-9)


def test_relaxing_prunes_levels_but_keeps_the_largest_bound():
    rng = np.random.default_rng(5)
    score, truth = trials(600, 2.0, rng)
    pruned = closeness.recall_bounds(
        score, truth, error=0.05, rule="all", failures=1.0, rng=np.random.default_rng(0)
    )
    whole = max(
        closeness.relaxed_lower_bound(int(r), int(c), 1.0, 0.05 / 600)
        for r, c in zip(pruned.guesses, pruned.correct, strict=True)
    )
    assert pruned.value == pytest.approx(whole, abs=1e-9)


def test_both_kinds_of_guesses_count():
    rng = np.random.default_rng(6)
    truth = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    sure = closeness.two_thresholds(truth, truth, error=0.05, rng=rng)
    up, down = closeness.pairs(2000)
    np.testing.assert_array_equal(sure.guesses, up + down)
    inside = (up <= (truth > 0).sum()) & (down <= (truth < 0).sum())
    assert inside.sum() > 40
    np.testing.assert_array_equal(sure.correct[inside], sure.guesses[inside])
    false = [
        closeness.two_thresholds(rng.normal(size=2000), truth, error=0.05, rng=rng).value > 0.0
        for _ in range(300)
    ]
    assert np.mean(false) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_either_threshold_may_stand_alone():
    """Only members are ever told apart: guesses of non-members would be coin flips."""
    rng = np.random.default_rng(7)
    truth = np.where(rng.random(4000) < 0.5, 1.0, -1.0)
    score = rng.normal(size=4000) + 100.0 * ((truth > 0) & (rng.random(4000) < 0.05))
    for sign in (1.0, -1.0):
        found = closeness.two_thresholds(sign * score, sign * truth, error=0.05, rng=rng)
        up, down = closeness.pairs(4000)
        best = int(np.argmax(found.lower))
        assert {0} == {int(down[best] if sign > 0 else up[best])}
        assert found.value > 1.5
    assert (0, 0) not in set(zip(up.tolist(), down.tolist(), strict=True))
    assert len(set(zip(up.tolist(), down.tolist(), strict=True))) == up.size == 63


@pytest.mark.parametrize("trials", [2, 3, 7, 12])
def test_few_trials_have_few_pairs(trials):
    up, down = closeness.pairs(trials)
    assert up.max() <= trials // 2
    assert (up + down).min() >= 1


@pytest.mark.parametrize("change", [{"error": 0.0}, {"error": 1.0}, {"failures": -1.0}])
def test_nonsense_is_refused(change):
    given = {"error": 0.05, "rng": np.random.default_rng(0), **change}
    with pytest.raises(InputError):
        closeness.recall_bounds(np.zeros(10), np.ones(10), **given)
