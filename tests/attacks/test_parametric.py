"""LiRA's parametric test: its level, its power, and counts from losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ncx2, norm

from divulge.attacks import parametric
from divulge.errors import InputError


def test_power_is_that_of_the_likelihood_ratio(rng):
    """N(0, 1) against N(1, 1.3) at 0.1: the best is .415, Algorithm 3's sign gives .047."""
    zero, one = rng.normal(0, 1, 100_000), rng.normal(1, 1.3, 100_000)
    level = parametric.decide(zero, 0, 1, 1, 1.3, [0.1]).mean()
    power = parametric.decide(one, 0, 1, 1, 1.3, [0.1]).mean()
    ratio = norm.logpdf(zero, 1, 1.3) - norm.logpdf(zero, 0, 1)
    best = np.mean(norm.logpdf(one, 1, 1.3) - norm.logpdf(one, 0, 1) > np.quantile(ratio, 0.9))
    assert level == pytest.approx(0.1, abs=0.004)
    assert power == pytest.approx(best, abs=0.008)
    assert power == pytest.approx(0.415, abs=0.006)


@pytest.mark.parametrize(
    ("m1", "s1"), [(1.0, 1.0), (-2.0, 1.0), (1.0, 0.5), (-1.0, 2.0), (0.5, 1 + 1e-7), (3.0, 0.01)]
)
def test_every_case_keeps_its_level(m1, s1, rng):
    zero = rng.normal(0, 1, 50_000)
    for level in (0.02, 0.1, 0.7):
        found = parametric.decide(zero, 0.0, 1.0, m1, s1, [level]).mean()
        assert found == pytest.approx(level, abs=0.01)


def test_the_threshold_is_the_noncentral_chi_squared_quantile():
    shift, level = np.array([[0.0], [0.7], [2.0]]), np.array([0.05, 0.5, 0.9])
    found = parametric.half_width(shift, level) ** 2
    expected = [[ncx2.ppf(p, 1, s**2) if s else norm.ppf((1 + p) / 2) ** 2 for p in level]
                for s in shift[:, 0]]  # fmt: skip
    assert found == pytest.approx(np.array(expected), rel=1e-6)


def test_a_large_noncentrality_is_no_problem():
    width = parametric.half_width(np.array([[1e6]]), np.array([0.1]))
    assert width[0, 0] == pytest.approx(1e6 + norm.ppf(0.1), abs=1e-6)


def test_leaving_one_out(rng):
    values = rng.normal(size=12)
    mean, sd = parametric.without_each(values)
    for j in range(12):
        rest = np.delete(values, j)
        assert mean[j] == pytest.approx(rest.mean())
        assert sd[j] == pytest.approx(rest.std(ddof=1))


def test_cross_fed_counts_are_algorithm_5(rng):
    zero, one = rng.normal(0, 1, 30), rng.normal(2, 1.5, 30)
    levels = [0.1, 0.3]
    false_positives = np.zeros(2)
    false_negatives = np.zeros(2)
    for j in range(30):
        rest = np.delete(zero, j)
        args = rest.mean(), rest.std(ddof=1), one.mean(), one.std(ddof=1)
        false_positives += parametric.decide(zero[j], *args, levels)[0]
        rest = np.delete(one, j)
        args = zero.mean(), zero.std(ddof=1), rest.mean(), rest.std(ddof=1)
        false_negatives += ~parametric.decide(one[j], *args, levels)[0]
    counts = parametric.cross_fed(zero, one, levels)
    assert counts[:, 0].tolist() == false_positives.tolist()
    assert counts[:, 2].tolist() == false_negatives.tolist()
    assert (counts[:, 1::2] == 30).all()


def test_bad_input():
    with pytest.raises(InputError, match="four models"):
        parametric.cross_fed([1.0, 2, 3], [1.0, 2, 3], [0.1])
    with pytest.raises(InputError, match="finite"):
        parametric.cross_fed([1.0, 2, 3, np.nan], [1.0, 2, 3, 4], [0.1])
    with pytest.raises(InputError, match="Target errors"):
        parametric.decide(0.0, 0, 1, 1, 1, [1.0])
    with pytest.raises(InputError, match="two shadow"):
        parametric.independent([0.0], [[1.0]], [[1.0]], [0.1])
