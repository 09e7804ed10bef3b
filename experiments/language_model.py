"""A language model audited with later text: the naive claim, and what is left of it.

    python experiments/language_model.py [--text FILE] [--out DIR] [--epochs 1 4 12] [--quick]

Public-domain text: Jane Austen's novels as Debian ships them (``make text``). A tokenizer and a
tiny GPT-2, built from a configuration, are trained on the novel of 1814; that public model is then
fine-tuned on a random half of the chunks of the novels of 1811 and 1813. The half is what an
auditor would know to be in the training set; text that appeared later (1815 and 1817) is what he
would have for comparison. The same model is audited three times:

- *same novels*: the half against the other half, by coin flips. No shift, the true leak;
- *later text*: the half against the later novels. The same leak, and a real shift;
- *never seen*: the other half, called members though the model never saw them, against the later
  novels. A real shift and no leak: whatever a bound claims above 0 is false.

The target is a directory on disk and is asked by ``divulge.score``; the scores are the loss and the
ratio to the public model. The features are of the text alone: its words, and what the public model
says of it. Every model and table is kept: a second run repeats nothing. Needs the extra
``language``.
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
from tiny_models import Run, State, digest, pretrained, revived, state_of, tuned

from divulge import tables
from divulge.errors import DivulgeError
from divulge.games.membership import membership
from divulge.models import finetune
from divulge.models.chunks import chunks, token_matrix
from divulge.models.language import LanguageModel
from divulge.models.source import Source
from divulge.pieces import Pieces
from divulge.result import Result, floor_to
from divulge.scores import score
from divulge.tables import Frame

Array = npt.NDArray[np.float64]

TEXT = Path("out/text/Rdata.rdb")
PUBLIC = ("MANSFIELD PARK",)
EARLY = ("SENSE AND SENSIBILITY", "PRIDE AND PREJUDICE")
LATER = ("EMMA", "NORTHANGER ABBEY", "PERSUASION")
SCORES = ("loss", "reference_ratio")
ARMS = ("same novels", "later text", "never seen")


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
    words: int = 48
    """Columns that describe the words of a chunk."""
    hidden: int = 16
    """Columns of the public model's embedding."""
    most: int | None = None
    """Chunks per chapter."""


QUICK = Sizes(layers=1, width=64, batch=64, pretraining=1, words=8, hidden=4, most=30)


def records_of(run: Run, books: Any, names: Sequence[str], tokenizer: Any) -> Frame:
    """The chunks of some novels."""
    texts = {k: v for n in names for k, v in chapters(books[n], n).items()}
    return chunks(texts, tokenizer, length=run.sizes.length, most=run.sizes.most)


def described(run: Run, public: Any, everyone: Frame) -> dict[str, Array]:
    """What the text alone shows: its words (TF-IDF), and the public model's view of it."""
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, tokens = everyone["text"].to_list(), token_matrix(everyone)

    def ask() -> dict[str, Array]:
        answers = LanguageModel(public).ask(tokens)
        words = TfidfVectorizer(sublinear_tf=True, min_df=5).fit_transform(texts)
        return {
            "loss": answers.losses,
            "words": TruncatedSVD(run.sizes.words, random_state=0).fit_transform(words),
            "hidden": PCA(run.sizes.hidden, random_state=0).fit_transform(answers.embeddings),
        }

    inputs = {"model": digest(state_of(public)), "texts": digest({"tokens": tokens})}
    kept = run.pieces.arrays(
        "described", {**inputs, "words": run.sizes.words, "hidden": run.sizes.hidden}, ask
    )
    found = {"x_loss": kept["loss"]}
    for name in ("words", "hidden"):
        found |= {f"x_{name}_{j}": column for j, column in enumerate(kept[name].T)}
    return found


def audit(arm: str, table: Frame, half: Array, early: Array) -> Result:
    """One of the three audits of a scored table."""
    first = early & (half if arm != "never seen" else ~half)
    second = early & ~half if arm == "same novels" else ~early
    rows = np.flatnonzero(first | second)
    shown = table[rows].to_arrow().append_column("member", pa.array(first[rows]))
    return membership(shown, score=SCORES, features="x_*", rng=0)


