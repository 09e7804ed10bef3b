"""Replays combined: against slow forms, against one replay, and in coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import betting, recursion
from divulge.bounds.choice import price
from divulge.bounds.guessing import Counts
from divulge.bounds.repeated import Bets, Replay, alone_bound, bet_epsilon, count_bound
from divulge.curves import Gaussian
from divulge.errors import InputError


def game(records=500, epsilon=1.0, replays=10, seed=0, shift=0.0):
    """Noisy binary labels; the proxy is uniform but for a known prior."""
    rng = np.random.default_rng(seed)
    p = expit(shift * rng.normal(size=records))
    label = (rng.random(records) < p).astype(int)
    keep = rng.random(records) < expit(epsilon)
    noisy = np.where(keep, label, 1 - label)
    truth = np.column_stack([1 - p, p])
    target = truth * np.where(np.arange(2) == noisy[:, None], np.exp(epsilon), 1.0)
    target /= target.sum(axis=1, keepdims=True)
    prior = np.log(truth / 0.5)
    bets = Bets(np.log(target / truth), prior)
    flips = []
    for _ in range(replays):
        true = rng.random(records) < 0.5
        flips.append(Replay(true, np.where(true, label, rng.integers(2, size=records))))
    return bets, flips


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_one_replay_is_the_wealth_process(shift):
    bets, flips = game(shift=shift, replays=3)
    for flip in flips:
        rows = np.arange(flip.shown.size)
        evidence, prior = bets.evidence[rows, flip.shown], bets.log_odds[rows, flip.shown]
        truth = np.where(flip.true, 1.0, -1.0)
        expected = betting.bet_given(expit(evidence + prior), truth, prior).epsilon
        found, alone = bet_epsilon(bets, [flip])
        assert found == alone[0] == pytest.approx(expected, abs=1e-9)


def slow_combination(bets, flips, error, step=0.01):
    """Final wealths stopped at R / error, their running means, epsilon by epsilon."""
    goal = len(flips) / error
    bound, at = 0.0, 0.0
    while True:
        wealths = []
        for flip in flips:
            wealth = 1.0
            for i, (true, shown) in enumerate(zip(flip.true, flip.shown, strict=True)):
                e, prior = bets.evidence[i, shown], bets.log_odds[i, shown]
                if abs(e) <= at:
                    continue
                q = expit(prior + e)
                u = expit(prior + np.sign(e) * at)
                wealth *= q / u if true else (1 - q) / (1 - u)
                if wealth >= goal:
                    break
            wealths.append(wealth)
        means = np.cumsum(wealths) / np.arange(1, len(flips) + 1)
        if means.max() < 1 / error:
            return bound
        bound, at = at, at + step


def test_several_replays_are_the_largest_running_mean():
    bets, flips = game(records=200, replays=4, epsilon=2.0, shift=1.0)
    combined, _ = bet_epsilon(bets, flips, error=0.05)
    assert combined == pytest.approx(slow_combination(bets, flips, 0.05), abs=1e-9)
    assert combined > 0.2


def test_more_replays_prove_more_on_average():
    found = [bet_epsilon(*game(seed=seed, records=1000)) for seed in range(30)]
    assert np.mean([c for c, _ in found]) > np.mean([alone.mean() for _, alone in found])


def test_a_mean_of_bounds_is_not_what_is_returned():
    bets, flips = game(replays=20, seed=5)
    combined, alone = bet_epsilon(bets, flips)
    assert combined != pytest.approx(alone.mean())


def test_one_count_is_the_recursion():
    counts = Counts(1000, 200, 150)
    assert count_bound([counts]) == recursion.mu_lower_bound(1000, 200, 150, 0.05)
    delta = 1e-5
    error, against = price(1000, delta, 0.05, tau=0.001)
    expected = recursion.epsilon_lower_bound(1000, 200, 150, against, error, tau=0.001)
    assert count_bound([counts], delta=delta, tau=0.001) == expected
    assert 0.0 < expected < recursion.epsilon_lower_bound(1000, 200, 150, delta, 0.05, tau=0.001)


def test_equal_counts_pay_for_half_of_the_error():
    counts = Counts(1000, 200, 150)
    both = count_bound([counts] * 20)
    assert both == pytest.approx(recursion.mu_lower_bound(1000, 200, 150, 0.025), abs=1e-3)
    assert both <= recursion.mu_lower_bound(1000, 200, 150, 0.025)


def test_a_hopeless_replay_costs_its_share_only():
    good, bad = Counts(1000, 200, 150), Counts(1000, 200, 90)
    mixed = count_bound([good, bad, good, good])
    assert 0.0 < mixed <= count_bound([good] * 4)


def test_the_combined_count_is_rejected_at_the_stated_p_values():
    """At the bound the running mean of (2 - 2 p / error)_+ reaches 1, just above it it does not."""
    counts = [Counts(1000, 200, c) for c in (140, 152, 146, 150)]
    error, bound = 0.05, count_bound([Counts(1000, 200, c) for c in (140, 152, 146, 150)])

    def reaches(mu):
        values = []
        for c in counts:
            low, high = 0.0, 1.0
            for _ in range(40):
                middle = (low + high) / 2
                hit = recursion.rejects(
                    Gaussian(mu), c.trials, c.guesses, c.correct, error=max(middle, 1e-12)
                )
                low, high = (low, middle) if hit else (middle, high)
            values.append(max(0.0, 2.0 - 2.0 * high / error))
        return (np.cumsum(values) / np.arange(1, 5)).max() >= 1.0

    assert reaches(bound)
    assert not reaches(bound + 0.1)  # p-values are rounded up, so the bound may be a little low


def test_null_replays_keep_their_error():
    """Exchangeable replays over the same records, nothing leaks: at most 5% of games claim."""
    false = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        evidence = rng.normal(size=(60, 2))
        label = rng.integers(2, size=60)
        flips = []
        for _ in range(8):
            true = rng.random(60) < 0.5
            flips.append(Replay(true, np.where(true, label, rng.integers(2, size=60))))
        bets = Bets(evidence, np.zeros((60, 2)))
        false += bet_epsilon(bets, flips, error=0.2)[0] > 0.0
    assert false <= 0.2 * 400 + 3 * np.sqrt(400 * 0.2 * 0.8)
    assert false > 0


def test_bad_input():
    bets, flips = game(records=10, replays=1)
    with pytest.raises(InputError, match="no replays"):
        bet_epsilon(bets, [])
    with pytest.raises(InputError, match="no replays"):
        count_bound([])
    with pytest.raises(InputError, match="error"):
        bet_epsilon(bets, flips, error=0.0)
    assert alone_bound(Counts(10, 0, 0), delta=None, error=0.05) == 0.0
