"""Epsilon at delta by Theorem 5.1.1: the tampering, the walk up the grid, and the worst case."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array
from scipy.special import expit

from divulge.bounds.choice import price
from divulge.bounds.counting import zero_run_p_value
from divulge.mechanisms import RandomisedResponse
from divulge.proof.corrections import correct
from divulge.proof.prepared import Prepared
from divulge.proof.rule import Rule
from divulge.shift import tampered


def test_the_share_kept_is_that_of_the_theorem():
    charged = np.array([0.0, 0.5, 3.0])
    share = tampered.kept_share(charged, 0.7)
    np.testing.assert_allclose(share, (1 + np.exp(-0.7 - charged)) / (1 + math.exp(-0.7)))
    right = expit(0.7 + charged) * share  # no more than a guess without shift is worth
    np.testing.assert_allclose(right, expit(0.7))


def test_signed_charges_only_guesses_that_go_with_the_shift():
    guess, prior = np.array([1, -1, 1]), np.array([2.0, 2.0, -1.0])
    np.testing.assert_array_equal(tampered.excess(guess, prior, signed=True), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(tampered.excess(guess, prior, signed=False), [2.0, 2.0, 1.0])


def test_a_guess_is_kept_from_one_epsilon_on(rng):
    charged, uniforms = rng.exponential(size=500), rng.random(500)
    start = tampered.kept_from(charged, uniforms)
    for epsilon in (0.0, 0.3, 1.0, 4.0):
        kept = uniforms < tampered.kept_share(charged, epsilon)
        np.testing.assert_array_equal(start < epsilon, kept)


def game(seed, epsilon=2.0, trials=2000, shift=1.0):
    rng = np.random.default_rng(seed)
    mechanism = RandomisedResponse(epsilon)
    prior = shift * rng.standard_normal(trials)
    played = mechanism.sample(trials, rng, prior)
    return mechanism.evidence(played.score), played.truth, prior, rng.random(trials), rng


@pytest.mark.parametrize("signed", [False, True])
def test_the_bound_is_the_last_point_before_the_first_not_rejected(signed):
    evidence, truth, prior, uniforms, rng = game(1)
    guess = tampered.guesses(evidence, prior, 1e-5, 0.05, rng, signed=signed)
    number = int((guess != 0).sum())
    bound = tampered.epsilon_lower_bound(guess, truth, prior, uniforms, 1e-5, 0.05, signed=signed)
    error, delta = price(2000, 1e-5, 0.05)

    def rejected(epsilon):
        share = tampered.kept_share(tampered.excess(guess, prior, signed=signed), epsilon)
        kept = int(((guess == truth) & (uniforms < share)).sum())
        return zero_run_p_value(2000, number, kept, epsilon, delta) <= error

    assert 1.0 < bound < 2.0
    assert all(rejected(e) for e in np.arange(0.0, bound + 1e-9, tampered.STEP))
    assert not rejected(bound + tampered.STEP)


def test_the_number_of_guesses_is_foreseen_without_truths_or_size():
    evidence, _, prior, _, _ = game(2)
    epsilon, number = tampered.foreseen(evidence, prior, 1e-5, 0.05, signed=True)
    assert 1.0 < epsilon < 2.0
    assert 10 <= number <= 2000
    nothing = tampered.foreseen(np.zeros(2000), np.zeros(2000), 1e-5, 0.05, signed=True)
    assert nothing[0] == 0.0
    many = tampered.foreseen(np.tile(evidence, 150), np.tile(prior, 150), 1e-9, 0.05, signed=True)
    assert many[0] > epsilon  # 300,000 trials, seen by every second


def test_the_rows_state_the_theorem_and_prove_more_than_the_discount_for_curves():
    evidence, truth, prior, _, rng = game(3, epsilon=4.0, trials=6000)
    prepared = Prepared(
        truth=truth, raw=evidence, score=evidence, log_odds=prior, coin=0.0,
        order=np.arange(6000), learned=600, bet_score=evidence, bet_log_odds=prior,
    )  # fmt: skip
    found = correct(prepared, Rule((1e-5,), 0.1, ("conditional", "signed")), rng)
    at_delta = {b.correction: b for b in found.bounds if b.delta == 1e-5}
    for bound in at_delta.values():
        assert bound.method == "zero-run"
        assert "Theorem 5.1.1" in bound.theorem
        assert 3.2 < bound.value < 4.0  # e^-|l| and the recursion: 2.5 as printed
    assert "signed" in at_delta["signed"].theorem


def worst_case(prior, epsilon, delta, thresholds, *, signed, sizes):
    """The largest probability of a false rejection over all (epsilon, delta)-DP mechanisms.

    A linear program over P(guesses given truths), every neighbouring pair of truths with its own
    slack; tampering and the truths' prior are in the objective.
    """
    trials = len(prior)
    truths = list(itertools.product([-1, 1], repeat=trials))
    outputs = [t for t in itertools.product([-1, 0, 1], repeat=trials) if np.abs(t).sum() in sizes]
    chance = np.zeros((len(truths), len(outputs)))
    for a, s in enumerate(truths):
        weight = float(np.prod(expit(np.array(s) * prior)))
        for b, guess in enumerate(np.array(outputs)):
            need = thresholds.get(int(np.abs(guess).sum()))
            if need is None:
                continue
            charged = tampered.excess(guess, prior, signed=signed)[guess == s]
            counts = np.ones(1)
            for share in tampered.kept_share(charged, epsilon):
                counts = np.convolve(counts, [1.0 - share, share])
            chance[a, b] = weight * counts[need:].sum()
    place = {s: a for a, s in enumerate(truths)}
    pairs = [
        (a, place[tuple(-v if i == j else v for j, v in enumerate(s))])
        for a, s in enumerate(truths)
        for i in range(trials)
    ]
    free, slack = chance.size, len(pairs) * len(outputs)
    private = lil_array((slack + len(pairs), free + slack))
    limit = np.zeros(slack + len(pairs))
    for k, (a, b) in enumerate(pairs):
        for t in range(len(outputs)):
            row = k * len(outputs) + t
            private[row, a * len(outputs) + t] = 1.0
            private[row, b * len(outputs) + t] = -math.exp(epsilon)
            private[row, free + row] = -1.0
            private[slack + k, free + row] = 1.0
        limit[slack + k] = delta
    whole = lil_array((len(truths), free + slack))
    for a in range(len(truths)):
        whole[a, a * len(outputs) : (a + 1) * len(outputs)] = 1.0
    gain = np.concatenate([-chance.ravel(), np.zeros(slack)])
    found = linprog(gain, private.tocsr(), limit, whole.tocsr(), np.ones(len(truths)))
    assert found.success
    return float(-found.fun)


def least_rejected(trials, epsilon, delta, error, sizes):
    found = {}
    for r in sizes:
        for v in range(1, r + 1):
            if zero_run_p_value(trials, r, v, epsilon, delta) <= error:
                found[r] = v
                break
    return found


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.01), (0.3, 0.02), (1.0, 1e-3)])
def test_no_mechanism_on_three_coins_beats_the_theorem(signed, epsilon, delta):
    prior = np.array([-1.2, 0.4, 0.9])
    for r in (2, 3):
        for v in range(1, r + 1):
            stated = zero_run_p_value(3, r, v, epsilon, delta)
            if stated <= 0.5:
                worst = worst_case(prior, epsilon, delta, {r: v}, signed=signed, sizes={r})
                assert worst <= stated + 1e-9
    error, against = price(3, delta, 0.7)
    thresholds = least_rejected(3, epsilon, against, error, (1, 2, 3))
    assert thresholds
    worst = worst_case(prior, epsilon, delta, thresholds, signed=signed, sizes={1, 2, 3})
    assert worst <= 0.7 + 1e-9


def test_the_linear_program_sees_tampering_that_is_too_weak():
    """Without tampering a prior of 2 alone breaks the bound."""
    prior, stated = np.full(2, 2.0), zero_run_p_value(2, 2, 2, 0.1, 1e-3)
    assert worst_case(prior, 0.1, 1e-3, {2: 2}, signed=True, sizes={2}) <= stated
    kept, tampered.kept_share = tampered.kept_share, lambda charged, e: np.ones_like(charged)
    try:
        assert worst_case(prior, 0.1, 1e-3, {2: 2}, signed=True, sizes={2}) > 2.0 * stated
    finally:
        tampered.kept_share = kept
