"""What should the baseline's helper learn from? Tables 2 and 5 of PANORAMIA (002).

    python experiments/panoramia_helpers.py [--data happiness labsup text] [--repeats 5] [--quick]

For every kind of data: ``c_lb`` of a baseline without a helper, with one that learned from
generated records (as published), with one that learned from real records that are not played (the
generator's members), and with both; beside it epsilon~ of a target that overfits and of one that
gives away nothing: another model of its kind that never saw a member (tables), or DP-SGD (text).
For that target every epsilon~ above 0 is the baseline's fault. ``text`` reads what
experiments/panoramia_text.py wrote; images are in experiments/panoramia_images.py.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from panoramia import TEXT, Data, load, targets, train
from panoramia_images import spread

from divulge.data import tables
from divulge.errors import DivulgeError, InputError
from divulge.games.synthetic import contest, findings, prepare
from divulge.games.synthetic.answers import Work
from divulge.games.synthetic.prepare import Material
from divulge.games.synthetic.seen import Seen
from divulge.generators import by_name
from divulge.types import Array
from divulge.work.pieces import Pieces

KINDS = {"none": (), "generated": (0,), "real": (1,), "both": (0, 1)}
"""Which of the helpers' blocks of columns the baseline sees."""
Blocks = list[tuple[Seen, list[Array]]]


def table_material(data: Data, name: str, seed: int, cache: Path | None) -> Material:
    """Generated records and two helpers for one target."""
    quick = {**targets(False), **targets(True)}
    model = train(data, *quick[name], seed)
    columns = prepare.read_columns(
        data.members, features=(), label=data.label, target=(), helper=(), model=model
    )
    return prepare.gather(
        data.members,
        columns,
        generated=None,
        nonmembers=None,
        generator=by_name("trees"),
        model=model,
        work=Work({"members": f"{data.name} {seed} {len(data.members)}"}, seed,
                  pieces=Pieces.at(cache)),
    )  # fmt: skip


def text_material(folder: Path, name: str) -> Material:
    """Losses of a language model and of its helpers, from the tables that hold them."""
    place = folder / name / "members.parquet"
    if not place.exists():
        raise InputError(f"{place} is missing. Run experiments/panoramia_text.py first.")
    frames = [tables.read(place), tables.read(place.with_name("generated.parquet"))]
    both = tables.concat([f.select(*frames[0].columns) for f in frames])

    def block(word: str) -> Array:
        names = tables.expand(both, [f"{word}_*"], "the records")
        return np.column_stack([tables.numbers(both, n, "the records") for n in names])

    helper = np.column_stack([block("helper"), block("reference")])
    rows = np.split(np.arange(len(both)), [len(frames[0])])
    return Material(
        seen=Seen(block("e"), helper, block("target")), names=(), real=rows[0], generated=rows[1],
        outside=np.zeros(0, dtype=np.intp), copies=0, twins=0.0, odd=(), taught=0, helper="given",
        generator="given",
    )  # fmt: skip


def with_helpers(material: Material, which: Sequence[int]) -> Seen:
    """Only these halves of the helpers' columns."""
    halves = np.array_split(np.arange(material.seen.helper.shape[1]), 2)
    kept = [j for k in which for j in halves[k]]
    return replace(material.seen, helper=material.seen.helper[:, kept])


def measured(material: Material, which: Sequence[int], repeats: int, seed: int) -> Any:
    """The figures of every contest, by name."""
    rows = []
    for k in range(repeats):
        played = contest.play(
            with_helpers(material, which), material.real, material.generated, error=0.025,
            rng=np.random.default_rng([seed, k]),
        )  # fmt: skip
        rows.append(findings.measure(played, error=0.05, rule="grid").numbers())
    return {key: [row[key] for row in rows] for key in rows[0]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    every = ("happiness", "labsup", "text")
    options.add_argument("--data", nargs="+", default=["happiness"], choices=every)
    options.add_argument("--text", type=Path, default=TEXT)
    options.add_argument("--targets", nargs=2, help="text: the two language models")
    options.add_argument("--people", type=int, help="so many of a table; half are members")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--cache", type=Path, default=Path("out/panoramia-pieces"))
    options.add_argument("--quick", action="store_true", help="4,000 people, one contest")
    args = options.parse_args(arguments)
    console, start = Console(width=200), time.perf_counter()
    repeats = 1 if args.quick else args.repeats
    for name in args.data:
        if name == "text":
            shown = args.targets or ["E12", "DP2"]
            materials = {t: text_material(args.text, t) for t in shown}
        else:
            shown = ["forest, leaves of 1", "never saw a member: forest"]
            data = load(name, args.seed, args.people or (8_000 if args.quick else None))
            materials = {t: table_material(data, t, args.seed, args.cache) for t in shown}
        table = Table(title=f"{name}: helpers of the baseline")
        for heading in ("helper", "c_lb", *(f"eps~: {t}" for t in shown)):
            table.add_column(heading, justify="left" if heading == "helper" else "right")
        for label, which in KINDS.items():
            found = [measured(m, which, repeats, args.seed) for m in materials.values()]
            tilde = (spread(f["epsilon_tilde"]) for f in found)
            table.add_row(label, spread(found[0]["c_lb"]), *tilde)
        console.print(table)
    console.print(f"{time.perf_counter() - start:.0f} s, {time.process_time():.0f} s of CPU")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
