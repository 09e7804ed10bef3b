"""A real Dask cluster of several processes, one of which is killed in the middle of the work."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jobs import audited, deadly, generated, same, scored, sums
from needing import needs

import divulge
from divulge.errors import InputError, WorkersLost
from divulge.work import SERIAL, Engine
from divulge.work.pieces import Pieces

needs("distributed", "dask")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster():
    import dask
    from distributed import LocalCluster

    # A killed worker comes back, however busy the machine is.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
    ):
        yield made


@pytest.fixture
def engine(cluster):
    return Engine("dask", address=cluster.scheduler_address)


@pytest.fixture(scope="module")
def expected():
    return list(SERIAL.run(sums(), range(60)))


def slow():
    honest = sums()

    def work(seed):
        import time

        time.sleep(0.05)
        return honest(seed)

    return work


def test_a_worker_killed_from_outside_changes_nothing(engine, cluster, expected, tmp_path):
    victim = next(iter(cluster.workers.values())).pid
    keep = Pieces(tmp_path).tasks("sums", lambda seed: {"seed": seed})
    found = []
    for result in engine.run(slow(), range(60), keep=keep):
        found.append(result)
        if len(found) == 12:
            os.kill(victim, signal.SIGKILL)
    assert same(found, expected)
    assert len(list(tmp_path.iterdir())) == 60
    assert victim != next(iter(cluster.workers.values())).pid


def test_a_task_that_kills_its_worker_once_is_done_again(engine, expected, tmp_path):
    assert same(list(engine.run(deadly(tmp_path, 5), range(20))), expected[:20])
    assert (tmp_path / "died-0").exists()


def test_an_exception_of_a_task_reaches_the_caller_as_itself(engine):
    def work(task):
        raise InputError(f"row {task}")

    with pytest.raises(InputError, match="row 0") as caught:
        list(engine.run(work, range(3)))
    assert type(caught.value) is InputError
    assert str(caught.value) == "row 0"


def test_a_local_cluster_without_an_address(expected):
    assert same(list(Engine("dask", n_jobs=2).run(sums(), range(6))), expected[:6])


def test_the_command_says_the_same(engine, tmp_path):
    here = audited(tmp_path, "--backend", "serial", "--no-cache")
    there = audited(tmp_path, "--backend", "dask", "--address", engine.address, "--no-cache")
    assert here == there


def test_scores_are_the_same(engine):
    assert scored(engine).equals(scored(SERIAL))


def test_generated_records_are_the_same(engine):
    assert generated(engine).equals(generated(SERIAL))


def test_nobody_at_the_address():
    with pytest.raises(InputError, match=r"No Dask cluster can be reached at tcp://127\.0\.0\.1:9"):
        list(Engine("dask", address="tcp://127.0.0.1:9").run(abs, [1]))
    with pytest.raises(InputError, match="looks like tcp://host:8786"):
        list(Engine("dask", address="scheduler").run(abs, [1]))


def test_a_worker_with_an_edited_checkout_is_refused(engine, cluster, tmp_path):
    """A real worker whose divulge differs from ours by one comment."""
    source = Path(divulge.__file__).parent
    shutil.copytree(source, tmp_path / "divulge")
    with (tmp_path / "divulge" / "errors.py").open("a") as stream:
        stream.write("# edited\n")
    other = subprocess.Popen(
        [sys.executable, "-m", "dask", "worker", cluster.scheduler_address, "--no-nanny",
         "--nthreads", "1", "--no-dashboard", "--name", "edited"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + 300
        while "edited" not in cluster.scheduler.aliases:
            assert time.monotonic() < end, "the worker did not come"
            time.sleep(0.05)
        with pytest.raises(InputError, match="has divulge source"):
            list(engine.run(abs, [1]))
    finally:
        other.kill()
        other.wait()


def test_a_task_that_always_kills_is_given_up(engine, tmp_path):
    with pytest.raises(WorkersLost, match="KilledWorker"):
        list(engine.run(deadly(tmp_path, 1, times=99), range(3)))
