"""A language model audited without any non-member: planted hashes among fresh draws.

    python experiments/lineup_language.py [--text out/text/Rdata.rdb] [--seed 0] [--quick]

A tiny GPT-2, built from a configuration and pre-trained on two novels of Jane Austen's, is
fine-tuned on passages of a third, into which sentences such as "the code of ... is 3f9a12bc" were
put: every hash of 8 digits was drawn at random, and stands in 1, 4 or 16 training texts that
differ in their passages. Each hash is then shown among K - 1 fresh draws of the same recipe, in all
of its texts; the score of a candidate is the log-probability of these texts with it. Bets prove a
bound for the whole group of texts ("group"), and one for a single text ("one text"). Both
are those of the game, at half of an error of 0.05.

Null games: hashes that a model was not trained on. Texts with 1,000 candidates each are scored
once, by several models; every game draws K candidates of each text anew, and which of them is
called the true one. Whatever is proved is false: any of the three bounds above 0, at an error of
0.05 for all together. The models: the target on passages of its own novel; the same after further
training on these very texts with other hashes in them, which knows all that there is to know but
the value; the target under shift, on another novel and another sentence; and one that was never
trained. Needs the extra ``language``, and the novels (``make text``).
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from austen import chapters, novels
from rich.console import Console
from rich.table import Table
from scipy.stats import beta

from divulge.drawn.candidates import line_ups
from divulge.drawn.recipes import parse
from divulge.drawn.scored import score_versions
from divulge.errors import DivulgeError
from divulge.models import finetune
from divulge.models.hub import CausalModel
from divulge.models.language import LanguageModel
from divulge.proof.lineup import LineUp
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.result import floor_to
from divulge.types import Array

RECIPE = "hex:8"
COPIES = (1, 4, 16)
CANDIDATES = (2, 8, 32)
PUBLIC, OWN, OTHER = ("EMMA", "PERSUASION"), "MANSFIELD PARK", "NORTHANGER ABBEY"
SENTENCE = "the code of {name} is {value} . {passage}"
SHIFTED = "{passage} ( quote {value} when you write to {name} )"
SYLLABLES = ("ba", "do", "fi", "gu", "ka", "le", "mo", "nu", "pa", "ri", "so", "tu")
ERROR = 0.05
POSITIONS = 192
"""Most tokens of a text."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    hashes: int = 200
    """Hashes with each number of copies."""
    words: int = 10
    """Of a passage."""
    pretraining: int = 4000
    """Passages of the public novels."""
    epochs: int = 10
    layers: int = 2
    width: int = 96
    rate: float = 2e-3
    texts: int = 100
    """With a hash that the model was not trained on."""
    scored: int = 1000
    """Candidates of each of these texts."""
    games: int = 200
    """Null games of each model and number of candidates."""


QUICK = Sizes(hashes=60, pretraining=500, epochs=6, layers=1, width=64, scored=100, games=20)


@dataclass(frozen=True)
class Library:
    """Passages of the novels, in random order, and a tokenizer of the public ones."""

    public: list[str]
    own: list[str]
    other: list[str]
    tokenizer: Any


def passages(lines: Sequence[str], novel: str, words: int) -> list[str]:
    """A novel cut into passages of so many words."""
    found = []
    for text in chapters(lines, novel).values():
        every = text.split()
        found += [" ".join(every[k : k + words]) for k in range(0, len(every) - words, words)]
    return found


def library(path: Path, sizes: Sizes, rng: np.random.Generator) -> Library:
    """Read the novels and cut them up."""
    read = novels(path)
    public = [p for n in PUBLIC for p in passages(read[n], n, sizes.words)]
    own, other = (passages(read[n], n, sizes.words) for n in (OWN, OTHER))
    every = [[some[k] for k in rng.permutation(len(some))] for some in (public, own, other)]
    return Library(*every, finetune.byte_pairs(every[0][: 4 * sizes.pretraining], 512))


def sentences(
    values: Sequence[str], copies: int, taken: list[str], form: str, rng: np.random.Generator
) -> list[str]:
    """Texts that hold each value, every one with a passage of its own."""
    found = []
    for value in values:
        name = "".join(rng.choice(SYLLABLES, 4))
        for _ in range(copies):
            found.append(form.format(name=name, value=value, passage=taken.pop()))
    return found


def tokens(tokenizer: Any, texts: Sequence[str]) -> finetune.Tokens:
    """Rows of one length, filled up with the end of text."""
    rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    out = np.full((len(rows), max(map(len, rows)) + 1), tokenizer.eos_token_id, dtype=np.int64)
    for row, ids in zip(out, rows, strict=True):
        row[: len(ids)] = ids
    return out


def proved(scores: Array, copies: int, rng: np.random.Generator) -> dict[str, float]:
    """The bounds of the game, the true candidate's scores first: epsilon at 0, mu, at 1e-5."""
    number = np.full(len(scores), copies)
    trials = LineUp(scores, np.zeros(len(scores), dtype=np.intp), copies=number)
    found = prove(trials, Rule((1e-5,), ERROR), rng)
    return {f"{b.parameter} {b.delta}": b.value for b in found.bounds}


def trained(
    network: Any, books: Library, texts: Sequence[str], sizes: Sizes, seed: list[int], **more: Any
) -> Any:
    """Trained in place."""
    rng = np.random.default_rng(seed)
    epochs, say, name = more.get("epochs", sizes.epochs), more["say"], more["name"]

    def tell(epoch: finetune.Epoch) -> None:
        if epoch.number in (1, epochs):
            say(f"{name}, epoch {epoch.number}: loss {epoch.training:.3f}")

    rows = tokens(books.tokenizer, texts)
    finetune.finetune(network, rows, rng, epochs=epochs, rate=sizes.rate, progress=tell)
    return network


