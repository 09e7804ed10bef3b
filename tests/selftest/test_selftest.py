"""The self-test must pass on sound bounds and fail on broken ones."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from divulge import bounds, selftest
from divulge.bounds import guessing
from divulge.errors import InputError
from divulge.mechanisms import Null, RandomisedResponse
from divulge.selftest.case import Case, Check
from divulge.selftest.games import wanted
from divulge.selftest.grid import GameSize
from divulge.selftest.procedures import PROCEDURES, Procedure
from divulge.selftest.row import exact_interval


def broken(run, mechanism, setting, delta: float | None = 0.0) -> Case:
    """A case whose bound is wrong on purpose."""
    parameter = "epsilon" if delta is not None else "mu"
    truth = Procedure("broken", parameter, run, delta).truth(mechanism)

    def play(error, rng):
        trials = mechanism.sample(setting.trials, rng, setting.log_odds(rng))
        return run(trials, mechanism, error, rng)

    return Case("broken", parameter, delta, mechanism.name, setting.name, play, truth)


def sweep_uncorrected(trials, mechanism, error, rng):
    """What existing tools do: the best of many thresholds, each at the full error."""
    ranks = guessing.centred_ranks(trials.score)
    best = 0.0
    for r in range(10, len(trials), 25):
        counts = guessing.count_correct(guessing.top_guesses(ranks, r, rng), trials.truth)
        best = max(best, bounds.epsilon_lower_bound(counts.trials, counts.guesses, counts.correct))
    return best


def without_prior(trials, mechanism, error, rng):
    guess = np.ones(len(trials))
    counts = guessing.count_correct(guess, trials.truth)
    return bounds.mu_lower_bound(counts.trials, counts.guesses, counts.correct, error)


def error_of_8_percent(trials, mechanism, error, rng):
    guess = guessing.top_guesses(trials.score, len(trials), rng)
    counts = guessing.count_correct(guess, trials.truth)
    return bounds.epsilon_lower_bound(counts.trials, counts.guesses, counts.correct, 0.0, 0.08)


@pytest.mark.slow
def test_an_uncorrected_sweep_is_caught():
    case = broken(sweep_uncorrected, Null(), GameSize(1000))
    (row,) = selftest.run([case], repetitions=150)
    assert not row.holds


def test_a_missing_prior_is_caught():
    case = broken(without_prior, Null(), GameSize(1000, members=0.6), None)
    (row,) = selftest.run([case], repetitions=50)
    assert row.rate > 0.9
    assert not row.holds


def test_eight_percent_is_told_from_five():
    case = broken(error_of_8_percent, RandomisedResponse(1.0), GameSize(2000))
    (row,) = selftest.run([case], repetitions=4000)
    assert not row.holds


def mutated(name: str, monkeypatch, attribute: str, replacement, repetitions: int):
    """Rows of one procedure on the quick cases, with a part of it replaced by a broken one."""
    from divulge.selftest import procedures

    monkeypatch.setattr(procedures, attribute, replacement)
    played = (c for c in selftest.cases(quick=True) if isinstance(c, Case))
    chosen = [c for c in played if c.bound == name]
    return selftest.run(chosen, repetitions=repetitions)


def test_balancing_that_does_nothing_is_caught(monkeypatch):
    rows = mutated("balanced recursion mu", monkeypatch, "balance", lambda t, rng: t, 40)
    assert [row.setting for row in rows if not row.holds]


@pytest.mark.slow
def test_a_bettor_that_ignores_the_prior_is_caught(monkeypatch):
    class Forgetful:
        @staticmethod
        def bet(x, truth, log_odds, **options):
            return bounds.bet(x, truth, 0.0, **options)

    rows = mutated("betting", monkeypatch, "bounds", Forgetful, 30)
    assert any("shift" in row.setting for row in rows if not row.holds)


def test_claiming_the_first_point_not_rejected_is_caught(monkeypatch):
    class OneStepTooHigh:
        def __init__(self, result):
            self.epsilon = result.epsilon + result.step

    class Eager:
        @staticmethod
        def bet(*words, **options):
            return OneStepTooHigh(bounds.bet(*words, **options))

    rows = mutated("betting, coarse grid", monkeypatch, "bounds", Eager, 30)
    assert not all(row.holds for row in rows)


def once(case: Case | Check) -> bool:
    """Whether of two games this row gets one, which convicts nobody: whole audits, mostly."""
    return isinstance(case, Case) and wanted(case, 2) == 1


LONG = (
    "tangents mu | worst mechanism, linear program",
    "lineup, direct bets | every vertex",
    "closeness | generator at the edge | all truths",
    "price of choosing | worst mechanism, linear program | four numbers",
)
"""Exact checks of seconds; other rows of the same bounds are short."""


def later(case: Case | Check) -> bool:
    """Whether a row of the quick form is played in the slow tests only."""
    return once(case) or case.label.startswith(LONG)


def test_the_quick_form_passes_on_every_bound():
    """Two games each, and sixteen more where both are false: a disaster. Most exact checks."""
    every = selftest.cases(quick=True)
    chosen = [c for c in every if not later(c)]
    assert {c.bound for c in chosen} == {c.bound for c in every if not once(c)}
    assert {c.bound for c in chosen} >= set(PROCEDURES)
    rows = selftest.run(chosen, repetitions=2, among=len(every))
    assert [row for row in rows if not row.holds] == []


@pytest.mark.slow
def test_the_quick_form_plays_the_rows_of_few_games_and_the_long_checks():
    chosen = [c for c in selftest.cases(quick=True) if later(c)]
    assert sum(c.label.startswith(LONG) for c in chosen) == len(LONG)
    rows = selftest.run(chosen, repetitions=2)
    assert [row for row in rows if not row.holds] == []


def test_the_full_form_has_what_peers_fail_on():
    labels = [c.label for c in selftest.cases()]
    for text in (
        "60% members",
        "90% members",
        "shift sd 2",
        "tied",
        "m=10",
        "m=10000",
        "noisy sum",
    ):
        assert any(text in label for label in labels), text
    assert len(labels) == len(set(labels))


@pytest.mark.slow
def test_rows_do_not_depend_on_jobs_or_on_the_other_cases():
    chosen = selftest.cases(quick=True, only="binomial")
    chosen = [c for c in chosen if isinstance(c, Case)][:4]
    alone = selftest.run(chosen[:1], repetitions=60)
    together = selftest.run(chosen, repetitions=60, n_jobs=2)
    assert alone[0].false_claims == together[0].false_claims
    assert alone[0].mean_bound == together[0].mean_bound


def test_json_of_a_row_is_plain():
    (row,) = selftest.run(selftest.cases(only="binomial | gaussian")[:1], repetitions=3)
    data = json.loads(json.dumps(row.to_json(), allow_nan=False))
    assert data["truth"] is None
    assert data["verdict"] == "power only"
    assert {f.name for f in dataclasses.fields(row)} - {"holds"} <= set(data)


def test_no_case_is_said():
    with pytest.raises(InputError, match="No case"):
        selftest.run(selftest.cases(only="nothing like this"))


def test_exact_interval():
    low, high = exact_interval(0, 100)
    assert low == 0.0
    assert high == pytest.approx(0.0362, abs=1e-3)
    assert exact_interval(100, 100)[1] == 1.0


@pytest.mark.slow
def test_the_ranks_of_a_true_posterior_are_uniform():
    from divulge.selftest.posteriors import Calibration

    play = Calibration(attacks=2, models=30, delta=0.0)
    ranks = np.sort([play.ranks(np.random.default_rng([5, k]))["epsilon"] for k in range(120)])
    uniform = (np.arange(120) + 0.5) / 120
    assert np.max(np.abs(ranks - uniform)) < 1.63 / np.sqrt(120)  # Kolmogorov, 1%


@pytest.mark.slow
def test_a_posterior_that_forgets_the_strength_is_caught(monkeypatch):
    """Strength 1 assumed, as in Remark 2: the intervals are far too narrow."""
    from divulge.posterior.priors import StrengthPrior
    from divulge.selftest import posteriors

    honest = posteriors.posterior

    def overconfident(counts, delta, *, epsilon_prior, strength):
        return honest(counts, delta, epsilon_prior=epsilon_prior, strength=StrengthPrior(fixed=1.0))

    monkeypatch.setattr(posteriors, "posterior", overconfident)
    case = next(
        c for c in selftest.cases() if "posterior of epsilon, rank in the upper end" in c.label
    )
    (row,) = selftest.run([dataclasses.replace(case, share=1.0)], repetitions=60)
    assert not row.holds


def test_an_error_bound_without_the_split_is_caught(monkeypatch):
    from divulge.bounds import error_rates
    from divulge.selftest import posteriors

    honest = error_rates.epsilon_from_errors
    monkeypatch.setattr(
        posteriors, "epsilon_from_errors", lambda c, d, error: honest(c, d, min(0.99, 10 * error))
    )
    chosen = [
        c for c in selftest.cases() if c.bound.startswith("clopper") and "1 attacks" in c.label
    ]
    rows = selftest.run(chosen, repetitions=200)
    assert not all(row.holds for row in rows)
