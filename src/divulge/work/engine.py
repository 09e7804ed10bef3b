"""One loop for every backend: tasks go out a few at a time, results come back in their order.

Finished tasks are looked up and kept by the caller, whose disk the workers need not share. The
same tasks give the same results on every backend: a task carries its own seed, BLAS has one thread
wherever it runs, and workers that run other code than the caller are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from divulge.errors import require
from divulge.work.local import Here, Processes
from divulge.work.parcel import Pool, Raised

BACKENDS = ("loky", "dask", "ray", "serial")
AHEAD = 1000
"""Most results that may wait for the result of an earlier task."""

T = TypeVar("T")


class Keep(Protocol):
    """Where finished tasks are found and kept: ``divulge.work.pieces.Kept``."""

    def find(self, task: Any) -> Any | None:
        """The result of a finished task, or None."""

    def store(self, task: Any, result: Any) -> Any:
        """Keep a result, and give it as it will be found again."""


@dataclass(frozen=True)
class Engine:
    """Which processes do the work.

    ``n_jobs`` counts the processes on this machine, -1: one per core; one process is this one. With
    an ``address`` of a running Dask or Ray cluster its own size counts.
    """

    backend: str = "loky"
    n_jobs: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        known = ", ".join(BACKENDS)
        require(
            self.backend in BACKENDS,
            f"Unknown execution backend {self.backend!r}. Choose from {known}.",
        )
        require(
            self.n_jobs == -1 or self.n_jobs >= 1,
            f"n_jobs must be at least 1, or -1 for one per core. Found {self.n_jobs}.",
        )
        require(
            self.address is None or self.backend in ("dask", "ray"),
            f"The execution backend {self.backend!r} has no address: choose dask or ray, or "
            "leave it out.",
        )

    @property
    def in_process(self) -> bool:
        """Whether the tasks run in this very process."""
        return self.backend == "serial" or (self.backend == "loky" and self.n_jobs == 1)

    def run(
        self,
        function: Callable[[T], Any],
        tasks: Sequence[T],
        *,
        keep: Keep | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(task)`` of every task in order; ``progress(finished, all)``.

        A task whose worker died is tried again, an exception raised by the task itself is not: it
        reaches the caller, after the results of the tasks before it. With ``keep`` finished tasks
        are not repeated, and every result is kept the moment it arrives.
        """
        pool: Pool | None = None
        ready: dict[int, Any] = {}
        sent = out = finished = 0

        def arrived(index: int, result: Any) -> None:
            nonlocal finished
            ready[index] = result
            finished += 1
            if progress is not None:
                progress(finished, len(tasks))

        try:
            for place in range(len(tasks)):
                while place not in ready:
                    room = pool is None or out < pool.room
                    if room and sent < len(tasks) and sent - place < AHEAD:
                        found = None if keep is None else keep.find(tasks[sent])
                        if found is None:
                            pool = pool or self._pool(function)
                            pool.submit(sent, tasks[sent])
                            out += 1
                        else:
                            arrived(sent, found)
                        sent += 1
                        continue
                    assert pool is not None
                    for index, result in pool.collect():
                        out -= 1
                        if keep is not None and not isinstance(result, Raised):
                            result = keep.store(tasks[index], result)
                        arrived(index, result)
                result = ready.pop(place)
                if isinstance(result, Raised):
                    raise result.error
                yield result
        finally:
            if pool is not None:
                pool.close()

    def _pool(self, function: Callable[[Any], Any]) -> Pool:
        if self.in_process:
            return Here(function)
        if self.backend == "dask":
            from divulge.work.dask import DaskPool

            return DaskPool(function, self.n_jobs, self.address)
        if self.backend == "ray":
            from divulge.work.ray import RayPool

            return RayPool(function, self.n_jobs, self.address)
        return Processes(function, self.n_jobs)


SERIAL = Engine("serial")
"""Everything in this process."""
