"""Priors of a value: who may be fitted on what, and what the models recover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from divulge.attacks.shown_value import value_score
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof import values
from divulge.shift import misfit, students, value_prior, value_trials
from divulge.shift.pooling import FLOOR, fit_pool, log_probabilities, one_hot


def drawn(records=1200, seed=0, **kwargs):
    return NoisyLabels(**kwargs).sample(records, np.random.default_rng(seed))


def logs(table):
    return log_probabilities(table.target), log_probabilities(table.proxy)


def test_log_probabilities_are_floored_and_normalised():
    found = np.exp(log_probabilities([[1.0, 0.0], [0.25, 0.75]]))
    assert np.allclose(found.sum(axis=1), 1.0)
    assert found[0, 1] == pytest.approx(FLOOR, rel=1e-3)
    assert np.allclose(found[1], [0.25, 0.75])


def test_the_pool_recalibrates_an_overconfident_member():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(20_000, 3))
    truth = log_probabilities(np.exp(score))
    codes = value_trials.draw_values(np.exp(truth), rng)
    pool = fit_pool([log_probabilities(np.exp(3.0 * score))], one_hot(codes, 3))
    assert pool.weights[0] == pytest.approx(1 / 3, abs=0.02)
    assert np.abs(pool([log_probabilities(np.exp(3.0 * score))]) - truth).max() < 0.2


def test_the_pool_ignores_noise_beside_the_truth():
    rng = np.random.default_rng(1)
    truth = log_probabilities(np.exp(rng.normal(size=(20_000, 2))))
    noise = log_probabilities(np.exp(rng.normal(size=(20_000, 2))))
    codes = value_trials.draw_values(np.exp(truth), rng)
    pool = fit_pool([noise, truth], one_hot(codes, 2))
    assert pool.weights == pytest.approx([0.0, 1.0], abs=0.06)


def test_few_records_leave_the_proxy_as_it_is():
    table = drawn(10)
    _, proxy = logs(table)
    pool = fit_pool([proxy, np.zeros_like(proxy)], one_hot(table.codes, 2))
    assert pool.weights[0] == pytest.approx(1.0, abs=0.6)


def test_drawn_values_follow_the_proxy():
    p = np.tile([[0.2, 0.5, 0.3]], (30_000, 1))
    share = np.bincount(value_trials.draw_values(p, np.random.default_rng(2)), minlength=3) / 30_000
    assert np.abs(share - [0.2, 0.5, 0.3]).max() < 4 * np.sqrt(0.25 / 30_000)


@pytest.fixture(scope="module")
def smart():
    """A target that knows the population exactly, and its student."""
    table = drawn(3000, kind="curved")
    target, proxy = logs(table)
    return (
        target,
        proxy,
        students.fit_student(target, proxy, table.features, np.random.default_rng(3)),
    )


@pytest.fixture(scope="module")
def remembering():
    """A target that is noisy labels, and its student."""
    table = drawn(3000, epsilon=3.0)
    target, proxy = logs(table)
    student = students.fit_student(target, proxy, table.features, np.random.default_rng(3))
    return target, log_probabilities(table.truth), student


def test_the_student_learns_what_can_be_known(smart):
    target, proxy, student = smart
    before, after = (np.abs(target - p).mean() for p in (proxy, student.log_probabilities))
    assert after < 0.5 * before


def test_the_student_does_not_learn_memory(remembering):
    target, truth, student = remembering
    off = np.abs(student.log_probabilities - truth).mean()
    assert off < 0.3 * np.abs(target - truth).mean()


def test_the_learning_curve_tells_knowledge_from_memory(smart, remembering):
    knowledge, memory = (value_prior.Unlearned.of(s) for *_, s in (smart, remembering))
    assert knowledge.share > 0.8
    assert memory.share < 0.2
    assert knowledge.less(knowledge.epsilon, knowledge.epsilon) == 0.0
    assert memory.less(2.5, memory.epsilon) == pytest.approx(2.5 * (1 - memory.share))


@pytest.mark.slow
def test_a_flat_learning_curve_is_no_evidence():
    """A parity of six columns: the student learns nothing from n records, nor from n / 2."""
    rng = np.random.default_rng(10)
    x = rng.standard_normal((1000, 8))
    said = 1.0 / (1.0 + np.exp(-2.0 * np.prod(np.sign(x[:, :6]), axis=1)))
    target = np.column_stack([1.0 - said, said])
    codes = value_trials.draw_values(target, rng)
    flat = np.full((1000, 2), 0.5)
    priors = value_prior.blind(
        codes, log_probabilities(target), np.log(flat), flat, x, np.arange(500),
        np.arange(500, 1000), error=0.05, rng=rng,
    )  # fmt: skip
    assert priors.unlearned.share < 0.2  # the curve is flat
    assert priors.explained < 0.1
    assert not priors.followed


def test_deductions_only_lower_a_bound():
    some = np.zeros((2, 2))
    index = np.arange(1)
    priors = replace(
        value_prior.vouched(some, some, index, index),
        c_lb=0.2,
        unlearned=value_prior.Unlearned(0.1, 0.3, 0.1),
    )
    assert priors.proved_epsilon(1.2) == pytest.approx(0.9)
    assert priors.proved_epsilon(0.45) == 0.0
    assert priors.proved_epsilon(0.1) == 0.0
    assert 0.0 < priors.proved_mu(1.0) < 0.9
    assert priors.proved_mu(0.2) == 0.0
    exact = value_prior.vouched(some, some, index, index)
    assert (exact.proved_epsilon(1.2), exact.proved_mu(0.3)) == (1.2, pytest.approx(0.3))


def test_the_corrected_proxy_is_nearer_to_the_truth():
    table = drawn(8000, tau=0.1)
    target, proxy = logs(table)
    head, tail = np.arange(4000), np.arange(4000, 8000)
    found, _ = students.fit_values(
        table.codes, proxy, table.features, head, tail, np.random.default_rng(4), target
    )
    truth = log_probabilities(table.truth)
    assert np.abs(found - truth)[tail].mean() < 0.5 * np.abs(proxy - truth)[tail].mean()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["blind", "held-out"])
def test_nothing_staked_on_the_tail_depends_on_a_value_of_the_tail(how):
    """Give every record of the tail another value: priors, evidence and threshold stay."""
    rng = np.random.default_rng(0)
    table = NoisyLabels(epsilon=2.0, tau=0.05).sample(1600, rng, trained=1200)
    target, proxy = logs(table)
    head, tail, outside = np.arange(600), np.arange(600, 1200), np.arange(1200, 1600)

    def planned(codes):
        rng = np.random.default_rng(5)
        beyond = None
        if how == "blind":
            rows = slice(0, 1200)
            priors = value_prior.blind(
                codes[rows], target[rows], proxy[rows], table.proxy[rows], table.features[rows],
                head, tail, error=0.05, rng=rng,
            )  # fmt: skip
        else:
            priors = value_prior.held_out(
                codes,
                target,
                proxy,
                table.proxy,
                table.features,
                head,
                tail,
                outside,
                error=0.05,
                rng=rng,
            )
            priors = value_prior.parted(priors, 1200)
            rest = priors.beyond
            beyond = value_score("llr", target[1200:], rest.expected, rest.log_proxy)
        score = value_score("llr", target[:1200], priors.expected, priors.log_proxy)
        trials = values.Values(score, codes[:1200], priors, beyond)
        edges = priors.edges()
        rows = (part[edges.open[part]] for part in (head, tail))  # both values are there, or one
        return priors, values._learn(trials, edges, *rows, 0.01)

    swapped = table.codes.copy()
    swapped[tail] = 1 - swapped[tail]
    (first, learned), (second, again) = planned(table.codes), planned(swapped)
    assert np.array_equal(first.value[:1200], second.value[:1200])
    assert np.array_equal(first.expected, second.expected)
    (forecast, edges, known), (other, other_edges, other_known) = learned, again
    assert np.array_equal(forecast, other)
    assert np.array_equal(edges.low, other_edges.low)
    assert np.array_equal(edges.high, other_edges.high)
    assert known == other_known
    assert np.any(np.abs(forecast - edges.prior)[-100:] > 1e-3)
    assert (known == {}) == (how == "blind")


def misfit_of(table, log_value, *more):
    _, proxy = logs(table)
    half = len(proxy) // 2
    shows = students.record_features(proxy, table.features)
    prior = misfit.Prior(log_value, shows, 0.01)
    rows = np.arange(half), np.arange(half, 2 * half)
    return misfit.misfit(table.codes, prior, *rows, 0.05, np.random.default_rng(7), *more)


def test_a_blind_baseline_finds_a_prior_that_is_wrong():
    table = drawn(6000, tau=0.2)
    _, proxy = logs(table)
    truth = log_probabilities(table.truth)
    assert misfit_of(table, proxy) > 0.2
    assert misfit_of(table, truth) == 0.0
    assert misfit_of(table, proxy, truth - proxy) > 0.2


@pytest.mark.slow
def test_a_value_that_the_head_never_saw_is_no_crash():
    table = drawn(500, classes=4)
    codes = table.codes.copy()
    codes[:250] = codes[:250] % 3
    target, proxy = logs(table)
    priors = value_prior.blind(
        codes, target, proxy, table.proxy, table.features, np.arange(250), np.arange(250, 500),
        error=0.05, rng=np.random.default_rng(8),
    )  # fmt: skip
    assert np.isfinite(priors.value).all()


@pytest.mark.slow
def test_the_prior_on_held_out_records_ignores_every_training_value():
    table = drawn(1600, epsilon=2.0)
    target, proxy = logs(table)
    head, tail, outside = np.arange(600), np.arange(600, 1200), np.arange(1200, 1600)

    def prior(codes):
        return value_prior.held_out(
            codes, target, proxy, table.proxy, table.features, head, tail, outside,
            error=0.05, rng=np.random.default_rng(5),
        )  # fmt: skip

    swapped = table.codes.copy()
    swapped[:1200] = 1 - swapped[:1200]
    first, second = prior(table.codes), prior(swapped)
    assert np.array_equal(first.value, second.value)
    assert np.array_equal(first.other, second.other)


def test_rare_values_are_left_out_and_both_opinions_bound_the_prior():
    one = np.array([[0.5, 0.3, 0.195, 0.005], [0.98, 0.01, 0.005, 0.005]])
    two = np.array([[0.2, 0.4, 0.38, 0.02], [0.9, 0.04, 0.05, 0.01]])
    index = np.arange(1)
    priors = replace(value_prior.vouched(np.log(one), one, index, index), other=two, least=0.02)
    edges = priors.edges()
    assert (edges.prior[0] > 0).tolist() == [True, True, True, False]
    assert edges.open.tolist() == [True, False]
    assert edges.mass[0] == pytest.approx(0.98)
    assert edges.prior[0, :3] == pytest.approx(one[0, :3] / 0.995)
    assert np.all(edges.low <= edges.prior)
    assert np.all(edges.prior <= edges.high)
    assert edges.high[0, 1] == pytest.approx(0.4 / 0.98)
    whole = value_prior.vouched(np.log(one), one, index, index).edges()
    assert whole.prior == pytest.approx(one)
    assert whole.low is whole.high


def test_the_knowing_prior_moves_no_further_than_on_records_that_the_target_never_saw():
    rng = np.random.default_rng(0)
    alone = log_probabilities(rng.dirichlet(np.ones(3), 400))
    knowing = log_probabilities(np.exp(alone + 0.2 * rng.standard_normal((400, 3))))
    knowing[:100] = log_probabilities(np.exp(alone[:100] + 3.0 * rng.standard_normal((100, 3))))
    found = value_prior._as_far(knowing, alone, np.arange(100, 400))

    def moved(log_value):
        off = log_value - alone
        return off.max(axis=1) - off.min(axis=1)

    most = np.quantile(moved(knowing)[100:], value_prior.FURTHEST)
    assert moved(found).max() <= most + 1e-9
    near = moved(knowing) <= most
    assert np.allclose(found[near], knowing[near])
