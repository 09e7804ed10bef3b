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


def skewed(rng, bases: int, models: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses as networks have them: log-normal, wide without the record, narrow with it."""
    zero = rng.lognormal(-1.0, 1.5, (bases, models))
    return zero, rng.lognormal(-3.0, 0.8, (bases, models))


def test_skewed_losses_break_the_normal_threshold_and_not_the_ranks(rng):
    """At a target of 0.1 the published test accuses far too many; ranks keep the target."""
    zero, one = skewed(rng, 150, 50)
    rates = {}
    for calibration in parametric.CALIBRATIONS:
        counts = [
            parametric.cross_fed(a, b, [0.1], calibration=calibration)[0]
            for a, b in zip(zero, one, strict=True)
        ]
        rates[calibration] = np.sum(counts, axis=0) @ np.diag([1, 0, 1, 0])[:, [0, 2]] / (150 * 50)
    assert rates["normal"][0] > 0.2
    assert rates["ranks"][0] <= 0.1 + 4 * np.sqrt(0.09 / (150 * 50))
    assert rates["ranks"][0] > 0.08
    assert rates["ranks"][1] < 0.85  # what the chance of 0.9 would be


@pytest.mark.parametrize("level", [0.05, 0.1, 0.34, 0.9])
@pytest.mark.parametrize("shape", ["log-normal", "two values", "normal"])
def test_ranks_keep_every_target_for_every_distribution(level, shape, rng):
    """The conformal guarantee: at most the target, for few shadow models and for ties."""
    draw = {
        "log-normal": lambda n: rng.lognormal(0.0, 2.0, n),
        "two values": lambda n: rng.integers(0, 2, n) + 0.5,
        "normal": lambda n: rng.normal(0.0, 1.0, n),
    }[shape]
    games, shadows = 20_000, 9
    says = parametric.independent(
        draw(games), draw((games, shadows)), rng.lognormal(-2.0, 0.5, (games, shadows)), [level],
        calibration="ranks",
    )  # fmt: skip
    assert says.mean() <= level + 4 * np.sqrt(level * (1 - level) / games)
    if shape != "two values":
        assert says.mean() == pytest.approx(np.floor(10 * level + 1e-9) / 10, abs=0.015)


def test_ranks_meet_both_sides_with_the_same_test(rng):
    zero, one = rng.normal(0, 1, 12), rng.normal(2, 0.5, 12)
    x, y = np.zeros(2), np.zeros(2)
    for j in range(12):
        of0, of1 = np.delete(zero, j)[None], np.delete(one, j)[None]
        x += parametric.independent(zero[j : j + 1], of0, of1, [0.1, 0.5], calibration="ranks")[0]
        y += ~parametric.independent(one[j : j + 1], of0, of1, [0.1, 0.5], calibration="ranks")[0]
    found = parametric.cross_fed(zero, one, [0.1, 0.5], calibration="ranks")
    assert found.tolist() == np.column_stack([x, [12, 12], y, [12, 12]]).tolist()


def test_an_unknown_calibration_and_unequal_sides_are_errors(rng):
    with pytest.raises(InputError, match="Unknown calibration 'median'"):
        parametric.cross_fed(rng.normal(size=9), rng.normal(size=9), [0.1], calibration="median")
    with pytest.raises(InputError, match="as many models"):
        parametric.cross_fed(rng.normal(size=9), rng.normal(size=8), [0.1], calibration="ranks")
