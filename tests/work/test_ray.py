"""A real Ray cluster of several nodes: a worker and a whole node are killed in the work."""

from __future__ import annotations

import os

import pytest
from jobs import audited, deadly, generated, same, scored, sums
from needing import needs

from divulge.errors import InputError, WorkersLost
from divulge.work import SERIAL, Engine

needs("ray", "ray")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


@pytest.fixture
def engine(cluster):
    return Engine("ray", address=cluster.address)


@pytest.fixture(scope="module")
def nodes(cluster):
    """Two nodes more, for what needs several; each takes seconds to start."""
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    return cluster


@pytest.fixture(scope="module")
def expected():
    return list(SERIAL.run(sums(), range(40)))


def test_a_killed_worker_and_a_killed_node_change_nothing(engine, nodes, expected, tmp_path):
    found = []
    for result in engine.run(deadly(tmp_path, 5), range(40)):
        found.append(result)
        if len(found) == 12:
            nodes.remove_node(sorted(nodes.worker_nodes, key=str)[0], allow_graceful=False)
    assert same(found, expected)
    assert (tmp_path / "died-0").exists()


@pytest.mark.usefixtures("nodes")
def test_a_task_that_always_kills_is_given_up(engine, tmp_path):
    with pytest.raises(WorkersLost, match="4 times"):
        list(engine.run(deadly(tmp_path, 1, times=99), range(3)))
    assert len(list(tmp_path.iterdir())) == 4


def test_an_exception_of_a_task_reaches_the_caller_as_itself(engine):
    def work(task):
        raise InputError(f"row {task}")

    with pytest.raises(InputError, match="row 0") as caught:
        list(engine.run(work, range(3)))
    assert type(caught.value) is InputError
    assert str(caught.value) == "row 0"


@pytest.mark.usefixtures("nodes")
def test_the_command_says_the_same(engine, tmp_path):
    here = audited(tmp_path, "--backend", "serial", "--no-cache")
    there = audited(tmp_path, "--backend", "ray", "--address", engine.address, "--no-cache")
    assert here == there


@pytest.mark.usefixtures("nodes")
def test_scores_are_the_same(engine):
    assert scored(engine).equals(scored(SERIAL))


@pytest.mark.usefixtures("nodes")
def test_generated_records_are_the_same(engine):
    assert generated(engine).equals(generated(SERIAL))


def test_nobody_at_the_address():
    with pytest.raises(InputError, match=r"No Ray cluster can be reached at 127\.0\.0\.1:9"):
        list(Engine("ray", address="127.0.0.1:9").run(abs, [1]))
    with pytest.raises(InputError, match="looks like host:6379"):
        list(Engine("ray", address="head").run(abs, [1]))


def test_a_cluster_of_its_own_without_an_address(expected):
    assert same(list(Engine("ray", n_jobs=2).run(sums(), range(6))), expected[:6])
