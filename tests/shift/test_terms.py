from __future__ import annotations

import numpy as np
import pytest

from divulge.shift.groups import fit_clusters, fit_kernel, soft_membership
from divulge.shift.terms import Terms, describe, no_terms, relevance, screen, union


@pytest.fixture
def gaussian(rng):
    x = rng.standard_normal((3000, 12))
    geometry = describe(x, rng)
    return geometry, geometry.clipped(x)


def noisy(signal, rng):
    target = signal + rng.standard_normal(signal.size)
    return target - target.mean(), np.full(signal.size, target.var())


def test_screening_finds_what_is_there(gaussian, rng):
    geometry, z = gaussian
    signal = 0.4 * z[:, 0] ** 2 + 0.4 * z[:, 3] * z[:, 7] + 0.3 * z[:, 1] * z[:, 2] * z[:, 5]
    terms = screen(geometry, z, *noisy(signal, rng), triples=True)
    assert 0 in terms.univariate  # the first shape of the first column is its square
    assert (3, 7) in {tuple(p) for p in terms.pairs}
    assert (1, 2, 5) in {tuple(t) for t in terms.triples}


def test_screening_finds_little_in_noise(gaussian, rng):
    geometry, z = gaussian
    found = 0
    for _ in range(20):
        terms = screen(geometry, z, *noisy(np.zeros(len(z)), rng), triples=True)
        found += terms.build(geometry, z).shape[1]
    assert found < 20


def test_many_small_interactions_become_a_direction(gaussian, rng):
    geometry, z = gaussian
    along = rng.standard_normal(12)
    along /= np.linalg.norm(along)
    terms = screen(geometry, z, *noisy(0.6 * (z @ along) ** 2, rng))
    assert terms.directions.shape[1] >= 1
    assert abs(terms.directions[:, 0] @ along) > 0.9


def test_selected_shapes_are_the_same_columns_as_all(gaussian):
    geometry, z = gaussian
    which = np.array([0, 5, 13, 30, 59])
    np.testing.assert_array_equal(geometry.univariate(z, which), geometry.univariate(z)[:, which])


def test_union_keeps_both_selections(gaussian):
    geometry, z = gaussian
    first = Terms(np.array([1]), np.array([[0, 1]]), np.zeros((12, 0)), np.array([[0, 1, 2]]))
    both = union(first, no_terms(12))
    np.testing.assert_array_equal(both.build(geometry, z), first.build(geometry, z))
    assert no_terms(12).build(geometry, z).shape == (len(z), 0)


def test_relevance_ranks_the_columns(gaussian, rng):
    _, z = gaussian
    weight = relevance(z, *noisy(z[:, 0] + z[:, 1] ** 2 + z[:, 2] * z[:, 3], rng))
    assert weight.max() == 1.0
    assert weight[:4].min() > 2.0 * weight[4:].max()
    assert (relevance(z, np.zeros(len(z)), np.ones(len(z))) == 1.0).all()


def test_clusters_and_kernel_see_the_relevant_columns_only(rng):
    centre = rng.integers(0, 2, 2000)
    x = rng.standard_normal((2000, 30))
    x[:, 0] += 6.0 * centre
    z = (x - x.mean(0)) / x.std(0)
    weight = np.r_[1.0, np.zeros(29)]
    clusters = fit_clusters(z, weight, seed=1)
    member = clusters(z)
    np.testing.assert_allclose(member.sum(axis=1), 1.0)
    side = np.where(clusters.centres[:, 0] > 0.0, 1, 0)
    assert np.mean(side[member.argmax(axis=1)] == centre) > 0.98
    bumps = fit_kernel(z, weight, seed=1)
    shuffled = z.copy()
    shuffled[:, 1:] = rng.permutation(z[:, 1:])
    np.testing.assert_array_equal(bumps(z), bumps(shuffled))
    assert 0.0 <= bumps(z).min() <= bumps(z).max() <= 1.0


def test_soft_membership_is_a_posterior():
    share = soft_membership(np.array([[0.0], [3.0]]), np.array([[-1.0], [1.0]]), 2.0)
    np.testing.assert_allclose(share[0], 0.5)
    assert share[1, 1] == pytest.approx(1 / (1 + np.exp(-3.0)))


@pytest.mark.parametrize(
    "columns",
    [
        lambda rng: rng.standard_normal((600, 1)),
        lambda rng: rng.integers(0, 2, (600, 5)).astype(float),
        lambda rng: np.ones((600, 2)),
        lambda rng: rng.standard_cauchy((600, 3)) * 1e6,
    ],
    ids=["one column", "binary", "constant", "outliers"],
)
def test_odd_columns(columns, rng):
    x = columns(rng)
    geometry = describe(x, rng)
    z = geometry.clipped(x)
    residual = rng.standard_normal(600)
    weight = relevance(z, residual, np.ones(600))
    built = [
        geometry.always(z),
        screen(geometry, z, residual, np.ones(600), triples=True).build(geometry, z),
        fit_clusters(z, weight, seed=1)(z),
        fit_kernel(z, weight, seed=1)(z),
    ]
    for columns in built:
        assert columns.shape[0] == 600
        assert np.isfinite(columns).all()
