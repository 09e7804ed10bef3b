"""How many threads a piece of work gets: one, unless the work is large.

Threads of OpenMP and of BLAS wait for each other by spinning. On a machine whose cores are busy
with something else a small fit then takes many times as long with two threads as with one, so the
number follows the size of the work and not the number of cores. BLAS always has one thread: the
rounding of a sum must not depend on the machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

LARGE = 50_000
"""Rows from which on a fit or a prediction gets every core."""
HEAVY = 1_000_000
"""Weights from which on a network gets every core."""

P = ParamSpec("P")
R = TypeVar("R")
_ceiling: ContextVar[int | None] = ContextVar("ceiling", default=None)


def number(rows: int) -> int:
    """Threads for work on so many rows."""
    return _cores() if rows >= LARGE else 1


def number_for_network(weights: int) -> int:
    """Threads for a network of so many weights, however many records it is shown."""
    return _cores() if weights >= HEAVY else 1


T = TypeVar("T")


def side_by_side(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """The function of every item, in order, on every core: for compiled work without Python's lock.

    Inside a worker, or where the user allows one thread, one after the other.
    """
    most = min(_cores(), len(items))
    if most <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(most) as pool:
        return list(pool.map(function, items))


def _cores() -> int:
    """The cores of this process; one inside a worker, never more than the user allows OpenMP."""
    if (most := _ceiling.get()) is not None:
        return most
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not every system has it
        cores = os.cpu_count() or 1
    allowed = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, int(allowed)) if allowed.isdecimal() and int(allowed) > 0 else cores


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, everything has one thread, however large: for a worker among others."""
    before = _ceiling.set(1)
    try:
        with _limited(1):
            yield
    finally:
        _ceiling.reset(before)


@contextmanager
def sized(rows: int) -> Iterator[None]:
    """Within, OpenMP has the threads that work on so many rows deserves, BLAS one."""
    with _limited(number(rows)):
        yield


@contextmanager
def sized_network(module: Any) -> Iterator[None]:
    """Within, OpenMP has the threads that a torch module of its size deserves, BLAS one."""
    with _limited(number_for_network(sum(p.numel() for p in module.parameters()))):
        yield


def single(function: Callable[P, R]) -> Callable[P, R]:
    """A function in which everything has one thread that is not given more by ``sized``."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _limited(1):
            return function(*args, **kwargs)

    return limited


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    controller = _controller(len(sys.modules))
    with controller.limit(limits={"openmp": threads, "blas": 1}):
        yield


@lru_cache(maxsize=1)
def _controller(modules: int) -> Any:
    """The thread pools of the libraries loaded so far: looked for anew when modules came."""
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@dataclass(frozen=True)
class Sized:
    """A scikit-learn estimator that gets its threads by the rows it is shown."""

    model: Any = field(repr=False)

    @property
    def classes_(self) -> Any:
        """The classes it was fitted with."""
        return self.model.classes_

    def fit(self, x: Any, y: Any, **options: Any) -> Sized:
        """Fit the estimator; this object stands for it from then on."""
        with sized(len(x)):
            give_threads(self.model, len(x)).fit(x, y, **options)
        return self

    def predict(self, x: Any) -> Any:
        """What the estimator predicts."""
        with sized(len(x)):
            return self.model.predict(x)

    def predict_proba(self, x: Any) -> Any:
        """The estimator's probabilities."""
        with sized(len(x)):
            return self.model.predict_proba(x)

    def decision_function(self, x: Any) -> Any:
        """The estimator's margins."""
        with sized(len(x)):
            return self.model.decision_function(x)


def give_threads(model: Any, rows: int) -> Any:
    """Set an estimator's own argument for threads where it was left open, and give it back.

    XGBoost, LightGBM and CatBoost do not ask the thread pools: open means every core to them.
    """
    home = type(model).__module__.partition(".")[0]
    if home in ("xgboost", "lightgbm") and model.get_params().get("n_jobs") is None:
        model.set_params(n_jobs=number(rows))
    elif home == "catboost" and model.get_params().get("thread_count") is None:
        model.set_params(thread_count=number(rows))
    return model
