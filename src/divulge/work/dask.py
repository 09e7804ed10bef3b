"""Tasks on a Dask cluster: a running one by its address, or one of local processes."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from divulge.errors import InputError, MissingExtra, WorkersLost
from divulge.work import address as address_
from divulge.work.parcel import RETRIES, Parcel, ask, call, compare, lost, pack, unpack_outcome

_LOOK, _PATIENCE = 60.0, 5
"""Seconds without a result after which workers are looked for, and how often in vain."""


class DaskPool:
    """A client of the cluster. The packed function is a task of its own, so that the scheduler can
    make it again where the worker that held it died.
    """

    def __init__(self, function: Callable[[Any], Any], n_jobs: int, address: str | None) -> None:
        try:
            import distributed
        except ImportError as error:
            raise MissingExtra("distributed", "dask") from error
        self.dask = distributed
        self.parcel = Parcel.of(function)
        self.futures: dict[Any, int] = {}
        self.cluster = None if address is not None else _local(n_jobs)
        try:
            self.client = _client(address if self.cluster is None else self.cluster)
            compare(_codes(self.client))
            self.room = max(64, 4 * sum(self.client.nthreads().values()))
            with warnings.catch_warnings():  # a large function is sent once, as it should be
                warnings.filterwarnings("ignore", "Sending large graph")
                self.held = self.client.submit(
                    bytes, self.parcel.content, key=f"divulge-{self.parcel.digest}"
                )
        except BaseException:
            self.close()
            raise

    def submit(self, index: int, task: Any) -> None:
        future = self.client.submit(
            call,
            self.held,
            self.parcel.digest,
            self.parcel.code,
            pack(task),
            pure=False,
            retries=RETRIES,
        )
        self.futures[future] = index

    def collect(self) -> Iterator[tuple[int, Any]]:
        for future in self._finished():
            index = self.futures.pop(future)
            try:
                outcome = future.result()
            except self.dask.scheduler.KilledWorker as error:
                raise lost(index, "KilledWorker") from error
            except (asyncio.CancelledError, OSError) as error:
                raise WorkersLost(f"The Dask scheduler was lost: {error}.") from error
            yield index, unpack_outcome(outcome)

    def _finished(self) -> list[Any]:
        """Wait for a future; WorkersLost where nobody is left who could finish it."""
        vain = 0
        while True:
            try:
                with self.client.as_current():
                    some = self.dask.wait(
                        list(self.futures), timeout=_LOOK, return_when="FIRST_COMPLETED"
                    )
                return list(some.done)
            except TimeoutError:
                vain = 0 if self.client.nthreads() else vain + 1
                if vain == _PATIENCE:
                    raise WorkersLost("The Dask cluster has no workers left.") from None
            except (asyncio.CancelledError, OSError) as error:
                raise WorkersLost(f"The Dask scheduler was lost: {error}.") from error

    def close(self) -> None:
        client = getattr(self, "client", None)
        if client is not None:
            self.futures.clear()
            self.held = None
            client.close()
        if self.cluster is not None:
            self.cluster.close()


def _client(where: Any) -> Any:
    """A connected client of a cluster that has a worker."""
    import distributed

    if isinstance(where, str):
        address_.require_reachable(where, "Dask", "tcp://host:8786")
    logging.getLogger("distributed").setLevel(logging.ERROR)
    try:
        client = distributed.Client(where, timeout=address_.TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"No Dask scheduler answers at {where}: {error}.") from error
    try:
        client.wait_for_workers(1, timeout=_LOOK)
    except TimeoutError as error:
        client.close()
        raise InputError(f"The Dask cluster at {where} has no workers.") from error
    return client


def _codes(client: Any) -> dict[str, dict[str, str]]:
    """The code that each worker runs; InputError if one cannot say."""
    found = client.run(ask(), on_error="return")
    for worker, code in found.items():
        if isinstance(code, OSError):  # it went away: it does no work either
            continue
        if isinstance(code, BaseException):
            raise InputError(f"The Dask worker {worker} cannot run divulge: {code}.") from code
    return {w: c for w, c in found.items() if not isinstance(c, OSError)}


def _local(n_jobs: int) -> Any:
    """A cluster of processes on this machine, one thread each."""
    import distributed
    from joblib import cpu_count

    logging.getLogger("distributed").setLevel(logging.ERROR)
    return distributed.LocalCluster(
        n_workers=cpu_count() if n_jobs == -1 else n_jobs,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
    )
