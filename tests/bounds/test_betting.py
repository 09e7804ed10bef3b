from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import bet, bet_given
from divulge.errors import InputError
from divulge.mechanisms import GaussianMechanism, MixedExposure, Null, RandomisedResponse


def wealth_by_hand(q, truth, prior, epsilon):
    """The wealth process of theory, term by term."""
    wealth, path = 1.0, []
    for qi, s, offset in zip(q, truth, prior, strict=True):
        logit = np.log(qi / (1 - qi))
        if logit > offset + epsilon:
            u = expit(offset + epsilon)
        elif logit < offset - epsilon:
            u = expit(offset - epsilon)
        else:
            u = qi
        wealth *= qi / u if s > 0 else (1 - qi) / (1 - u)
        path.append(wealth)
    return np.array(path)


def test_the_bound_is_the_last_rejected_grid_point_of_the_wealth_process(rng):
    prior = rng.normal(0, 1, 600)
    trials = RandomisedResponse(2.0).sample(600, rng, prior)
    q = expit(2.0 * trials.score + prior)
    result = bet_given(q, trials.truth, prior, step=0.1)
    grid = np.arange(0, 40) * 0.1
    rejected = [wealth_by_hand(q, trials.truth, prior, e).max() >= 20 for e in grid]
    first_kept = rejected.index(False)
    assert first_kept > 1
    assert result.epsilon == pytest.approx(grid[first_kept - 1])
    for j in range(first_kept):
        at = int(np.argmax(wealth_by_hand(q, trials.truth, prior, grid[j]) >= 20)) + 1
        assert result.rejected_at[j] == at


def test_learned_bets_use_only_the_past(rng):
    """Flipping a truth changes no bet before it: the running bound up to then is the same."""
    trials = GaussianMechanism(2.0).sample(800, rng)
    order = np.random.default_rng(5).permutation(800)
    flipped = trials.truth.copy()
    flipped[order[500]] *= -1
    one = bet(trials.score, trials.truth, rng=5)
    two = bet(trials.score, flipped, rng=5)
    assert [one.running(n) for n in range(0, 500, 20)] == [
        two.running(n) for n in range(0, 500, 20)
    ]


@pytest.mark.parametrize("shift", [pytest.param(0.0, marks=pytest.mark.slow), 2.0])
@pytest.mark.parametrize(
    ("mechanism", "at_least"),
    [(GaussianMechanism(2.0), 4.1), (RandomisedResponse(1.0), 0.88), (MixedExposure(), 3.4)],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_power_of_learned_bets(mechanism, at_least, shift):
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        trials = mechanism.sample(10_000, rng, shift * rng.standard_normal(10_000))
        found.append(bet(trials.score, trials.truth, trials.log_odds, rng=rng).epsilon)
    assert np.mean(found) >= at_least


@pytest.mark.slow
def test_several_columns_and_averaged_wealth(rng):
    truth = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    noise = rng.normal(size=3000)
    features = np.column_stack([truth * (noise > 0) * 2 + rng.normal(size=3000), noise])
    together = bet(features, truth, rng=1)
    averaged = bet(features, truth, rng=1, combine="average")
    first_only = bet(features[:, 0], truth, rng=1)
    assert together.epsilon > first_only.epsilon
    assert averaged.epsilon > 0


def test_running_bound_never_falls_and_ends_at_the_bound(rng):
    trials = GaussianMechanism(1.5).sample(3000, rng)
    result = bet(trials.score, trials.truth, rng=rng)
    revealed, bound = result.running_bound()
    assert revealed[-1] == 3000
    assert np.all(np.diff(bound) >= 0)
    assert bound[-1] == result.epsilon
    assert result.leak


def test_early_stopping(rng):
    trials = GaussianMechanism(2.0).sample(20_000, rng)
    seen = []
    result = bet(
        trials.score, trials.truth, rng=1, stop_at=1.0, progress=lambda n, total: seen.append(n)
    )
    assert result.epsilon >= 1.0
    assert result.trials < 20_000
    assert seen[-1] == result.trials


def test_the_order_of_the_rows_is_random_but_seeded(rng):
    trials = GaussianMechanism(1.0).sample(2000, rng)
    assert (
        bet(trials.score, trials.truth, rng=3).epsilon
        == bet(trials.score, trials.truth, rng=3).epsilon
    )


@pytest.mark.parametrize("m", [1, 2, 7, 30])
@pytest.mark.parametrize("kind", ["right", "wrong", "one class", "constant"])
def test_tiny_and_degenerate_games(m, kind, rng):
    truth = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    score = {"right": truth, "wrong": -truth}.get(kind, np.zeros(m))
    if kind == "one class":
        truth = np.ones(m)
    assert bet(score, truth, rng=rng).epsilon >= 0.0


@pytest.mark.slow
def test_nothing_leaks_nothing_found():
    found = [
        bet(t.score, t.truth, rng=seed).leak
        for seed in range(40)
        for t in [Null().sample(500, np.random.default_rng(seed))]
    ]
    assert np.mean(found) <= 0.15


@pytest.mark.parametrize(
    ("score", "truth", "prior", "message"),
    [
        ([np.nan, 1.0], [1, -1], 0.0, "finite"),
        ([np.inf, 1.0], [1, -1], 0.0, "finite"),
        ([0.0, 1.0], [1, 0], 0.0, r"\+1 or -1"),
        ([0.0], [1, -1], 0.0, "length"),
        ([], [], 0.0, "no trials"),
        ([0.0, 1.0], [1, -1], np.inf, "log_odds"),
    ],
)
def test_bad_input_is_refused(score, truth, prior, message):
    with pytest.raises(InputError, match=message):
        bet(score, truth, prior)


def test_an_order_that_repeats_a_trial_is_refused():
    truth = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    with pytest.raises(InputError, match="exactly once"):
        bet(np.zeros(40), truth, order=np.resize(np.arange(10), 40))


def test_nothing_is_staked_on_known_trials(rng):
    trials = GaussianMechanism(2.0).sample(2000, rng)
    result = bet(trials.score, trials.truth, order=np.arange(2000), known=1500)
    assert result.rejected_at.min() > 1500


def test_bad_options_are_refused():
    with pytest.raises(InputError, match="Unknown learner"):
        bet([0.0, 1.0], [1, -1], learners=("magic",))
    with pytest.raises(InputError, match="error"):
        bet([0.0, 1.0], [1, -1], error=1.0)
    with pytest.raises(InputError, match="strictly"):
        bet_given([0.0, 1.0], [1, -1])
