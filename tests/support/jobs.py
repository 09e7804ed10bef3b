"""Tasks for the tests of engines. Functions inside functions travel by value to any worker."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np


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


def audited(folder, *options):
    """The JSON of a membership audit by the command line, without the command itself."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    member = rng.random(1500) < 1.0 / (1.0 + np.exp(-x[:, 0]))
    loss = rng.normal(size=1500) - 1.5 * member
    rows = np.column_stack([member, loss, x])
    header = "member,loss,x_0,x_1"
    np.savetxt(folder / "scores.csv", rows, fmt="%.9g", delimiter=",", header=header, comments="")
    words = ["membership", "scores.csv", "--features", "x_*", "--bootstrap", "40", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "divulge", *words, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("[") for line in done.stderr.splitlines()), done.stderr  # stages
    result = json.loads(done.stdout)
    del result["provenance"]["command"]
    return json.dumps(result)


def scored(engine):
    """The scores of a tree's records, in many small pieces of work."""
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier

    import divulge

    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    tree = DecisionTreeClassifier(random_state=0).fit(x[:200], x[:200, 0] > 0)
    table = {**{f"x_{j}": x[:, j] for j in range(3)}, "y": x[:, 0] > 0}
    found = divulge.score(
        table, model=tree, features="x_*", label="y", chunk=20, attack=["loss", "entropy"],
        n_jobs=engine.n_jobs, backend=engine.backend, address=engine.address,
    )  # fmt: skip
    return found.to_arrow()


def generated(engine):
    """Records from sequential forests, each of which is a task."""
    import numpy as np

    from divulge.data import tables
    from divulge.generators.base import Training
    from divulge.generators.trees import SequentialTrees

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    x[:, 3] = np.round(x[:, 0] + x[:, 1])
    source = tables.read({f"x_{j}": x[:, j] for j in range(4)})
    training = Training(engine=engine)
    return SequentialTrees(trees=3).generate_in_pieces(source, 200, rng, training).to_arrow()
