"""A language model audited with later text: the naive claim, and what is left of it.

    python experiments/language_model.py [--text FILE] [--out DIR] [--epochs 1 4 12] [--seed 0]
        [--arms ...] [--pages N] [--without-helpers] [--quick]

Public-domain text: Jane Austen's novels as Debian ships them (``make text``). A tokenizer and a
tiny GPT-2, built from a configuration, are trained on the novel of 1814; that public model is then
fine-tuned on a random third of the chunks of the novels of 1811 and 1813. That third is what an
auditor would know to be in the training set; text that appeared later (1815 and 1817) is what he
would have for comparison. The same model is audited three times:

- *same novels*: that third against another one, by coin flips. No shift, the true leak;
- *later text*: that third against the later novels. The same leak, and a real shift;
- *never seen*: the other third, called members though the model never saw them, against the later
  novels. A real shift and no leak: whatever a bound claims above 0 is false.

The target is a directory on disk and is asked by ``divulge.score``; the scores are the loss and the
ratio to the public model. Everything else is the audit's own: the features that it makes of the
text and of the public model, the helpers that it fine-tunes on one part of the members and the
ladder (``docs/helpers.md``). With ``--pages N`` chunks come and stay away by pages of N, and a page
is a document: one trial. The negative control is a model fine-tuned on the last third: it knows the
novels as well as the target does, and has seen no record of any audit. Every model and table is
kept: a second run repeats nothing. Needs the extra ``language``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from austen import chapters, novels
from tiny_models import Run, State, pretrained, revived, tuned

from divulge.attacks.table import score
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import DivulgeError
from divulge.games.membership.play import membership
from divulge.models import finetune, language
from divulge.models.chunks import chunks, token_matrix
from divulge.models.source import Source
from divulge.result import Result, floor_to
from divulge.work.pieces import Pieces

Thirds = npt.NDArray[np.int64]

TEXT = Path("out/text/Rdata.rdb")
PUBLIC = ("MANSFIELD PARK",)
EARLY = ("SENSE AND SENSIBILITY", "PRIDE AND PREJUDICE")
LATER = ("EMMA", "NORTHANGER ABBEY", "PERSUASION")
SCORES = ("loss", "reference_ratio")
ARMS = ("same novels", "later text", "never seen")
LATE = 3
"""Later novels; 0, 1 and 2 are the thirds of the early ones."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    length: int = 32
    vocabulary: int = 1024
    layers: int = 2
    width: int = 128
    batch: int = 32
    pretraining: int = 6
    rate: float = 2e-3
    most: int | None = None
    """Chunks per chapter."""
    later: int = 6_000
    """Most chunks of the later novels."""


QUICK = Sizes(layers=1, width=64, batch=64, pretraining=1, most=30)


@dataclass(frozen=True)
class Options:
    """What is audited, and how."""

    arms: tuple[str, ...] = ARMS
    pages: int = 1
    """Chunks per page; with more than one, pages are the trials."""
    helpers: bool = True
    cache: Path | None = None


def records_of(run: Run, books: Any, names: Sequence[str], tokenizer: Any) -> Frame:
    """The chunks of some novels."""
    texts = {k: v for n in names for k, v in chapters(books[n], n).items()}
    return chunks(texts, tokenizer, length=run.sizes.length, most=run.sizes.most)


def audit(arm: str, table: Frame, third: Thirds, public: Path, options: Options) -> Result:
    """One of the three audits of a scored table."""
    first = third == (1 if arm == "never seen" else 0)
    second = third == (1 if arm == "same novels" else LATE)
    rows = np.flatnonzero(first | second)
    shown = table[rows].to_arrow().append_column("member", pa.array(first[rows]))
    taught = int((third == 0).sum())
    return membership(
        shown,
        score=SCORES,
        text="text",
        document="page" if options.pages > 1 else None,
        reference_score="control_loss",
        public_model=public,
        helpers="auto" if options.helpers else "none",
        training_size=taught if options.helpers else None,
        cache=options.cache,
        seed=0,
    )


def claims(result: Result) -> tuple[float, float, float]:
    """The naive and the corrected bound on mu, and the largest corrected one on epsilon.

    The corrected ones are the headline, also where a control took that from them.
    """

    def best(parameter: str, *corrections: tuple[str, bool]) -> float:
        found = [
            b.value
            for b in result.bounds
            if b.parameter == parameter and (b.correction, b.delta == 0.0) in corrections
        ]
        return max(found, default=0.0)

    return (
        best("mu", ("none", False)),
        best("mu", ("balanced", False)),
        best("epsilon", ("balanced", False), ("prior", True)),
    )


