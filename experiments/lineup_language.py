"""A language model audited without any non-member: planted numbers among fresh draws.

    python experiments/lineup_language.py [--seed 0] [--quick]

A tiny GPT-2, built from a configuration, is trained on sentences such as "the code of ... is
12345678", in which every number was drawn at random. A number stands in 1, 4 or 16 training texts
that differ in their other words. Each number is then shown among fresh draws of the same recipe,
K - 1 of them, in all of its texts; the score of a candidate is the log-probability of these texts
with it. Direct bets prove a bound for the whole group of texts, and, tested against groups of that
size, one for a single text. Numbers that were never trained on are the control: whatever is proved
about them is false. Needs the extra ``language``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.bounds.direct import bet_values
from divulge.bounds.forecasting import forecast
from divulge.games.lineup.drawn import line_ups, score_versions
from divulge.games.lineup.recipes import parse
from divulge.models import finetune
from divulge.models.hub import CausalModel
from divulge.models.language import LanguageModel
from divulge.result import floor_to
from divulge.types import Array

RECIPE = "digits:8"
COPIES = (1, 4, 16)
CANDIDATES = (2, 8, 32)
SYLLABLES = ("ba", "do", "fi", "gu", "ka", "le", "mo", "nu", "pa", "ri", "so", "tu")
WORDS = ("and", "so", "it", "was", "down", "on", "page", "old", "book", "by", "sea", "summer")


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    secrets: int = 300
    """Numbers with each number of copies."""
    epochs: int = 12
    layers: int = 2
    width: int = 96
    rate: float = 2e-3


QUICK = Sizes(secrets=100, epochs=8, layers=1, width=64)


def sentences(numbers: Sequence[str], copies: int, rng: np.random.Generator) -> list[str]:
    """Texts that hold each number, every one with other words at its end."""
    found = []
    for number in numbers:
        name = "".join(rng.choice(SYLLABLES, 4))
        for _ in range(copies):
            found.append(f"the code of {name} is {number} {' '.join(rng.choice(WORDS, 6))}")
    return found


def tokens(tokenizer: Any, texts: Sequence[str]) -> finetune.Tokens:
    """Rows of one length, filled up with the end of text."""
    rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    out = np.full((len(rows), max(map(len, rows)) + 1), tokenizer.eos_token_id, dtype=np.int64)
    for row, ids in zip(out, rows, strict=True):
        row[: len(ids)] = ids
    return out


def proved(scores: Array, copies: int) -> tuple[float, float]:
    """Epsilon of the group of texts, and of one of them; the true candidate comes first."""
    prior = np.full(scores.shape, 1.0 / scores.shape[1])
    value = np.zeros(len(scores), dtype=np.intp)
    forecasts = forecast(scores, prior, value)
    group = bet_values(forecasts, prior, value, end=40.0)
    one = bet_values(forecasts, prior, value, copies=np.full(len(scores), copies))
    return group.epsilon, one.epsilon


def run(sizes: Sizes, seed: int, say: Any) -> list[tuple[str, int, float, float, float]]:
    """One row per number of copies and of candidates."""
    rng = np.random.default_rng(seed)
    recipe = parse(RECIPE)
    numbers = recipe.distinct((len(COPIES) + 1) * sizes.secrets, rng, set())
    parts = [numbers[k : k + sizes.secrets] for k in range(0, len(numbers), sizes.secrets)]
    texts = [sentences(p, c, rng) for p, c in zip(parts, (*COPIES, 1), strict=True)]
    training = [t for some in texts[:-1] for t in some]
    tokenizer = finetune.byte_pairs(
        [" ".join(SYLLABLES) + " the code of is " + " ".join(WORDS)], 400
    )
    rows = tokens(tokenizer, training)
    network = finetune.tiny(
        len(tokenizer), 64, rng, layers=sizes.layers, width=sizes.width, heads=4
    )
    finetune.finetune(
        network,
        rows,
        rng,
        epochs=sizes.epochs,
        rate=sizes.rate,
        progress=lambda e: say(f"epoch {e.number}: loss {e.training:.3f}"),
    )
    model = CausalModel(LanguageModel(network, tokenizer), "tiny GPT-2")
    out = []
    for shown, arms in ((training, COPIES), (texts[-1], (0,))):
        found = line_ups({"text": shown}, recipe, rng, text="text", candidates=max(CANDIDATES))
        scores, copies = score_versions(found, model)
        say(f"{len(found)} line-ups scored, {found.void} void, doubts: {list(found.doubts)}")
        order = rng.permutation(len(scores))
        for arm in arms:
            own = scores[order][copies[order] == max(arm, 1)]
            for count in CANDIDATES:
                some = own[:, :count]
                first = float((some[:, :1] > some[:, 1:]).all(axis=1).mean())
                group, one = proved(some, max(arm, 1))
                out.append((str(arm) if arm else "not trained on", count, first, group, one))
    return out


def main(argv: Sequence[str] | None = None) -> None:
    """Train, ask, bet, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a third of the numbers, one layer")
    given = parser.parse_args(argv)
    console, start = Console(), time.perf_counter()

    def say(text: str) -> None:
        console.print(f"[{time.perf_counter() - start:4.0f} s] {text}", style="dim", markup=False)

    table = Table("copies", "K", "true one first", "epsilon, group", "epsilon, one text")
    for arm, count, first, group, one in run(QUICK if given.quick else Sizes(), given.seed, say):
        figures = (f"{floor_to(x, 2):.2f}" for x in (first, group, one))
        table.add_row(arm, str(count), *figures)
    console.print(table)


if __name__ == "__main__":
    main()
