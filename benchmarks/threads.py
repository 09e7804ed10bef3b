"""What do threads cost beside another busy process? Every game, with one thread and with all.

    python benchmarks/threads.py [--rows 3000] [--busy 1] [--limit 300] [--games membership ...]

``--busy`` loops keep as many cores busy while a game is played, in a process of its own, first with
the threads that divulge gives to work of this size (one below 50,000 rows) and then with a thread
for every core in every fit. The ratios are the second over the first; a game that is not finished
after ``--limit`` seconds is stopped, and its ratio is then a lower bound. The times include the
start of the process, but not the compilation of the inner loops.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import divulge
from divulge.work import threads

FEATURES = [f"x{j}" for j in range(6)]


def records(rows: int, seed: int = 0, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng([seed, rows])
    x = rng.normal(shift, 1.0, size=(rows, len(FEATURES)))
    frame = pd.DataFrame(x, columns=FEATURES)
    odds = np.sin(2.0 * x[:, 0]) + x[:, 1] * x[:, 2]
    frame["y"] = (rng.random(rows) < 1.0 / (1.0 + np.exp(-2.0 * odds))).astype(int)
    return frame


def forest(frame: pd.DataFrame) -> RandomForestClassifier:
    learner = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
    return learner.fit(frame[FEATURES], frame["y"])


def membership(rows: int) -> None:
    inside, outside = records(rows // 2), records(rows // 2, 1, 0.2)
    divulge.membership(
        members=inside, nonmembers=outside, model=forest(inside), features=FEATURES, label="y"
    )


def attribute(rows: int) -> None:
    inside = records(rows)
    divulge.attribute(
        inside, label="y", features=FEATURES, model=forest(inside), heldout=records(rows // 2, 1)
    )


def synthetic(rows: int) -> None:
    inside = records(rows)
    divulge.synthetic(inside, model=forest(inside), label="y")


def canaries(rows: int) -> None:
    frame = records(rows)
    frame["id"] = np.arange(rows)
    plan = divulge.canaries.plan(frame, count=rows // 2, features=FEATURES, id="id", seed=0)
    chosen = plan.canaries(frame).to_native()
    scores = pd.DataFrame(
        {"id": [int(i) for i in chosen["id"]], "score": np.arange(len(chosen)) % 7.0}
    )
    divulge.canaries.audit(plan, scores, score="score")


def retraining(rows: int) -> None:
    counts = pd.DataFrame({"X": [5] * 20, "N0": 100, "Y": [60] * 20, "N1": 100})
    divulge.retraining(counts)


def leakage(rows: int) -> None:
    divulge.leakage(records(rows)[FEATURES], reference=records(rows, 1)[FEATURES])


def score(rows: int) -> None:
    frame = records(rows)
    learner = HistGradientBoostingClassifier(max_iter=200).fit(frame[FEATURES], frame["y"])
    divulge.score(frame, model=learner, attack=["loss"], features=FEATURES, label="y")


GAMES: dict[str, Callable[[int], None]] = {
    f.__name__: f for f in (membership, attribute, synthetic, canaries, retraining, leakage, score)
}


def spin() -> None:
    while True:
        pass


def play(name: str, rows: int, all_cores: bool, answer: multiprocessing.Queue) -> None:
    from divulge.bounds import mu_lower_bound

    mu_lower_bound(100, 50, 40, 0.05)
    if all_cores:
        threads.LARGE = threads.HEAVY = 0
    wall, cpu = time.perf_counter(), time.process_time()
    GAMES[name](rows)
    answer.put((time.perf_counter() - wall, time.process_time() - cpu))


def measured(name: str, rows: int, all_cores: bool, limit: float) -> tuple[float, float, bool]:
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=play, args=(name, rows, all_cores, answer))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
        return limit, float("nan"), False
    if process.exitcode:
        raise SystemExit(f"{name} failed")
    wall, cpu = answer.get()
    return wall, cpu, True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--busy", type=int, default=1)
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--games", nargs="+", choices=list(GAMES), default=list(GAMES))
    given = parser.parse_args()
    os.environ.pop("OMP_NUM_THREADS", None)  # in the processes below, threads are what is compared
    table = Table(title=f"{given.rows:,} rows beside {given.busy} busy processes, {_cores()} cores")
    for heading in ("game", "wall s", "CPU s", "wall, all cores / ours", "CPU, all cores / ours"):
        table.add_column(heading, justify="left" if heading == "game" else "right")
    busy = [multiprocessing.get_context("spawn").Process(target=spin) for _ in range(given.busy)]
    for process in busy:
        process.start()
    try:
        for name in given.games:
            wall, cpu, _ = measured(name, given.rows, False, given.limit)
            more, cost, ended = measured(name, given.rows, True, given.limit)
            sign = "" if ended else "> "
            ratio = f"{cost / cpu:.1f}" if ended else "-"
            table.add_row(name, f"{wall:.1f}", f"{cpu:.1f}", f"{sign}{more / wall:.1f}", ratio)
    finally:
        for process in busy:
            process.kill()
    Console(width=200).print(table)


def _cores() -> int:
    return multiprocessing.cpu_count()


if __name__ == "__main__":
    main()
