"""Tiny language models for the experiments: trained once, kept, and named by what made them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from rich.console import Console

from divulge.models import finetune
from divulge.models.chunks import chunks, token_matrix
from divulge.models.language import libraries
from divulge.work.pieces import Pieces

Tokens = npt.NDArray[np.int64]
State = dict[str, npt.NDArray[Any]]


class Sizes(Protocol):
    """What every experiment with text says about its models."""

    length: int
    vocabulary: int
    layers: int
    width: int
    batch: int
    pretraining: int
    rate: float


@dataclass
class Run:
    """What every stage needs: sizes, seed, kept pieces, and a place to say what is done."""

    sizes: Sizes
    seed: int
    pieces: Pieces
    out: Path
    console: Console
    start: float = field(default_factory=time.perf_counter)

    def rng(self, stage: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, stage])

    def say(self, text: str) -> None:
        seconds = time.perf_counter() - self.start
        self.console.print(f"[{seconds:5.0f} s] {text}", style="dim", markup=False, highlight=False)
        self.console.file.flush()


def digest(values: Mapping[str, Any]) -> str:
    """SHA-256 of named arrays: a piece is named by what it was made from."""
    found = hashlib.sha256()
    for key in sorted(values):
        array = np.ascontiguousarray(values[key])
        found.update(f"{key} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return found.hexdigest()


def fresh(run: Run, vocabulary: int) -> Any:
    """The architecture of every model here."""
    s = run.sizes
    return finetune.tiny(vocabulary, 2 * s.length, run.rng(0), layers=s.layers, width=s.width)


def revived(run: Run, vocabulary: int, state: Mapping[str, Any]) -> Any:
    """A model with the weights of a piece."""
    torch, _ = libraries()
    network = fresh(run, vocabulary)
    network.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state.items()})
    return network.eval()


def state_of(network: Any) -> State:
    """The weights of a model as arrays."""
    return {k: v.detach().numpy() for k, v in network.state_dict().items()}


def tuned(
    run: Run, name: str, vocabulary: int, start: State, texts: Tokens, stage: int, **options: Any
) -> State:
    """A model trained further on chunks; with ``check`` the best epoch on that many of them."""
    s, check, epochs = run.sizes, options.get("check", 0), options["epochs"]

    def say(epoch: finetune.Epoch) -> None:
        held = "" if epoch.validation is None else f", held out {epoch.validation:.3f}"
        run.say(f"{name}, epoch {epoch.number}: training {epoch.training:.3f}{held}")

    def train() -> State:
        network = revived(run, vocabulary, start)
        finetune.finetune(
            network,
            texts[check:],
            run.rng(stage),
            epochs=epochs,
            rate=s.rate,
            batch=s.batch,
            validation=texts[:check] if check else None,
            progress=say,
            pieces=run.pieces,
        )
        return state_of(network)

    inputs = {"start": digest(start), "texts": digest({"tokens": texts}), "seed": run.seed}
    inputs |= {"rate": s.rate, "batch": s.batch, "stage": stage, **options}
    return run.pieces.arrays("model", inputs, train)


def pretrained(run: Run, public: Mapping[str, str]) -> tuple[Any, int, State]:
    """Tokenizer and model of the public novels."""
    s = run.sizes
    tokenizer = finetune.byte_pairs(list(public.values()), s.vocabulary)
    vocabulary = len(tokenizer)
    rows = token_matrix(chunks(public, tokenizer, length=s.length, most=None))
    rows, first = rows[run.rng(1).permutation(len(rows))], state_of(fresh(run, vocabulary))
    options = {"epochs": s.pretraining, "check": len(rows) // 20}
    return tokenizer, vocabulary, tuned(run, "public", vocabulary, first, rows, 2, **options)
