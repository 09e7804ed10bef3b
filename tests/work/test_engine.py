"""Engines in this process and in others of this machine: order, limits, deaths, exceptions."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from jobs import audited, deadly, same, sums

from divulge.errors import InputError, MissingExtra, WorkersLost
from divulge.work import SERIAL, Engine, engine
from divulge.work.parcel import call, compare, one_thread, pack, unpack_outcome
from divulge.work.pieces import Pieces
from divulge.work.versions import code

TWO = Engine("loky", 2)


@pytest.fixture(scope="module")
def expected():
    return list(SERIAL.run(sums(), range(40)))


def test_results_come_in_order_and_are_the_same_in_other_processes(expected):
    assert [r["seed"] for r in expected] == list(range(40))
    assert same(list(TWO.run(sums(), range(40))), expected)


def test_a_killed_process_changes_nothing(tmp_path, expected):
    assert same(list(TWO.run(deadly(tmp_path, 7, times=2), range(40))), expected)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_task_that_always_kills_is_given_up(tmp_path):
    with pytest.raises(WorkersLost, match="4 times"):
        list(TWO.run(deadly(tmp_path, 1, times=99), range(4)))
    assert len(list(tmp_path.iterdir())) == 4


def swelling():
    """Two tasks that keep what they allocate: loky ends a process that grew by more than 300 MB
    since its first task, and looks once a second."""

    def work(task):
        import builtins
        import time

        if task in (2, 3):
            vars(builtins)["held_by_tasks"] = b"x" * 350_000_000
            time.sleep(1.1)
        return task, os.getpid()

    return work


def test_a_process_that_ends_between_two_tasks_is_replaced_where_warnings_are_errors():
    pytest.importorskip("psutil")
    found = list(TWO.run(swelling(), range(8)))
    assert [task for task, _ in found] == list(range(8))
    assert len({process for _, process in found}) > 2


def failing(tmp_path):
    place = str(tmp_path)

    def work(task):
        if task == 3:
            with open(os.path.join(place, str(os.getpid())), "a") as stream:
                stream.write("x")
            raise KeyError("three")
        return task

    return work


@pytest.mark.parametrize("which", [SERIAL, TWO])
def test_an_exception_of_a_task_reaches_the_caller_as_itself_and_is_not_tried_again(
    tmp_path, which
):
    seen = []
    with pytest.raises(KeyError, match="three") as caught:
        seen.extend(which.run(failing(tmp_path), range(50)))
    assert type(caught.value) is KeyError
    assert seen == [0, 1, 2]
    assert "".join(p.read_text() for p in tmp_path.iterdir()) == "x"
    assert list(which.run(abs, [-1, -2])) == [1, 2]


def test_an_exception_that_cannot_travel_is_told_in_words():
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__("odd")

    def work(task):
        raise Odd(1, 2)

    with pytest.raises(RuntimeError, match="Odd: odd"):
        list(TWO.run(work, [1, 2]))


class Counting:
    """A pool that does nothing until it is asked, and remembers how full it was."""

    room = 5

    def __init__(self):
        self.tasks, self.most = [], 0

    def submit(self, index, task):
        self.tasks.append((index, task))
        self.most = max(self.most, len(self.tasks))

    def collect(self):
        yield self.tasks.pop()  # the newest first: all others have to wait

    def close(self):
        assert not self.tasks


def test_only_a_few_tasks_are_out_and_only_a_few_results_wait(monkeypatch):
    pool = Counting()
    monkeypatch.setattr(Engine, "_pool", lambda self, function: pool)
    monkeypatch.setattr(engine, "AHEAD", 50)
    tasks = range(100_000)
    told = []
    results = SERIAL.run(lambda task: task, tasks, progress=lambda *now: told.append(now))
    assert all(a == b for a, b in zip(results, tasks, strict=True))
    assert pool.most == 5
    assert told[-1] == (100_000, 100_000)


def test_stopping_early_stops_the_work():
    results = TWO.run(sums(), range(1000))
    assert next(results)["seed"] == 0
    results.close()
    assert list(TWO.run(abs, [-3])) == [3]


def test_no_tasks_start_no_process(monkeypatch):
    monkeypatch.setattr(Engine, "_pool", None)
    assert list(TWO.run(abs, [])) == []


def test_finished_tasks_start_no_process(tmp_path, monkeypatch):
    keep = Pieces(tmp_path).tasks("sums", lambda seed: {"seed": seed})
    first = list(TWO.run(sums(), range(6), keep=keep))
    monkeypatch.setattr(Engine, "_pool", None)
    told = []
    again = list(
        TWO.run(sums(), range(6), keep=keep, progress=lambda *now: told.append(now))
    )  # fmt: skip
    assert same(again, first)
    assert told == [(k, 6) for k in range(1, 7)]


def test_linear_algebra_has_one_thread():
    from threadpoolctl import threadpool_info

    def threads(_):
        return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]

    for which in (SERIAL, TWO):
        for found in which.run(threads, range(3)):
            assert set(found) == {1}


def test_a_worker_with_other_code_is_refused():
    refused = unpack_outcome(call(pack(abs), "digest", "another fingerprint", pack(-1))).error
    assert isinstance(refused, InputError)
    assert "runs other code" in str(refused)
    with pytest.raises(InputError, match="tcp://far has divulge none"):
        compare({"tcp://far": {**code(), "divulge": "none (No module)"}})


def test_what_cannot_travel_is_said():
    import threading

    lock = threading.Lock()
    with pytest.raises(InputError, match="cannot be sent"):
        list(TWO.run(lambda task: lock, [1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "threads"}, "Choose from loky, dask, ray, serial"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"address": "tcp://host:1"}, "no address"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        Engine(**options)


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_extra_is_named(monkeypatch, backend, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"divulge\[{backend}\]"):
        list(Engine(backend).run(abs, [1]))


def test_threads_are_given_back():
    from threadpoolctl import threadpool_info

    np.linalg.svd(np.eye(3))
    before = [i["num_threads"] for i in threadpool_info()]
    with one_thread():
        pass
    assert [i["num_threads"] for i in threadpool_info()] == before


@pytest.mark.slow
def test_the_command_resumes_and_says_the_same(tmp_path):
    options = ("--backend", "loky", "--n-jobs", "2")
    first = audited(tmp_path, *options)
    kept = sorted((tmp_path / ".divulge").glob("bootstrap-*.piece"))
    assert len(kept) == 40
    times = [p.stat().st_mtime_ns for p in kept]
    kept[0].write_bytes(b"damaged")
    assert audited(tmp_path, *options) == first
    assert [p.stat().st_mtime_ns for p in kept[1:]] == times[1:]
    assert kept[0].stat().st_mtime_ns != times[0]
    assert audited(tmp_path, "--backend", "serial", "--no-cache") == first
