"""Zeros and ones, exactly: against closed forms, enumeration and the simulated game."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from divulge.crosschecks.per_datum import Bernoulli, Mean, round_of_target
from divulge.errors import InputError
from divulge.exposure import exposed
from divulge.exposure.binary import binary_columns, exact
from divulge.exposure.exposed import Release


def enumerated(z, p, k):
    """Probabilities out and in of every vector of counts."""
    out, inside = [], []
    for counts in itertools.product(range(k + 1), repeat=len(p)):
        out.append(np.prod([binom.pmf(t, k, q) for t, q in zip(counts, p, strict=True)]))
        inside.append(
            np.prod([binom.pmf(t - v, k - 1, q) for t, v, q in zip(counts, z, p, strict=True)])
        )
    return np.array(out), np.array(inside)


def beyond(a, b, epsilon):
    return np.maximum(a - np.exp(epsilon) * b, 0.0).sum()


def test_the_rare_column_of_one_in_five_hundred():
    """n = 200, p = 0.002: the normal form says 0.57, and a finite epsilon."""
    n, p = 200, 0.002
    found = exact([[1.0]], [p], Release(n), fprs=(0.1,), deltas=(1e-5, 0.7))
    assert found.advantage[0] == pytest.approx((1 - p) ** n, abs=1e-9)  # a count of 0 decides
    assert found.excluded[0] == pytest.approx((1 - p) ** n, abs=1e-9)
    assert np.isinf(found.epsilon[0][0])
    assert found.epsilon[1][0] < 1.5
    normal = (1 - p) / p / n
    assert exposed.advantage(normal) < 0.6
    assert np.isfinite(exposed.epsilon([normal], 1e-5)[0])


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_it_is_what_enumeration_says(rate):
    k, p = 6, np.array([0.3, 0.6, 0.15])
    z = np.array([1.0, 0.0, 1.0])
    release = Release(round(k / rate), rate=rate)
    found = exact(z, p, release, fprs=(0.05, 0.3), deltas=(0.2, 0.5))
    out, inside = enumerated(z, p, k)
    inside = (1.0 - rate) * out + rate * inside
    assert found.advantage[0] == pytest.approx(beyond(inside, out, 0.0), abs=2e-3)
    order = np.argsort(-inside / out, kind="stable")
    tails = [np.concatenate([[0.0], np.cumsum(v[order])]) for v in (out, inside)]
    for fpr, power in zip((0.05, 0.3), found.power, strict=True):
        assert power[0] == pytest.approx(np.interp(fpr, *tails), abs=4e-3)
    for delta, epsilon in zip((0.2, 0.5), found.epsilon, strict=True):
        e = epsilon[0]
        if np.isinf(e):
            assert max(beyond(inside, out, 20.0), beyond(out, inside, 20.0)) > delta
        else:
            worst = max(beyond(inside, out, e), beyond(out, inside, e))
            assert worst == pytest.approx(delta, abs=4e-3) or e == 0.0


def test_the_simulated_game_agrees():
    n, p = 100, np.array([0.01, 0.02, 0.2, 0.4, 0.05])
    z = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    found = exact(z, p, Release(n))
    rng = np.random.default_rng(0)
    says = {}
    for inside in (False, True):
        means = np.array(
            [
                round_of_target(Mean(), Bernoulli(p), n, z, rng, inside=inside)[0]
                for _ in range(3000)
            ]
        )
        ratio = np.where(z > 0.0, means / p, (1.0 - means) / (1.0 - p)).prod(axis=1)
        says[inside] = (ratio > 1.0).mean()
    error = np.sqrt(0.5 / 3000)
    assert abs(says[True] - says[False] - found.advantage[0]) < 4 * error


def test_many_records_behind_the_mean_make_it_normal():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 40)
    z = (rng.random((20, 40)) < p).astype(float)
    release = Release(2000)
    m = ((z - p) ** 2 / (p * (1.0 - p))).sum(axis=1) / release.size
    found = exact(z, p, release, fprs=(0.01,), deltas=(1e-3,))
    assert found.advantage == pytest.approx(exposed.advantage(m), rel=0.02)
    assert found.power[0] == pytest.approx(exposed.power(m, 0.01), rel=0.03)
    assert found.epsilon[0] == pytest.approx(exposed.epsilon(m, 1e-3), rel=0.1)
    assert np.all(found.excluded == 0.0)


def test_what_is_not_zeros_and_ones_is_refused():
    mask = binary_columns(np.array([[0.0, 1.0, 2.0]]), np.array([[1.0, 0.5, 1.0]]))
    assert mask.tolist() == [True, False, False]
    with pytest.raises(InputError, match="zeros and ones"):
        exact([[0.5]], [0.5], Release(10))
    with pytest.raises(InputError, match="without noise"):
        exact([[1.0]], [0.5], Release(10, 0.1))
    with pytest.raises(InputError, match="strictly"):
        exact([[1.0]], [0.0], Release(10))
