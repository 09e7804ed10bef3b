"""What travels between the caller and a worker: a function, a task, and what became of it.

The function is packed once and unpacked once per worker, for it may hold whole tables. An exception
of the task comes back as a value, so that no backend takes it for a dead worker and tries again.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from divulge.errors import InputError, WorkersLost
from divulge.work.threads import one_thread
from divulge.work.versions import code, fingerprint

RETRIES = 3
"""How often a task is tried again after a worker died with it."""


class Pool(Protocol):
    """Workers with one function; tasks go in by number and come out as they are finished."""

    @property
    def room(self) -> int:
        """Most tasks that may be in work or in the queue."""

    def submit(self, index: int, task: Any) -> None:
        """Hand a task over."""

    def collect(self) -> Iterable[tuple[int, Any]]:
        """Wait until something is finished; numbers and results."""

    def close(self) -> None:
        """Give up what is unfinished."""


@dataclass(frozen=True)
class Parcel:
    """A packed function, its digest, and the code it is meant for."""

    content: bytes
    digest: str
    code: str

    @classmethod
    def of(cls, function: Callable[[Any], Any]) -> Parcel:
        """Pack a function; InputError if it cannot travel."""
        content = pack(function)
        return cls(content, hashlib.sha256(content).hexdigest(), fingerprint())


def pack(value: Any) -> bytes:
    """Bytes that another process with the same code can unpack."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise InputError(
            f"This work cannot be sent to another process: {error}. Use one process (n_jobs=1)."
        ) from error


_unpacked: tuple[str, Callable[[Any], Any] | None] = ("", None)


def call(content: bytes | str, digest: str, expected: str, task: bytes) -> bytes:
    """In a worker: unpack (the function from bytes or a file), run, pack what became of it."""
    global _unpacked
    try:
        if expected != fingerprint():
            compare({platform.node(): code()})
            raise InputError(f"The worker on {platform.node()} runs other code than the caller.")
        if _unpacked[0] != digest:
            packed = Path(content).read_bytes() if isinstance(content, str) else content
            _unpacked = (digest, pickle.loads(packed))  # noqa: S301 - from the caller
        function = _unpacked[1]
        assert function is not None
        with one_thread():
            return pack(function(pickle.loads(task)))  # noqa: S301 - from the caller
    except Exception as error:
        return _failure(error)


@dataclass(frozen=True)
class Raised:
    """What came of a task that raised an exception."""

    error: Exception


def unpack_outcome(outcome: bytes) -> Any:
    """At the caller: the result of a task, or its exception as Raised."""
    return pickle.loads(outcome)  # noqa: S301 - from our own worker


def _failure(error: Exception) -> bytes:
    where = "".join(traceback.format_exception(error))
    error.__traceback__ = None
    error.add_note(f"In a worker:\n{where}")
    try:
        packed = pack(Raised(error))
        pickle.loads(packed)  # noqa: S301 - our own; some exceptions cannot be unpacked
        return packed
    except Exception:
        return pack(Raised(RuntimeError(f"A task failed:\n{where}")))


def ask() -> Callable[[], dict[str, str]]:
    """A function that says which code a worker runs, even one on which divulge is missing."""

    def answer() -> dict[str, str]:
        try:
            from divulge.work.versions import code
        except ImportError as error:
            import platform

            return {"python": platform.python_version(), "divulge": f"none ({error})"}
        return code()

    return answer


def compare(workers: Mapping[str, Mapping[str, str]]) -> None:
    """InputError unless every worker runs the caller's code."""
    ours = code()
    for worker, theirs in workers.items():
        for name, here in ours.items():
            there = theirs.get(name, "none")
            if there != here:
                raise InputError(
                    f"The worker {worker} has {name} {there}, this process {here}. Results are "
                    "identical only where all versions are: install the same ones everywhere."
                )


def lost(index: int, reason: str) -> WorkersLost:
    """The error when a task has taken too many workers with it."""
    return WorkersLost(
        f"Workers died {RETRIES + 1} times while running task {index} ({reason}). It may need "
        "more memory than there is: use fewer processes at once, or larger workers. Finished "
        "pieces are cached if there is a cache folder."
    )
