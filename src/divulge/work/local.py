"""Tasks in this process, or in processes of this machine (loky, as joblib has it)."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from divulge.work.parcel import RETRIES, Parcel, call, lost, pack, unpack_outcome
from divulge.work.threads import single

_IDLE = 300
"""Seconds after which a process without work ends."""


@dataclass
class Here:
    """One task at a time, in this process."""

    function: Callable[[Any], Any]
    waiting: list[tuple[int, Any]] = field(default_factory=list)
    room: int = 1

    def submit(self, index: int, task: Any) -> None:
        self.waiting.append((index, task))

    def collect(self) -> Iterator[tuple[int, Any]]:
        index, task = self.waiting.pop()
        yield index, single(self.function)(task)

    def close(self) -> None:
        self.waiting.clear()


class Processes:
    """A pool of processes; when one dies the pool is made anew, and only unfinished tasks again."""

    def __init__(self, function: Callable[[Any], Any], n_jobs: int) -> None:
        from joblib import cpu_count

        self.workers = cpu_count() if n_jobs == -1 else n_jobs
        self.room = 2 * self.workers
        self.deaths: Counter[int] = Counter()
        self.tasks: dict[int, bytes] = {}
        self.futures: dict[Future[bytes], int] = {}
        self.parcel = Parcel.of(function)
        handle, self.path = tempfile.mkstemp(prefix="divulge-", suffix=".work")
        with os.fdopen(handle, "wb") as stream:
            stream.write(self.parcel.content)
        self.executor = self._executor()

    def _executor(self) -> Any:
        """The processes at hand, or new ones.

        loky replaces a process that ended for want of work, or that grew large, and warns of it in
        the thread that hands out tasks. Where warnings are errors that thread would die, and every
        task would be waited for in vain.
        """
        from joblib.externals.loky import get_reusable_executor

        warnings.filterwarnings(
            "ignore", "A worker stopped while some jobs were given", UserWarning
        )
        return get_reusable_executor(max_workers=self.workers, timeout=_IDLE)

    def submit(self, index: int, task: Any) -> None:
        self.tasks[index] = pack(task)
        self._send(index)

    def _send(self, index: int) -> None:
        from joblib.externals.loky import BrokenProcessPool

        parcel, task = self.parcel, self.tasks[index]
        arguments = (call, self.path, parcel.digest, parcel.code, task)
        try:
            future = self.executor.submit(*arguments)
        except BrokenProcessPool:  # died since the last look
            self.executor = self._executor()
            future = self.executor.submit(*arguments)
        self.futures[future] = index

    def collect(self) -> Iterator[tuple[int, Any]]:
        from joblib.externals.loky import BrokenProcessPool

        again = []
        for future in wait(self.futures, return_when=FIRST_COMPLETED).done:
            index = self.futures.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool as error:
                self.deaths[index] += 1
                if self.deaths[index] > RETRIES:
                    raise lost(index, type(error).__name__) from error
                again.append(index)
                continue
            del self.tasks[index]
            yield index, unpack_outcome(outcome)
        if again:
            self.executor = self._executor()
            for index in again:
                self._send(index)

    def close(self) -> None:
        Path(self.path).unlink(missing_ok=True)
        if self.futures:  # loky's own kill_workers may fail in a thread when tasks still come in
            for process in list(self.executor._processes.values()):
                with suppress(ProcessLookupError):
                    process.terminate()
            wait(self.futures)
