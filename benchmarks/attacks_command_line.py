"""A forest attacked by the commands alone: ``divulge score`` without and with ``divulge shadows``.

The forest is saved with skops, records and population as Parquet; from there on only files and
commands are used, as an auditor would. Half of the records are members.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from divulge.attacks import registry
from divulge.data import tables
from divulge.proof.measures import tpr_at
from divulge.types import Array

TREES = 100
TRUST = ("--trust", "sklearn.tree._tree.Tree")
Interval = Callable[[Array, npt.NDArray[np.bool_]], tuple[float, float]]


def divulge(*words: str, cwd: Path, console: Console) -> None:
    """One command, as it is typed; what it says of its progress is left out."""
    console.print("$ divulge " + " ".join(f"'{w}'" if "*" in w else w for w in words))
    subprocess.run(
        [sys.executable, "-m", "divulge", *words],
        cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def prepare(folder: Path, data: Any, records: int, population: int, seed: int) -> None:
    """Records, population and the target of every other record."""
    import skops.io
    from sklearn.ensemble import RandomForestClassifier

    def table(rows: npt.NDArray[np.intp]) -> dict[str, Any]:
        x = data.x[rows]
        return {**{f"x_{j}": x[:, j] for j in range(x.shape[1])}, "y": data.y[rows]}

    chosen = data.candidates[:records]
    member = data.member[:records]
    pq.write_table(pa.table({**table(chosen), "member": member}), folder / "records.parquet")
    others = data.population[:population]
    pq.write_table(pa.table(table(others)), folder / "population.parquet")
    forest = RandomForestClassifier(TREES, random_state=seed)
    forest.fit(data.x[chosen[member]], data.y[chosen[member]])
    skops.io.dump(forest, folder / "forest.skops")


def run(
    data: Any, *, records: int, population: int, shadows: int, seed: int, console: Console,
    interval: Interval,
) -> dict[str, float]:  # fmt: skip
    """One row per column of the two tables of scores; the areas by their names."""
    areas: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder, data, records, population, seed)
        asked = ("--model", "forest.skops", *TRUST, "--features", "x_*", "--label", "y")
        others = ("--population", "population.parquet")
        divulge(
            "score", "records.parquet", *asked, *others, "--table", "alone.parquet",
            cwd=folder, console=console,
        )  # fmt: skip
        divulge(
            "shadows", "records.parquet", *asked, *others, "--count", str(shadows),
            "--table", "shadows.parquet", cwd=folder, console=console,
        )  # fmt: skip
        divulge(
            "score", "records.parquet", *asked, *others, "--shadows", "shadows.parquet",
            "--table", "with.parquet", cwd=folder, console=console,
        )  # fmt: skip
        table = Table("attack", "needs", "AUC", "TPR at 1% FPR")
        rows = []
        alone = set(tables.read(folder / "alone.parquet").columns)
        found = tables.read(folder / "with.parquet")
        member = np.asarray(found["member"].to_list(), dtype=bool)
        for attack in registry.BUILT_IN:
            if attack.name in found.columns:
                score = registry.direction(attack.name) * found[attack.name].to_numpy()
                area, half = interval(score, member)
                low = tpr_at(score, np.where(member, 1.0, -1.0), 0.01)
                areas[attack.name] = area
                need = "no further models" if attack.name in alone else "shadow models"
                rows.append((area, attack.name, need, f"{area:.3f} ± {half:.3f}", f"{low:.1%}"))
        for _, *cells in sorted(rows, reverse=True):
            table.add_row(*cells)
    console.print()
    console.print(table)
    for name, which in (("without", alone), ("with", set(areas))):
        best = max((n for n in areas if n in which), key=areas.__getitem__)
        console.print(f"best {name} shadow models: {best} {areas[best]:.3f}")
    return areas
