"""Training with and without a record: counts, seeds, pieces and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import divulge
from divulge.attacks import parametric
from divulge.errors import InputError
from divulge.games.retraining.measuring import append

LEVELS = (0.1, 0.3)


class Noisy:
    """A model that is the sum of its data and noise, and counts how often it was trained."""

    def __init__(self) -> None:
        self.calls = 0

    def train(self, data, seed):
        self.calls += 1
        return float(np.sum(data)) + np.random.default_rng(seed).normal()


def loss(model, record):
    return -model * record


def measure(noisy, **options):
    base, record = np.arange(5.0), 3.0
    return divulge.retraining.measure(
        noisy.train, base, record, loss=loss, levels=LEVELS, **{"models": 30, **options}
    )


def test_a_record_that_matters_is_found():
    noisy = Noisy()
    found = measure(noisy)
    assert noisy.calls == 60
    assert found.correlated
    assert found.counts[0, 0] <= 9
    assert found.counts[0, 2] <= 9
    assert found.row(0.1) == {
        "false_positives": found.counts[0, 0],
        "negatives": 30,
        "false_negatives": found.counts[0, 2],
        "positives": 30,
    }
    assert np.array_equal(
        found.counts, parametric.cross_fed(found.without, found.with_record, LEVELS)
    )


def test_the_slow_form_trains_shadow_models_for_each_decision():
    noisy = Noisy()
    found = measure(noisy, cross_fed=False, models=6, shadows=4)
    assert noisy.calls == 2 * 6 * 9
    assert not found.correlated
    assert found.without.size == found.with_record.size == 6
    assert found.with_record.mean() < found.without.mean() - 4.0


@pytest.mark.slow
def test_the_slow_form_is_independent_under_the_null():
    """Nothing leaks: over many decisions both errors are those of guessing at the target."""
    rng_base, record = np.zeros(3), 0.0

    def train(data, seed):
        return np.random.default_rng(seed).normal()

    found = divulge.retraining.measure(
        train, rng_base, record, loss=lambda m, z: m, models=200, shadows=30, cross_fed=False,
        levels=(0.3,),
    )  # fmt: skip
    x, n, y, _ = found.counts[0]
    assert x / n == pytest.approx(0.3, abs=0.09)
    assert y / n == pytest.approx(0.7, abs=0.09)


def test_every_model_has_its_own_seed_and_the_same_ones_come_again():
    first, second = measure(Noisy()), measure(Noisy())
    assert np.array_equal(first.without, second.without)
    assert np.unique(first.without).size == 30
    assert not np.array_equal(first.without, measure(Noisy(), seed=1).without)


def test_finished_pieces_are_not_trained_again(tmp_path):
    first = Noisy()
    found = measure(first, cache=tmp_path, cache_key="noisy sum")
    second = Noisy()
    again = measure(second, cache=tmp_path, cache_key="noisy sum")
    assert second.calls == 0
    assert np.array_equal(found.counts, again.counts)
    kept = sorted(tmp_path.glob("*.piece"))
    kept[0].unlink()
    kept[1].write_bytes(kept[1].read_bytes()[:-3])
    third = Noisy()
    assert np.array_equal(
        measure(third, cache=tmp_path, cache_key="noisy sum").without, found.without
    )
    assert third.calls == 20
    fourth = Noisy()
    measure(fourth, cache=tmp_path, cache_key="another training")
    assert fourth.calls == 60


def test_more_models_keep_the_pieces_that_are_there(tmp_path):
    measure(Noisy(), cache=tmp_path, cache_key="n")
    more = Noisy()
    measure(more, cache=tmp_path, cache_key="n", models=40)
    assert more.calls == 20


@pytest.mark.slow
def test_processes_change_nothing():
    """Functions of this module only: they must be found by the other process."""
    alone = divulge.retraining.measure(
        _train, np.arange(4.0), 1.0, loss=loss, models=12, levels=LEVELS
    )
    two = divulge.retraining.measure(
        _train, np.arange(4.0), 1.0, loss=loss, models=12, levels=LEVELS, n_jobs=2
    )
    assert np.array_equal(alone.with_record, two.with_record)


def _train(data, seed):
    return float(np.sum(data)) + np.random.default_rng(seed).normal()


def test_a_scikit_learn_model():
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)

    def train(data, seed):
        keep = np.random.default_rng(seed).random(len(data[1])) < 0.7
        keep[[0, -2]] = True
        return GaussianNB().fit(data[0][keep], data[1][keep])

    def log_loss(model, record):
        return -model.predict_log_proba(record[0][None])[0, int(record[1])]

    found = divulge.retraining.measure(
        train, (x, y), (np.array([4.0, -4.0]), 1), loss=log_loss, models=20, levels=LEVELS
    )
    assert found.counts.shape == (2, 4)
    assert found.with_record.mean() < found.without.mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": 3}, "four models"),
        ({"cross_fed": False, "shadows": 1}, "two shadow"),
        ({"cache": "x"}, "Give the pieces a cache_key"),
        ({"levels": (0.0,)}, "Target errors"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        divulge.retraining.measure(
            _train, np.arange(4.0), 1.0, **{"loss": loss, "levels": LEVELS, **options}
        )


def test_a_loss_that_is_not_finite_is_said():
    with pytest.raises(InputError, match="Losses must be finite"):
        divulge.retraining.measure(
            _train, np.arange(4.0), 1.0, loss=lambda m, z: float("inf"), models=4, levels=LEVELS
        )


def test_a_record_of_another_shape_is_said():
    with pytest.raises(InputError, match="shape"):
        append(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(InputError, match="as many parts"):
        append((np.zeros(3), np.zeros(3)), (0.0,))


def test_another_level_is_said():
    with pytest.raises(InputError, match="not among"):
        measure(Noisy()).row(0.25)
