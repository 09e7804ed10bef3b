"""The randomisation of labels, alone: frequencies, exact ratios, exact curves, Bayes' rule."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import laplace

from divulge import curves
from divulge.errors import InputError
from divulge.mechanisms import RandomisedResponse
from divulge.mechanisms.labels import (
    NO_PRIVACY,
    LaplaceChannel,
    LaplacePair,
    ResponseChannel,
    best_sizes,
    invert_response,
    label_channel,
    posterior,
    randomised_response_curve,
    transition_matrix,
)

EPSILONS = [0.1, 1.0, 3.0]


def priors(classes: int) -> np.ndarray:
    """From uniform to certain, in every order of magnitude between."""
    rng = np.random.default_rng(5)
    drawn = [rng.dirichlet(np.full(classes, a), 20) for a in (0.1, 0.5, 2.0)]
    return np.concatenate([np.full((1, classes), 1.0 / classes), np.eye(classes), *drawn])


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def worst_delta(matrix: np.ndarray, epsilon: float) -> float:
    return max(hockey_stick(p, q, epsilon) for p in matrix for q in matrix)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_transition_matrix_is_k_ary_randomised_response(epsilon, classes):
    total = math.exp(epsilon) + classes - 1
    expected = np.full((classes, classes), 1.0 / total)
    np.fill_diagonal(expected, math.exp(epsilon) / total)
    np.testing.assert_allclose(transition_matrix(epsilon, classes), expected, rtol=1e-13)


@pytest.mark.parametrize("prior", [None, [0.5, 0.3, 0.15, 0.05]], ids=["uniform", "prior"])
def test_frequencies_match_the_channel(prior, rng):
    channel = label_channel(1.2, 4, prior)
    n = 40_000
    for label, row in enumerate(channel.transition()):
        counts = np.bincount(channel.sample(np.full(n, label), rng), minlength=4)
        error = np.sqrt(row * (1.0 - row) / n)
        assert np.all(np.abs(counts / n - row) <= 4.0 * error)  # impossible answers: exactly none


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_every_prior_and_label_pair_satisfies_epsilon_exactly(epsilon, classes):
    """The largest log ratio over answers and label pairs is eps wherever anything is told."""
    channel = label_channel(epsilon, classes, priors(classes))
    seen = set()
    for record, k in enumerate(channel.sizes):
        matrix = channel.transition(record)
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
        answers = matrix[:, matrix.max(axis=0) > 0.0]
        assert answers.shape[1] == k
        assert np.all(answers > 0.0)  # an answer is possible for all labels or for none
        ratio = np.log(answers.max(axis=0) / answers.min(axis=0)).max()
        assert ratio == pytest.approx(epsilon if k > 1 else 0.0, abs=1e-12)
        seen.add(int(k))
    assert seen >= {1, classes}


@pytest.mark.parametrize("classes", [3, 5])
def test_the_curve_of_a_channel_is_that_of_its_worst_record(classes):
    """No pair of labels of any record leaks more, and one leaks exactly as much."""
    channel = label_channel(1.3, classes, priors(classes))
    for epsilon in (0.0, 0.4, 1.0, 1.29, 1.3, 2.0):
        worst = max(worst_delta(channel.transition(i), epsilon) for i in range(channel.sizes.size))
        assert channel.guarantee.curve.delta(epsilon) == pytest.approx(worst, abs=1e-12)


def test_a_prior_with_more_answers_has_a_tighter_curve():
    three = ResponseChannel(1.0, np.array([[True, True, True, False]])).guarantee
    two = ResponseChannel(1.0, np.array([[True, True, False, False]])).guarantee
    one = ResponseChannel(1.0, np.array([[True, False, False, False]])).guarantee
    assert one.curve.advantage() == 0.0 < three.curve.advantage() < two.curve.advantage()
    assert (one.epsilon(), two.epsilon(), three.epsilon()) == (0.0, 1.0, 1.0)
    assert three.epsilon(0.05) < two.epsilon(0.05) < 1.0


def test_the_chosen_k_is_right_most_often():
    """Brute force over k: P(answer = label) under the prior."""
    table = priors(6)
    for epsilon in EPSILONS:
        for row, k in zip(table, best_sizes(table, epsilon), strict=True):
            right = []
            for size in range(1, 7):
                allowed = np.zeros((1, 6), dtype=bool)
                allowed[0, np.argsort(-row, kind="stable")[:size]] = True
                right.append(row @ np.diag(ResponseChannel(epsilon, allowed).transition()))
            assert right[k - 1] == pytest.approx(max(right), abs=1e-12)


def test_a_uniform_prior_is_k_ary_randomised_response():
    np.testing.assert_allclose(
        label_channel(0.7, 5, np.full(5, 0.2)).transition(), transition_matrix(0.7, 5)
    )


@pytest.mark.parametrize("values", [2, 3, 10])
def test_the_response_curve_agrees_with_the_scalar_mechanism(values):
    at = np.linspace(0.0, 1.0, 101)
    ours, theirs = randomised_response_curve(1.5, values), RandomisedResponse(1.5, values).curve
    np.testing.assert_allclose(ours(at), theirs(at), atol=1e-15)


@pytest.mark.parametrize("epsilon", [40.0, 300.0, 900.0])
def test_a_huge_epsilon_is_stated_and_not_overflowed(epsilon):
    for guarantee in (label_channel(epsilon, 4).guarantee, LaplaceChannel(epsilon, 4).guarantee):
        assert guarantee.epsilon() <= epsilon
        found = guarantee.curve(np.linspace(0.0, 1.0, 11))
        assert found[0] == 1.0
        assert np.all(np.diff(found) <= 0.0)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 12.0])
def test_the_laplace_pair_is_the_composition_of_two_laplace_curves(epsilon):
    """Against numerical integration over the loss of one coordinate."""
    pair, single = LaplacePair(epsilon), curves.Laplace(epsilon / 2.0)
    s = epsilon / 2.0
    t = (np.arange(200_000) + 0.5) / 200_000 * s

    def delta_any(e: float) -> float:  # delta of one coordinate, also below -s
        return single.delta(e) if e >= -s else -math.expm1(e)

    for e in np.linspace(0.0, epsilon, 7):
        atoms = 0.5 * delta_any(e - s) + 0.5 * math.exp(-s) * delta_any(e + s)
        rest = np.where(e - s + 2 * t < s, -np.expm1((e - 2.0 * s + 2.0 * t) / 2.0), 0.0)
        between = np.mean(0.5 * np.exp(-t) * rest) * s
        assert pair.delta(float(e)) == pytest.approx(atoms + between, abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 12.0])
def test_the_laplace_pair_is_a_symmetric_curve_with_its_own_delta_and_mu(epsilon):
    pair = LaplacePair(epsilon)
    at = np.concatenate([np.geomspace(1e-9, 0.1, 4000), np.linspace(0.1, 1.0, 4000)])
    f = pair(at)
    np.testing.assert_allclose(pair(f), at, atol=1e-9)
    assert np.all(np.diff(f) <= 1e-15)
    for e in (0.0, 0.3 * epsilon, 0.9 * epsilon):
        assert np.max(1.0 - f - math.exp(e) * at) == pytest.approx(pair.delta(e), abs=1e-5)
    gap = f - curves.Gaussian(pair.mu())(at)
    assert gap.min() == pytest.approx(0.0, abs=1e-5)
    assert gap.min() >= -1e-12


@pytest.mark.parametrize(
    "channel",
    [label_channel(1.0, 2), label_channel(1.5, 4), LaplaceChannel(2.0, 2), LaplaceChannel(1.0, 5)],
    ids=["response 2", "response 4", "laplace 2", "laplace 5"],
)
def test_the_best_attack_on_the_noisy_labels_has_the_stated_curve(channel, rng):
    """An audit of the noisy labels alone: the exact likelihood ratio reaches the curve."""
    n = 100_000
    truth = np.where(rng.random(n) < 0.5, 1, 0)
    loss = channel.log_likelihood(channel.sample(truth, rng))
    sampled = curves.from_scores(loss[:, 1] - loss[:, 0], truth)
    at = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(sampled(at), channel.guarantee.curve(at), atol=0.015)
    assert np.abs(loss[:, 1] - loss[:, 0]).max() <= channel.epsilon + 1e-12


def test_a_channel_with_too_little_noise_is_caught(rng):
    """The test above can fail: noise for epsilon 2 does not have the curve of epsilon 1."""
    truth = rng.integers(0, 2, 100_000)
    loss = label_channel(2.0, 3).log_likelihood(label_channel(2.0, 3).sample(truth, rng))
    sampled = curves.from_scores(loss[:, 1] - loss[:, 0], truth)
    at = np.linspace(0.02, 0.98, 25)
    assert np.min(sampled(at) - label_channel(1.0, 3).guarantee.curve(at)) < -0.1


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_laplace_posteriors_equal_brute_force_bayes(epsilon, rng):
    channel = LaplaceChannel(epsilon, 4)
    prior = rng.dirichlet(np.ones(4), 50)
    noisy = channel.sample(rng.integers(0, 4, 50), rng)
    expected = np.empty((50, 4))
    for y in range(4):
        density = laplace.pdf(noisy, loc=np.eye(4)[y], scale=2.0 / epsilon).prod(axis=1)
        expected[:, y] = prior[:, y] * density
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        posterior(channel.log_likelihood(noisy), prior), expected, rtol=1e-10
    )


def test_response_posteriors_equal_brute_force_bayes(rng):
    prior = rng.dirichlet(np.full(4, 0.7), 50)
    channel = label_channel(1.0, 4, prior)
    noisy = channel.sample(rng.integers(0, 4, 50), rng)
    found = posterior(channel.log_likelihood(noisy), prior)
    for i in range(50):
        joint = prior[i] * channel.transition(i)[:, noisy[i]]
        np.testing.assert_allclose(found[i], joint / joint.sum(), rtol=1e-10)


def test_a_prior_that_rules_out_the_truth_does_not_stop_bayes():
    found = posterior(np.array([[0.0, -np.inf]]), np.array([[0.0, 1.0]]))
    np.testing.assert_array_equal(found, [[1.0, 0.0]])


def test_the_inverse_undoes_the_channel(rng):
    true = rng.dirichlet(np.ones(3), 30)
    for epsilon in (1e-6, 1.0, 8.0, math.inf):
        noisy = true @ transition_matrix(epsilon, 3)
        np.testing.assert_allclose(invert_response(noisy, epsilon), true, atol=1e-8)
    clipped = invert_response(np.array([[0.98, 0.01, 0.01]]), 1.0)
    np.testing.assert_array_equal(clipped, [[1.0, 0.0, 0.0]])


def test_a_channel_over_some_labels_is_undone_with_the_mass_outside():
    """RRTop-k has no inverse; given the right mass outside, the labels inside are recovered."""
    true = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.6, 0.1, 0.2]])
    allowed = np.array([[True, True, False, False], [True, True, False, True]])
    channel = ResponseChannel(1.0, allowed)
    answers = np.stack([true[i] @ channel.transition(i) for i in range(2)])
    prior = np.where(allowed, 0.0, true)
    np.testing.assert_allclose(channel.invert(answers, prior), true, atol=1e-12)
    told = ResponseChannel(1.0, np.array([[False, True, False, False]]))
    np.testing.assert_array_equal(told.invert(np.eye(4)[[1]], true[:1]), true[:1])


def test_without_noise_labels_pass_unchanged_and_nothing_is_promised(rng):
    labels = rng.integers(0, 3, 200)
    prior = np.tile([1.0, 0.0, 0.0], (200, 1))
    for channel in (label_channel(math.inf, 3), label_channel(math.inf, 3, prior)):
        np.testing.assert_array_equal(channel.sample(labels, rng), labels)
        assert channel.guarantee is NO_PRIVACY
    noisy = LaplaceChannel(math.inf, 3).sample(labels, rng)
    np.testing.assert_array_equal(noisy, np.eye(3)[labels])
    assert NO_PRIVACY.epsilon(0.1) == math.inf
    np.testing.assert_array_equal(NO_PRIVACY.curve([0.0, 0.5]), 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: label_channel(0.0, 3), "epsilon must be above 0"),
        (lambda: label_channel(math.nan, 3), "epsilon must be above 0"),
        (lambda: LaplaceChannel(-1.0, 3), "epsilon must be above 0"),
        (lambda: label_channel(1.0, 1), "at least 2 labels"),
        (lambda: label_channel(1.0, 3, [0.5, 0.5]), "one column per class"),
        (lambda: label_channel(1.0, 2, [0.5, 0.6]), "sum to 1"),
        (lambda: label_channel(1.0, 2, [math.nan, 1.0]), "sum to 1"),
        (lambda: label_channel(1.0, 2).probabilities([2]), "from 0 to 1"),
        (lambda: label_channel(1.0, 2).probabilities([0.5]), "from 0 to 1"),
        (lambda: label_channel(1.0, 2, [[0.5, 0.5]] * 3).probabilities([0, 1]), "for 3 records"),
        (lambda: LaplaceChannel(1.0, 3).log_likelihood([[0.0, 1.0]]), "one column per class"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
