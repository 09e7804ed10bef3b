"""The solved noise and rate are enough, and a little less is not."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.exposure import defences, exposed
from divulge.exposure.covariance import estimate_covariance
from divulge.exposure.defences import allowed_above, solve_noise, solve_rate
from divulge.exposure.exposed import Release


def setting(count=700, d=6, seed=0, references=400):
    rng = np.random.default_rng(seed)
    scale = np.geomspace(0.2, 20.0, d)
    data = rng.standard_t(4, size=(count, d)) * scale
    return data, estimate_covariance(rng.standard_t(4, size=(references, d)) * scale)


def share_above(data, model, release, level):
    m = exposed.leakage_scores(data, model, release)
    return float((exposed.advantage(m, release.rate) > level).mean())


@pytest.mark.parametrize("percentile", [50.0, 99.0, 100.0])
@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("wide", [False, True])
def test_noise_is_enough_and_less_is_not(percentile, rate, wide):
    data, model = setting(d=40, references=20) if wide else setting()
    size = 40
    found = solve_noise(
        data, model, Release(size, rate=rate), advantage=0.06, percentile=percentile
    )
    assert found > 0.0
    most = 1.0 - percentile / 100.0 + 1e-12
    assert share_above(data, model, Release(size, found, rate), 0.06) <= most
    assert share_above(data, model, Release(size, found * 0.998, rate), 0.06) > most


@pytest.mark.parametrize("percentile", [50.0, 99.0])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_rate_is_enough_and_more_is_not(percentile, noise):
    data, model = setting()
    found = solve_rate(data, model, Release(120, noise), advantage=0.05, percentile=percentile)
    assert 0.0 < found < 1.0
    assert (found * 120) == pytest.approx(round(found * 120))
    most = 1.0 - percentile / 100.0 + 1e-12
    assert share_above(data, model, Release(120, noise, found), 0.05) <= most
    assert share_above(data, model, Release(120, noise, found + 1 / 120), 0.05) > most


def test_the_pilot_does_not_change_the_answer(monkeypatch):
    data, model = setting(count=9000)
    release = Release(2000)
    quick = solve_noise(data, model, release, advantage=0.02)
    rates = solve_rate(data, model, release, advantage=0.02)
    monkeypatch.setattr(defences, "_PILOT", 10_000)
    slow = solve_noise(data, model, release, advantage=0.02)
    assert quick == pytest.approx(slow, rel=2e-3)
    assert rates == solve_rate(data, model, release, advantage=0.02)


def test_nothing_to_do():
    data, model = setting()
    assert solve_noise(data, model, Release(10**9), advantage=0.5) == 0.0
    assert solve_rate(data, model, Release(10**9), advantage=0.5) == 1.0
    assert solve_noise(data, model, Release(100, rate=0.04), advantage=0.05) == 0.0


def test_one_record_may_be_too_many():
    data, model = setting()
    assert solve_rate(data, model, Release(20), advantage=0.01) == 0.0


def test_percentiles():
    assert allowed_above(1000, 99.0) == 10
    assert allowed_above(99, 99.0) == 0
    assert allowed_above(10, 100.0) == 0
    with pytest.raises(InputError, match="percentile"):
        allowed_above(10, 0.0)
    data, model = setting()
    with pytest.raises(InputError, match="advantage must lie"):
        solve_noise(data, model, Release(100), advantage=1.0)
