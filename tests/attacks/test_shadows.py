from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from divulge.attacks.shadows import halves, train_shadows
from divulge.errors import InputError
from divulge.models.base import SMALLEST


@pytest.fixture
def data(rng):
    labels = rng.integers(3, size=90)
    return rng.normal(size=(90, 2)) + labels[:, None], labels


def nearest(_seed: int) -> KNeighborsClassifier:
    return KNeighborsClassifier(1)


def test_each_record_of_the_pool_is_in_half_of_the_sets(rng):
    pool = np.arange(100) < 70
    inside = halves(pool, 8, rng)
    assert (inside.sum(axis=1) == np.where(pool, 4, 0)).all()
    assert np.unique(inside[:70], axis=0).shape[0] > 20


def test_a_model_that_remembers_all_shows_who_was_inside(data):
    """One nearest neighbour is certain and right about every record it was fitted on."""
    x, y = data
    shadows = train_shadows(nearest, x, y, count=6, seed=3)
    for k, answers in enumerate(shadows.answers):
        own = answers.log_probabilities[np.arange(90), y]
        assert (own[shadows.inside[:, k]] == 0.0).all()
        assert (own[~shadows.inside[:, k]] < 0.0).any()


def test_offline_models_never_see_the_records(data):
    x, y = data
    pool = np.arange(90) >= 40
    shadows = train_shadows(nearest, x, y, pool=pool, count=4)
    assert not shadows.inside[:40].any()
    some = shadows.of(~pool)
    assert len(some.answers[0]) == 40
    assert some.inside.shape == (40, 4)


def test_seeds_repeat_and_differ(data):
    x, y = data
    first, again = (train_shadows(nearest, x, y, count=4, seed=1) for _ in range(2))
    other = train_shadows(nearest, x, y, count=4, seed=2)
    assert np.array_equal(first.inside, again.inside)
    assert np.array_equal(first.answers[3].log_probabilities, again.answers[3].log_probabilities)
    assert not np.array_equal(first.inside, other.inside)


def test_seeds_of_the_models_differ(data):
    x, y = data
    given = []

    def make(seed: int) -> KNeighborsClassifier:
        given.append(seed)
        return nearest(seed)

    train_shadows(make, x, y, count=4)
    assert len(set(given)) == 4


def test_a_class_that_a_half_lacks_has_no_probability(data):
    x, y = data
    rare = np.where(np.arange(90) == 0, 3, y)
    shadows = train_shadows(lambda s: LogisticRegression(random_state=s), x, rare, count=4)
    for k, answers in enumerate(shadows.answers):
        known = shadows.inside[0, k]
        logs = answers.log_probabilities[:, 3]
        assert (logs > np.log(SMALLEST)).all() if known else (logs == np.log(SMALLEST)).all()


def test_finished_models_are_found_again(data, tmp_path):
    x, y = data
    calls = []

    def make(seed: int) -> KNeighborsClassifier:
        calls.append(seed)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return nearest(seed)

    def run():
        return train_shadows(make, x, y, count=4, cache=tmp_path, name="nearest")

    with pytest.raises(KeyboardInterrupt):
        run()
    kept = run()
    assert len(calls) == 5  # two kept, one interrupted, two trained afterwards
    fresh = train_shadows(nearest, x, y, count=4)
    for a, b in zip(kept.answers, fresh.answers, strict=True):
        assert np.array_equal(a.log_probabilities, b.log_probabilities)
    train_shadows(make, x + 1.0, y, count=4, cache=tmp_path, name="nearest")
    assert len(calls) == 9  # other data, other pieces


@pytest.mark.slow
def test_processes_and_progress(data):
    x, y = data
    seen = []
    both = train_shadows(
        nearest, x, y, count=4, n_jobs=2, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    one = train_shadows(nearest, x, y, count=4)
    for a, b in zip(both.answers, one.answers, strict=True):
        assert np.array_equal(a.log_probabilities, b.log_probabilities)


def test_bad_input_is_named(data):
    x, y = data
    with pytest.raises(InputError, match="At least two shadow models"):
        train_shadows(nearest, x, y, count=1)
    with pytest.raises(InputError, match="90 records, 89 labels"):
        train_shadows(nearest, x, y[:-1])
    with pytest.raises(InputError, match="numbers of the classes"):
        train_shadows(nearest, x, y.astype(float))
    with pytest.raises(InputError, match="a name that says which training"):
        train_shadows(nearest, x, y, cache="somewhere")
