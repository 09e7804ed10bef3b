"""Threads follow the size of the work: one for small fits, however many cores there are."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import threadpoolctl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

import divulge
from divulge.work import threads


@pytest.fixture
def four_cores(monkeypatch):
    """A machine with four cores, and thread pools that would use them all."""
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpoolctl.threadpool_limits(4):
        yield


def pools(api: str) -> set[int]:
    return {p["num_threads"] for p in threadpoolctl.threadpool_info() if p["user_api"] == api}


class Spy:
    """Notes how many threads it is given."""

    def __init__(self):
        self.seen = []

    def note(self, *_):
        self.seen.append(_openmp_effective_n_threads())

    def predict_proba(self, x):
        self.note()
        p = 1.0 / (1.0 + np.exp(x[:, 0]))
        return np.column_stack([p, 1.0 - p])


@pytest.mark.usefixtures("four_cores")
class TestFourCores:
    def test_small_work_has_one_thread_and_large_work_every_core(self):
        with threads.sized(threads.LARGE - 1):
            assert pools("openmp") == {1}
        with threads.sized(threads.LARGE):
            assert pools("openmp") == {4}
            assert pools("blas") == {1}
        assert pools("openmp") == {4}

    def test_a_large_fit_inside_a_game_gets_every_core(self):
        @threads.single
        def game() -> tuple[set[int], set[int]]:
            outside = pools("openmp")
            with threads.sized(threads.LARGE):
                return outside, pools("openmp")

        assert game() == ({1}, {4})

    def test_a_worker_never_gets_more_than_one(self):
        with threads.one_thread(), threads.sized(10 * threads.LARGE):
            assert pools("openmp") == {1}
            assert threads.number(10 * threads.LARGE) == 1

    def test_a_user_who_limits_openmp_is_obeyed(self, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert threads.number(threads.LARGE) == 2

    def test_an_estimator_is_fitted_and_asked_by_its_rows(self, monkeypatch):
        seen = []
        fit = HistGradientBoostingClassifier.fit

        def spied(self, x, y, **options):
            seen.append(_openmp_effective_n_threads())
            return fit(self, x, y, **options)

        monkeypatch.setattr(HistGradientBoostingClassifier, "fit", spied)
        x = np.random.default_rng(0).normal(size=(60, 2))
        model = threads.Sized(HistGradientBoostingClassifier(max_iter=2)).fit(x, x[:, 0] > 0)
        assert seen == [1]
        assert model.predict_proba(x).shape == (60, 2)

    def test_whatever_an_audit_fits_or_searches_has_one_thread(self, monkeypatch):
        seen = []
        search = NearestNeighbors.kneighbors

        def spied(self, *given, **options):
            seen.append(_openmp_effective_n_threads())
            return search(self, *given, **options)

        monkeypatch.setattr(NearestNeighbors, "kneighbors", spied)
        rng = np.random.default_rng(1)
        table = {
            "member": np.repeat([1, 0], 300),
            "score": rng.normal(size=600),
            "a": rng.normal(size=600),
        }
        divulge.membership(_frame(table), score="score", features=["a"])
        assert seen
        assert set(seen) == {1}

    def test_a_model_of_the_users_is_asked_with_one_thread(self):
        spy = Spy()
        rng = np.random.default_rng(1)
        table = {"member": np.repeat([1, 0], 100), "a": rng.normal(size=200)}
        table["y"] = rng.integers(2, size=200)
        divulge.membership(
            _frame(table), model=spy, features=["a"], label="y", corrections=["none"]
        )
        assert set(spy.seen) == {1}


class Open:
    """Boosting that takes every core unless told otherwise."""

    __module__ = "xgboost.sklearn"

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    def get_params(self):
        return {"n_jobs": self.n_jobs}

    def set_params(self, n_jobs):
        self.n_jobs = n_jobs


def test_a_learner_with_threads_of_its_own_is_told_and_a_choice_is_kept():
    assert threads.give_threads(Open(), 100).n_jobs == 1
    assert threads.give_threads(Open(3), 100).n_jobs == 3


def _frame(columns):
    import pandas as pd

    return pd.DataFrame(columns)


def test_work_side_by_side_keeps_its_order_and_asks_for_no_more_threads_than_allowed(four_cores):
    seen = set()

    def square(x):
        seen.add(threading.current_thread().name)
        time.sleep(0.01)
        return x * x

    assert threads.side_by_side(square, range(6)) == [0, 1, 4, 9, 16, 25]
    assert 1 < len(seen) <= 4
    seen.clear()
    with threads.one_thread():
        assert threads.side_by_side(square, range(3)) == [0, 1, 4]
    assert seen == {threading.current_thread().name}