def target_rows(
    model: CausalModel, training: list[str], sizes: Sizes, rng: np.random.Generator, say: Say
) -> list[tuple[int, int, float, float, float]]:
    """Copies, K, the share of hashes that rank first, epsilon of the group and of one text."""
    found = line_ups(
        {"text": training}, parse(RECIPE), rng, text="text", candidates=max(CANDIDATES)
    )
    scores, copies = score_versions(found, model)
    say(f"{len(found)} line-ups scored, {found.void} void, doubts: {list(found.doubts)}")
    out = []
    for arm in COPIES:
        own = scores[copies == arm]
        for count in CANDIDATES:
            some = own[:, :count]
            first = float((some[:, :1] > some[:, 1:]).all(axis=1).mean())
            group, one = (proved(some, c, np.random.default_rng(0)) for c in (1, arm))
            out.append((arm, count, first, group["epsilon 0.0"], one["epsilon 0.0"]))
    return out


def null_games(
    model: CausalModel, texts: list[str], sizes: Sizes, rng: np.random.Generator
) -> list[tuple[int, int, int]]:
    """For each K: games, and how many proved something, in all and by bets alone."""
    found = line_ups({"text": texts}, parse(RECIPE), rng, text="text", candidates=sizes.scored)
    scores, _ = score_versions(found, model)
    out = []
    for count in CANDIDATES:
        false = bets = 0
        for _ in range(sizes.games):
            places = np.argsort(rng.random(scores.shape), axis=1)[:, :count]
            bounds = proved(np.take_along_axis(scores, places, axis=1), 1, rng)
            false += max(bounds.values()) > 0.0
            bets += bounds["epsilon 0.0"] > 0.0
        out.append((sizes.games, false, bets))
    return out


def run(path: Path, sizes: Sizes, seed: int, say: Say) -> tuple[Table, Table]:
    """Train, ask, bet: a table of what is proved, and one of false claims."""
    rng = np.random.default_rng(seed)
    books = library(path, sizes, rng)
    recipe, own, other = parse(RECIPE), list(books.own), list(books.other)
    values = recipe.distinct(len(COPIES) * sizes.hashes + 3 * sizes.texts, rng, set())
    parts = [values[k * sizes.hashes : (k + 1) * sizes.hashes] for k in range(len(COPIES))]
    rest = values[len(COPIES) * sizes.hashes :]
    training = [
        t for p, c in zip(parts, COPIES, strict=True) for t in sentences(p, c, own, SENTENCE, rng)
    ]
    unseen = sentences(rest[: sizes.texts], 1, own, SENTENCE, rng)
    shifted = sentences(rest[sizes.texts : 2 * sizes.texts], 1, other, SHIFTED, rng)
    others = dict(zip(rest[: sizes.texts], rest[2 * sizes.texts :], strict=True))
    swapped = [t.replace(v, others[v]) for t, v in zip(unseen, others, strict=True)]

    fresh = finetune.tiny(
        len(books.tokenizer), POSITIONS, rng, layers=sizes.layers, width=sizes.width, heads=4
    )
    target = trained(
        copy.deepcopy(fresh), books, books.public[: sizes.pretraining], sizes, [seed, 1],
        epochs=2, say=say, name="pre-training",
    )  # fmt: skip
    target = trained(target, books, training, sizes, [seed, 2], say=say, name="fine-tuning")
    knows = trained(
        copy.deepcopy(target), books, swapped, sizes, [seed, 3], say=say, name="other hashes"
    )

    def asked(network: Any) -> CausalModel:
        return CausalModel(LanguageModel(network.eval(), books.tokenizer), "tiny GPT-2")

    leaks = Table("copies", "K", "true one first", "epsilon, group", "epsilon, one text")
    for arm, count, *figures in target_rows(asked(target), training, sizes, rng, say):
        leaks.add_row(str(arm), str(count), *(f"{floor_to(x, 2):.2f}" for x in figures))
    nulls = Table("null games", "K", "games", "false", "false, bets alone", "95% interval")
    sums = [0, 0, 0]
    for name, network, texts in (
        ("the target, other texts of its novel", target, unseen),
        ("trained on these texts with other hashes", knows, unseen),
        ("the target under shift", target, shifted),
        ("never trained", fresh, unseen),
    ):
        rows = null_games(asked(network), texts, sizes, rng)
        for count, row in zip(CANDIDATES, rows, strict=True):
            nulls.add_row(name, str(count), *map(str, row), interval(row[1], row[0]))
            sums = [a + b for a, b in zip(sums, row, strict=True)]
        say(f"null games played: {name}")
    nulls.add_row("all", "", *map(str, sums), interval(sums[1], sums[0]))
    return leaks, nulls


def interval(false: int, games: int) -> str:
    """Clopper-Pearson, 95%."""
    low = float(beta.ppf(0.025, false, games - false + 1)) if false else 0.0
    return f"{low:.1%} to {float(beta.ppf(0.975, false + 1, games - false)):.1%}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--text", type=Path, default=Path("out/text/Rdata.rdb"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer hashes, one layer, few games")
    given = parser.parse_args(argv)
    console, start = Console(), time.perf_counter()

    def say(text: str) -> None:
        console.print(f"[{time.perf_counter() - start:4.0f} s] {text}", style="dim", markup=False)
        console.file.flush()

    try:
        found = run(given.text, QUICK if given.quick else Sizes(), given.seed, say)
    except DivulgeError as error:
        console.print(f"[red]{error}")
        return 2
    for table in found:
        console.print(table)
    say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