def claims(result: Result) -> tuple[float, float, float]:
    """The largest naive and corrected bounds on mu, and the headline epsilon at 1e-5."""

    def best(parameter: str, **wanted: Any) -> float:
        found = [
            b.value
            for b in result.bounds
            if b.parameter == parameter and all(getattr(b, k) == v for k, v in wanted.items())
        ]
        return max(found, default=0.0)

    return (
        best("mu", correction="none"),
        best("mu", headline=True),
        best("epsilon", headline=True),
    )


def run_all(run: Run, path: Path, epochs: Sequence[int]) -> list[dict[str, Any]]:
    """All stages, and one row per model and arm."""
    books = novels(path)
    public_texts = {k: v for n in PUBLIC for k, v in chapters(books[n], n).items()}
    tokenizer, vocabulary, start = pretrained(run, public_texts)
    public = finetune.save(revived(run, vocabulary, start), tokenizer, run.out / "public")
    parts = [records_of(run, books, names, tokenizer) for names in (EARLY, LATER)]
    everyone = tables.concat(parts)
    early = np.arange(len(everyone)) < len(parts[0])
    half = early & (run.rng(6).random(len(everyone)) < 0.5)
    run.say(
        f"{int(half.sum())} chunks to learn from, {int((early & ~half).sum())} of the same novels "
        f"held out, {int((~early).sum())} of later ones"
    )
    features = described(run, revived(run, vocabulary, start), everyone)
    records = pa.table({"text": everyone["text"].to_list(), **features})
    lessons = token_matrix(everyone[np.flatnonzero(half)])
    rows: list[dict[str, Any]] = []
    state: State = start
    done = 0
    for number in epochs:
        name = f"target after {done} epochs"
        state = tuned(run, name, vocabulary, state, lessons, 100 + done, epochs=number - done)
        done = number
        place = finetune.save(revived(run, vocabulary, state), tokenizer, run.out / f"E{number}")
        run.say(f"asking {place.name}")
        scored = score(
            records,
            model=Source(str(place)),
            references=[Source(str(public))],
            text="text",
            attacks=SCORES,
            cache=run.out / "pieces",
        )
        assert scored is not None
        for arm in ARMS:
            run.say(f"auditing {place.name}: {arm}")
            result = audit(arm, scored, half, early)
            naive, corrected, epsilon = claims(result)
            rows.append(
                {
                    "epochs": number,
                    "arm": arm,
                    "AUC": result.measurements["auc"],
                    "naive mu": naive,
                    "headline mu": corrected,
                    "headline epsilon": epsilon,
                    "verdict": result.verdict.status,
                }
            )
    return rows


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """One line per model and arm."""
    table = Table(title="a language model and later text: bounds at 95%")
    for heading in rows[0]:
        table.add_column(heading, justify="right" if heading not in ("arm", "verdict") else "left")
    for row in rows:
        cells = [f"{floor_to(v, 3):.3f}" if isinstance(v, float) else str(v) for v in row.values()]
        table.add_row(*cells, end_section=row["arm"] == ARMS[-1])
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description="A language model audited with later text.")
    options.add_argument("--text", type=Path, default=TEXT)
    options.add_argument("--out", type=Path, default=Path("out/language_model"))
    options.add_argument("--epochs", type=int, nargs="+", default=[1, 4, 12])
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--quick", action="store_true", help="a smaller model and less text")
    args = options.parse_args(arguments)
    console = Console(stderr=True)
    run = Run(
        QUICK if args.quick else Sizes(), args.seed, Pieces(args.out / "pieces"), args.out, console
    )
    try:
        show(run_all(run, args.text, sorted(set(args.epochs))), Console(width=100))
    except DivulgeError as error:
        sys.exit(f"language_model: {error}")


if __name__ == "__main__":
    main()
