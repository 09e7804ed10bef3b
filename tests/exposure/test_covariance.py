"""Covariances against explicit inverses, scikit-learn's shrinkage, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf

from divulge.errors import InputError
from divulge.exposure import covariance as module
from divulge.exposure.covariance import estimate_covariance, known


def records(count, columns, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(columns, columns)) / np.sqrt(columns) + np.eye(columns)
    scale = np.geomspace(0.1, 50.0, columns)
    return 3.0 + rng.normal(size=(count, columns)) @ mixing * scale


def inverse_form(model, a, b):
    return np.einsum("ij,jk,ik->i", a, np.linalg.inv(model.dense()), b)


CASES = [
    pytest.param(300, 12, "ledoit-wolf", id="more-records"),
    pytest.param(30, 80, "ledoit-wolf", id="more-columns"),
    pytest.param(300, 12, "empirical", id="empirical"),
    pytest.param(30, 80, "diagonal", id="diagonal"),
]


@pytest.mark.parametrize(("count", "columns", "kind"), CASES)
@pytest.mark.parametrize("noise", ["none", "one", "each"])
def test_distances_and_products_equal_the_explicit_inverse(count, columns, kind, noise):
    data = records(count, columns)
    model = estimate_covariance(data, kind)
    if noise != "none":
        model = model.with_noise(4.0 if noise == "one" else np.linspace(0.0, 9.0, columns))
    z = records(7, columns, seed=1)
    centred = z - data.mean(axis=0)
    np.testing.assert_allclose(model.mean, data.mean(axis=0))
    np.testing.assert_allclose(model.variances, np.diag(model.dense()))
    np.testing.assert_allclose(
        model.mahalanobis(z), inverse_form(model, centred, centred), rtol=1e-7
    )
    np.testing.assert_allclose(
        model.inner(z, centred), inverse_form(model, z, centred), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(model.inner(z, z[0])[2], model.inner(z[2], z[0]))
    assert model.inner(z[0], z[1]).shape == ()
    np.testing.assert_allclose(model.solve(z) @ model.dense(), z, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("count", "columns"), [(300, 12), (30, 80)])
def test_shrinkage_is_scikit_learns_on_standardised_columns(count, columns):
    data = records(count, columns)
    scale = data.std(axis=0)
    peer = LedoitWolf().fit((data - data.mean(axis=0)) / scale)
    model = estimate_covariance(data)
    assert model.shrinkage == pytest.approx(peer.shrinkage_, rel=1e-9)
    np.testing.assert_allclose(
        model.dense(), peer.covariance_ * scale * scale[:, None], rtol=1e-9, atol=1e-12
    )


def test_the_covariance_is_centred_and_free_of_units():
    data, z = records(200, 6), records(5, 6, seed=1)
    distance = estimate_covariance(data).mahalanobis(z)
    moved = estimate_covariance(data * 1000.0 + 77.0).mahalanobis(z * 1000.0 + 77.0)
    np.testing.assert_allclose(distance, moved, rtol=1e-8)


def test_noise_adds_up_and_only_lowers_distances():
    data, z = records(30, 80), records(5, 80, seed=1)
    model = estimate_covariance(data)
    once = model.with_noise(3.0)
    np.testing.assert_allclose(
        once.mahalanobis(z), model.with_noise(1.0).with_noise(2.0).mahalanobis(z)
    )
    assert np.all(once.mahalanobis(z) < model.mahalanobis(z))


def test_blocks_do_not_change_the_answer(monkeypatch):
    data, z = records(300, 12), records(40, 12, seed=1)
    before = estimate_covariance(data)
    expected, pairs = before.mahalanobis(z), before.inner(z, z[::-1])
    monkeypatch.setattr(module, "CELLS", 36)
    monkeypatch.setattr(module, "BLOCK", 1)
    after = estimate_covariance(data)
    np.testing.assert_allclose(after.mahalanobis(z), expected, rtol=1e-10)
    np.testing.assert_allclose(after.inner(z, z[::-1]), pairs, rtol=1e-9)


def test_many_columns_use_an_even_part_of_the_records(monkeypatch):
    monkeypatch.setattr(module, "DENSE", 20)
    monkeypatch.setattr(module, "LARGEST_FACTOR", 16)
    data = records(200, 30)
    model = estimate_covariance(data)
    assert (model.references, model.correlated) == (200, 16)
    assert model.matrix is None
    assert model.factor is not None
    assert model.factor.shape == (16, 30)
    np.testing.assert_allclose(model.mean, data.mean(axis=0))


def test_known_variances_and_matrix_agree():
    z = np.array([[1.0, 2.0], [0.0, -1.0]])
    first, second = known([0.0, 1.0], [4.0, 9.0]), known([0.0, 1.0], np.diag([4.0, 9.0]))
    np.testing.assert_allclose(first.mahalanobis(z), [0.25 + 1 / 9, 4 / 9])
    np.testing.assert_allclose(second.mahalanobis(z), first.mahalanobis(z))


def test_constant_columns_are_named():
    data = records(50, 4)
    data[:, 2] = 0.1
    with pytest.raises(InputError, match="Column 'age' is constant over the 50 reference"):
        estimate_covariance(data, names=["a", "b", "age", "d"])
    data[:, 0] = 1e9
    with pytest.raises(InputError, match="2 columns 'a', 'age' are constant"):
        estimate_covariance(data, names=["a", "b", "age", "d"])


@pytest.mark.parametrize(("count", "columns"), [(300, 12), (30, 80)])
@pytest.mark.parametrize("kind", ["ledoit-wolf", "diagonal"])
def test_constant_columns_may_be_left_to_the_noise(count, columns, kind):
    data, z = records(count, columns), records(5, columns, seed=1)
    apart = estimate_covariance(data, kind).with_noise(2.0)
    with_flat = np.column_stack([data, np.full(count, 7.0)])
    model = estimate_covariance(with_flat, kind, allow_constant=True)
    moved = np.column_stack([z, np.full(5, 9.0)])
    with pytest.raises(InputError, match=r"no variance|cannot be inverted"):
        model.mahalanobis(moved)
    noisy = model.with_noise(2.0).mahalanobis(moved)
    np.testing.assert_allclose(noisy, apart.mahalanobis(z) + 2.0**2 / 2.0, rtol=1e-9)


def test_too_few_references():
    with pytest.raises(InputError, match=r"needs at least 21 reference records\. Found 15"):
        estimate_covariance(records(15, 20), "empirical")
    with pytest.raises(InputError, match=r"at least 10 reference records\. Found 9\. Give more"):
        estimate_covariance(records(9, 20))


def test_other_bad_input():
    data = records(50, 4)
    with pytest.raises(InputError, match="Unknown covariance 'full'"):
        estimate_covariance(data, "full")
    with pytest.raises(InputError, match="one variance, or one for each of the 4 columns"):
        estimate_covariance(data).with_noise([1.0, 2.0])
    with pytest.raises(InputError, match="at least 0"):
        estimate_covariance(data).with_noise(-1.0)
    with pytest.raises(InputError, match="must have 4 columns"):
        estimate_covariance(data).mahalanobis(np.zeros((2, 3)))
    data[3, 1] = np.nan
    with pytest.raises(InputError, match="column 'b' holds values that are not finite"):
        estimate_covariance(data, names=list("abcd"))
    twice = np.column_stack([records(50, 4), records(50, 4)])
    with pytest.raises(InputError, match="combinations of others"):
        estimate_covariance(twice, "empirical").mahalanobis(twice)
