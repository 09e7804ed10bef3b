"""Tasks for the tests of engines. Functions inside functions travel by value to any worker."""

from __future__ import annotations


def sums():
    """A task whose result depends on its own seed only, linear algebra included."""

    def work(seed):
        import numpy as np

        rng = np.random.default_rng(seed)
        a = rng.normal(size=(200, 40))
        return {"value": np.linalg.svd(a.T @ a)[1], "seed": seed}

    return work


def deadly(folder, victim, times=1):
    """The same, but the worker of one task is killed the first times that it is tried."""
    honest = sums()
    place = str(folder)

    def work(seed):
        import os
        import signal
        import time

        if seed == victim:
            for k in range(times):
                try:
                    open(os.path.join(place, f"died-{k}"), "x").close()
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
        return honest(seed)

    return work


def same(first, second):
    """Whether two lists of results are equal to the last bit."""
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert a["seed"] == b["seed"]
        assert a["value"].tobytes() == b["value"].tobytes()
    return True
