"""Which records are chosen as canaries, and in which metric."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.exposure.selection import exposure, most_exposed, noisy_covariance, rank_sum


def test_the_noisy_distance_is_that_of_the_sum_of_both_covariances(rng):
    x = rng.normal(size=(400, 6)) @ rng.normal(size=(6, 6))
    covariance = noisy_covariance(x, 0.7, kind="empirical")
    whole = np.cov(x, rowvar=False) + 0.7 * np.eye(6)
    centred = x - x.mean(axis=0)
    expected = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(whole), centred)
    assert np.allclose(covariance.mahalanobis(x), expected)


@pytest.mark.parametrize("records", [300, 8 + 12])  # as one matrix, and as a factor of low rank
def test_a_constant_column_has_the_noise_alone(rng, records):
    x = rng.normal(size=(records, 30))
    x[:, [3, 17]] = 2.0
    covariance = noisy_covariance(x, 0.25)
    point = x[0].copy()
    point[3] += 1.0
    further = covariance.mahalanobis(point) - covariance.mahalanobis(x[0])
    assert further == pytest.approx(1.0 / 0.25)
    others = np.delete(np.arange(30), [3, 17])
    inner = noisy_covariance(x[:, others], 0.25)
    assert np.allclose(covariance.mahalanobis(x), inner.mahalanobis(x[:, others]))


def test_only_constant_columns_still_have_a_distance():
    x = np.ones((20, 3))
    point = np.array([2.0, 1.0, 1.0])
    assert noisy_covariance(x, 0.5).mahalanobis(point) == pytest.approx(2.0)


def test_without_noise_a_constant_column_is_an_error(rng):
    x = rng.normal(size=(50, 3))
    x[:, 1] = 0.0
    with pytest.raises(InputError, match="'b' is constant"):
        exposure(x, "mahalanobis", names=["a", "b", "c"])


def test_noise_may_differ_from_column_to_column(rng):
    x = rng.normal(size=(400, 2))
    x[0], x[1] = (9.0, 0.0), (0.0, 9.0)
    assert most_exposed(exposure(x, "mahalanobis", noise=[9.0, 0.0]), 1, rng).tolist() == [1]
    assert most_exposed(exposure(x, "mahalanobis", noise=[0.0, 9.0]), 1, rng).tolist() == [0]
    same = exposure(x, "mahalanobis", noise=[0.5, 0.5])
    assert np.allclose(same, exposure(x, "mahalanobis", noise=0.5))
    with pytest.raises(InputError, match="one for each of the 2 columns"):
        exposure(x, "mahalanobis", noise=[1.0, 1.0, 1.0])
    x[:, 1] = 3.0
    with pytest.raises(InputError, match="constant"):
        exposure(x, "mahalanobis", noise=[1.0, 0.0])


def test_noise_turns_the_choice(rng):
    """A record far out where the others hardly spread is hidden by noise of that size."""
    x = np.column_stack([rng.normal(0, 10.0, 500), rng.normal(0, 0.01, 500)])
    x[0], x[1] = (0.0, 0.2), (60.0, 0.0)
    assert most_exposed(exposure(x, "mahalanobis"), 1, rng).tolist() == [0]
    assert most_exposed(exposure(x, "mahalanobis", noise=1.0), 1, rng).tolist() == [1]


def test_the_reference_is_what_the_distance_is_taken_from(rng):
    x = rng.normal(size=(100, 2))
    x[0] = 50.0
    away = rng.normal(size=(200, 2)) + 50.0
    assert np.argmax(exposure(x, "mahalanobis")) == 0
    assert np.argmin(exposure(x, "mahalanobis", reference=away)) == 0


def test_ranks_are_summed_over_steps():
    assert rank_sum([[1.0, 5.0, 3.0], [0.0, 9.0, 9.0]]).tolist() == [2.0, 5.5, 4.5]
    with pytest.raises(InputError, match="one value per record"):
        rank_sum([[1.0, 2.0], [1.0]])
    with pytest.raises(InputError, match="no step"):
        rank_sum([])


def test_ties_fall_by_lot_and_the_rest_by_size(rng):
    values = np.array([1.0, 1.0, 1.0, 1.0, 7.0])
    seen = {tuple(most_exposed(values, 2, np.random.default_rng(k))) for k in range(40)}
    assert all(4 in chosen for chosen in seen)
    assert len(seen) == 4


def test_norm_and_random(rng):
    x = rng.normal(size=(30, 4))
    assert np.allclose(exposure(x, "norm") ** 2, (x**2).sum(axis=1))
    assert not exposure(x, "random").any()
    with pytest.raises(InputError, match="Unknown strategy"):
        exposure(x, "largest")
    with pytest.raises(InputError, match="31 canaries"):
        most_exposed(np.zeros(30), 31, rng)
