"""Tasks on a Ray cluster: a running one by its address, or one on this machine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from divulge.errors import InputError, MissingExtra, WorkersLost
from divulge.work import address as address_
from divulge.work.parcel import RETRIES, Parcel, ask, call, compare, lost, pack, unpack_outcome

_LOOK = 60.0
"""Seconds without a result after which it is asked whether there are nodes left."""


class RayPool:
    """A driver of the cluster. Ray tries tasks of dead workers and nodes again by itself; objects
    that went with a node are put again here. A session that is on a cluster already stays on it.
    """

    def __init__(self, function: Callable[[Any], Any], n_jobs: int, address: str | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("ray", "ray") from error
        self.ray = ray
        self.parcel = Parcel.of(function)
        self.refs: dict[Any, tuple[int, bytes]] = {}
        self.ours = not ray.is_initialized()
        try:
            if self.ours:
                _connect(n_jobs, address)
            compare(_codes())
            slots = int(ray.cluster_resources().get("CPU", 1))
            self.room = max(64, 4 * slots)
            self.held = ray.put(self.parcel.content)
            self.losses: Counter[int] = Counter()
            self.call = ray.remote(num_cpus=1, max_retries=RETRIES)(call)
        except BaseException:
            self.close()
            raise

    def submit(self, index: int, task: Any) -> None:
        self._send(index, pack(task))

    def _send(self, index: int, task: bytes) -> None:
        ref = self.call.remote(self.held, self.parcel.digest, self.parcel.code, task)
        self.refs[ref] = (index, task)

    def collect(self) -> Iterator[tuple[int, Any]]:
        done: list[Any] = []
        while not done:
            done, _ = self.ray.wait(list(self.refs), num_returns=1, timeout=_LOOK)
            if not done and not _nodes():
                raise WorkersLost("The Ray cluster has no nodes left.")
        for ref in done:
            index, task = self.refs.pop(ref)
            try:
                outcome = self.ray.get(ref)
            except self.ray.exceptions.ObjectLostError as error:  # the function, or the result
                self.losses[index] += 1
                if self.losses[index] > RETRIES:
                    raise lost(index, type(error).__name__) from error
                self.held = self.ray.put(self.parcel.content)
                self._send(index, task)
                continue
            except self.ray.exceptions.RayError as error:
                raise lost(index, type(error).__name__) from error
            yield index, unpack_outcome(outcome)

    def close(self) -> None:
        for ref in self.refs:
            self.ray.cancel(ref, force=True)
        self.refs.clear()
        self.held = None
        if self.ours:
            self.ray.shutdown()


def _connect(n_jobs: int, address: str | None) -> None:
    import ray
    from joblib import cpu_count

    quiet = {"log_to_driver": False, "configure_logging": True, "logging_level": "ERROR"}
    if address is None:
        cores = cpu_count() if n_jobs == -1 else n_jobs
        ray.init(address="local", num_cpus=cores, include_dashboard=False, **quiet)
        return
    if address != "auto":
        address_.require_reachable(address, "Ray", "host:6379, ray://host:10001 or auto")
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"Cannot join the Ray cluster at {address}: {error}") from error


def _nodes() -> list[str]:
    """Nodes that are alive and can work."""
    import ray

    alive = [n for n in ray.nodes() if n["Alive"]]
    return [n["NodeID"] for n in alive if n["Resources"].get("CPU", 0.0) >= 1.0]


def _codes() -> dict[str, dict[str, str]]:
    """The code that the workers of each node run; InputError if they cannot say."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = _nodes()
    if not nodes:
        raise InputError("The Ray cluster has no node with a free CPU to work on.")
    probe = ray.remote(num_cpus=0)(ask())
    refs = [
        probe.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        ).remote()
        for node in nodes
    ]
    found: dict[str, dict[str, str]] = {}
    for node, ref in zip(nodes, refs, strict=True):
        try:
            found[f"of node {node[:8]}"] = ray.get(ref, timeout=_LOOK)
        except (
            ray.exceptions.TaskUnschedulableError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.WorkerCrashedError,
        ):  # a node that went away does no work, and one that comes is asked with its first task
            continue
        except ray.exceptions.RayError as error:
            raise InputError(f"The Ray node {node} cannot run divulge: {error}") from error
    return found