def run_all(run: Run, path: Path, epochs: Sequence[int], options: Options) -> list[dict[str, Any]]:
    """All stages, and one row per model and arm."""
    books = novels(path)
    public_texts = {k: v for n in PUBLIC for k, v in chapters(books[n], n).items()}
    tokenizer, vocabulary, start = pretrained(run, public_texts)
    public = finetune.save(revived(run, vocabulary, start), tokenizer, run.out / "public")
    parts = [records_of(run, books, names, tokenizer) for names in (EARLY, LATER)]
    rng = run.rng(6)
    parts[1] = parts[1][np.sort(rng.permutation(len(parts[1]))[: run.sizes.later])]
    everyone = tables.concat(parts)
    third = np.full(len(everyone), LATE)
    page = pages(everyone, options.pages)
    drawn = rng.integers(3, size=page.max() + 1)
    third[: len(parts[0])] = drawn[page[: len(parts[0])]]
    run.say(
        f"{len(parts[0])} chunks of the early novels: {int((third == 0).sum())} for the target, "
        f"{int((third == 1).sum())} held out, {int((third == 2).sum())} for the control; "
        f"{len(parts[1])} of later ones"
    )
    texts = everyone["text"].to_list()
    records = pa.table({"text": texts, "page": page})
    plain = language.load(public).losses(texts)
    states: dict[str, State] = {"target": start, "control": start}
    rows: list[dict[str, Any]] = []
    done = 0
    for number in epochs:
        scored = {}
        for k, name in ((0, "target"), (2, "control")):
            lessons = token_matrix(everyone[np.flatnonzero(third == k)])
            states[name] = tuned(
                run, f"{name}, after {done}", vocabulary, states[name], lessons, 100 + done,
                epochs=number - done,
            )  # fmt: skip
            network = revived(run, vocabulary, states[name])
            place = finetune.save(network, tokenizer, run.out / f"{name}{number}")
            run.say(f"asking {place.name}")
            scored[name] = score(
                records,
                model=Source(str(place)),
                references=[Source(str(public))],
                text="text",
                attack=SCORES,
                keep=("page",),
                cache=run.out / "pieces",
            )
        done = number
        # as the ratio, but by name a loss: small for members
        beside = scored["control"]["loss"].to_numpy() - plain
        table = scored["target"].to_arrow().append_column("control_loss", pa.array(beside))
        for arm in options.arms:
            run.say(f"auditing the target after {number} epochs: {arm}")
            result = audit(arm, tables.read(table), third, public, options)
            rows.append({"epochs": number, "arm": arm, **found(result)})
            run.say(f"{rows[-1]}")
            if result.verdict.status == "cannot conclude":
                run.say(" ".join([result.verdict.sentence, *result.verdict.reasons]))
    return rows


def pages(everyone: Frame, size: int) -> Thirds:
    """The page of every chunk: so many consecutive ones of a chapter."""
    names = everyone["document"].to_list()
    places = np.array(everyone["chunk"].to_list()) // max(size, 1)
    both = [f"{name} {place}" for name, place in zip(names, places, strict=True)]
    return np.asarray(np.unique(both, return_inverse=True)[1], dtype=np.int64)


def found(result: Result) -> dict[str, Any]:
    """What one audit came to."""
    naive, corrected, epsilon = claims(result)
    ladder = result.diagnostics.ladder
    adjusted: Any = "-"
    if ladder is not None:
        adjusted = "not extrapolable" if not ladder.extrapolable else ladder.adjusted_epsilon
    return {
        "AUC": result.measurements.get("auc", np.nan),
        "naive mu": naive,
        "mu": corrected,
        "epsilon": epsilon,
        "adjusted": adjusted,
        "control's epsilon": result.measurements.get("negative_control_epsilon", np.nan),
        "verdict": result.verdict.status + (", robust" if result.verdict.robust else ""),
    }


def shown(value: Any) -> str:
    """A number rounded down, as a bound is; a dash where there is none."""
    if not isinstance(value, float):
        return str(value)
    return f"{floor_to(value, 3):.3f}" if np.isfinite(value) else "-"


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """One line per model and arm."""
    table = Table(title="a language model and later text: bounds at 95%")
    for heading in rows[0]:
        table.add_column(heading, justify="right" if heading not in ("arm", "verdict") else "left")
    for row in rows:
        cells = [shown(value) for value in row.values()]
        table.add_row(*cells, end_section=row["arm"] == rows[-1]["arm"])
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description="A language model audited with later text.")
    options.add_argument("--text", type=Path, default=TEXT)
    options.add_argument("--out", type=Path, default=Path("out/language_model"))
    options.add_argument("--epochs", type=int, nargs="+", default=[1, 4, 12])
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    options.add_argument("--pages", type=int, default=1, help="chunks per page; 1: no pages")
    options.add_argument("--without-helpers", action="store_true")
    options.add_argument("--quick", action="store_true", help="a smaller model and less text")
    args = options.parse_args(arguments)
    console = Console(stderr=True)
    run = Run(
        QUICK if args.quick else Sizes(), args.seed, Pieces(args.out / "pieces"), args.out, console
    )
    try:
        chosen = Options(
            tuple(args.arms), args.pages, not args.without_helpers, args.out / "pieces"
        )
        show(run_all(run, args.text, sorted(set(args.epochs)), chosen), Console(width=200))
    except DivulgeError as error:
        sys.exit(f"language_model: {error}")


if __name__ == "__main__":
    main()
