"""Attacks on released means: what they reach is what the theory says, calibration holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from divulge import attacks
from divulge.attacks.means import attack_mean, likelihood_ratio, scalar_product, standardised
from divulge.crosschecks.per_datum import Mean, Normal, play
from divulge.errors import InputError
from divulge.exposure import exposed
from divulge.exposure.covariance import estimate_covariance, known
from divulge.exposure.exposed import Release

D, N = 40, 60


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(D, D)) / math.sqrt(D) + np.diag(np.geomspace(0.5, 3.0, D))
    return Normal(np.full(D, 2.0), mixing)


def truth(population):
    return known(population.mean, population.factor @ population.factor.T)


@pytest.mark.parametrize(
    ("noise", "rate"),
    [
        (0.0, 1.0),
        pytest.param(0.4, 1.0, marks=pytest.mark.slow),
        pytest.param(0.0, 0.5, marks=pytest.mark.slow),
        pytest.param(0.3, 0.5, marks=pytest.mark.slow),
    ],
)
def test_the_likelihood_ratio_reaches_the_power_of_the_formula(population, noise, rate):
    """Within 3 standard errors, in the full game: records drawn, target put in, mean released."""
    rng = np.random.default_rng(1)
    target = population.sample(1, rng)[0] * 1.1
    release, model, rounds = Release(N, noise, rate), truth(population), 6000
    played = play(
        Mean(noise, rate), population, N, target,
        lambda o: likelihood_ratio(o, target, model, release), rounds, rng,
    )  # fmt: skip
    m = float(exposed.leakage_scores(target, model, release))
    inside = int(played.inside.sum())
    gap = played.advantage(0.0)
    expected = float(exposed.advantage(m, rate))
    error = math.sqrt(0.25 / inside + 0.25 / (rounds - inside))
    assert abs(gap - expected) < 3.0 * error
    tpr, at = played.tpr(0.1), float(exposed.power(m, 0.1, rate))
    slope = 10 * (exposed.power(m, 0.15, rate) - exposed.power(m, 0.05, rate))
    error = math.sqrt(at * (1 - at) / inside + slope**2 * 0.09 / (rounds - inside))
    assert abs(tpr - at) < 3.0 * error


def test_the_scalar_product_is_weaker_where_columns_differ(population):
    rng = np.random.default_rng(2)
    target = population.sample(1, rng)[0]
    model, release = truth(population), Release(N)
    outs = [Mean()(population.sample(N, rng), rng) for _ in range(800)]
    shift = (target - population.mean) / N

    def separation(score):
        out = np.array([score(o) for o in outs])
        return (score(outs[0] + shift) - score(outs[0])) / out.std()

    best = separation(lambda o: likelihood_ratio(o, target, model, release))
    plain = separation(lambda o: scalar_product(o, target, population.mean))
    m = float(exposed.leakage_scores(target, model, release))
    assert best == pytest.approx(math.sqrt(m), rel=0.1)
    assert 0.0 < plain < 0.9 * best


def test_a_sub_sampled_likelihood_ratio_is_the_mixture():
    model = known(np.zeros(2), np.ones(2))
    o, z = np.array([0.4, 0.1]), np.array([1.0, 3.0])
    value = float(likelihood_ratio(o, z, model, Release(10)))
    assert value == pytest.approx(0.7 - 10.0 / 20.0)
    part = float(likelihood_ratio(o, z, model, Release(20, rate=0.5)))
    assert part == pytest.approx(math.log(0.5 + 0.5 * math.exp(value)))
    noisy = float(likelihood_ratio(o, z, model, Release(10, noise=math.sqrt(0.1))))
    assert noisy == pytest.approx(value / 2.0)


@pytest.mark.parametrize("kind", ["likelihood-ratio", "scalar-product"])
@pytest.mark.parametrize(("noise", "rate"), [(0.0, 1.0), (0.2, 0.5)])
def test_calibrated_thresholds_keep_the_false_positive_rate(population, kind, noise, rate):
    """Over many releases the share of outsiders accused is the nominal one."""
    rng = np.random.default_rng(3)
    false, true = [], []
    for _ in range(150):
        table = population.sample(N, rng)
        released = Mean(noise, rate)(table, rng)
        reference, strangers = population.sample(150, rng), population.sample(N, rng)
        attack = attack_mean(
            released, np.vstack([table, strangers]), reference, size=N, noise=noise, rate=rate,
            kind=kind, rng=rng,
        )  # fmt: skip
        says = attack.guesses(0.1)
        true.append(says[:N].mean())
        false.append(says[N:].mean())
    error = np.std(false) / math.sqrt(len(false))
    assert abs(np.mean(false) - 0.1) < 3.0 * error + 1 / 76
    assert np.mean(true) > 0.12


def test_theoretical_thresholds_do_not():
    """Why the thresholds are calibrated: the plug-in ratio accuses far too many."""
    rng = np.random.default_rng(4)
    d, n = 100, 100
    false = []
    for _ in range(40):
        model = estimate_covariance(rng.normal(size=(150, d)))
        released, z = rng.normal(size=d) / math.sqrt(n), rng.normal(size=(50, d))
        false.append((standardised(released, z, model, Release(n)) > 1.6449).mean())
    assert np.mean(false) > 0.08


def test_p_values_are_ranks():
    reference = np.vstack([np.eye(2), -np.eye(2)]).repeat(10, axis=0) + 1e-3 * np.arange(
        80
    ).reshape(40, 2)
    attack = attack_mean(np.array([1.0, 0.0]), reference, reference, size=10)
    assert attack.fitted == 20
    assert attack.outside.size == 20
    assert attack.p_value.min() >= 1 / 21
    assert attack.p_value.max() <= 1.0
    with pytest.raises(
        InputError, match=r"needs at least 99 held-out reference records\. Found 20"
    ):
        attack.guesses(0.01)


def test_bad_input():
    reference = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(InputError, match="Unknown attack"):
        attack_mean(np.zeros(3), np.zeros(3), reference, size=10, kind="loss")
    with pytest.raises(InputError, match="released mean must have the 3 columns"):
        attack_mean(np.zeros(2), np.zeros(3), reference, size=10)
    with pytest.raises(InputError, match="cannot be split"):
        attack_mean(np.zeros(3), np.zeros(3), reference[:1], size=10)
    with pytest.raises(InputError, match="rate must lie"):
        attack_mean(np.zeros(3), np.zeros(3), reference, size=10, rate=0.0)


def test_the_attacks_are_exported():
    assert attacks.attack_mean is attack_mean
    assert set(attacks.__all__) >= {"likelihood_ratio", "scalar_product", "gradient_table"}
