"""Causal language models trained on the CPU: a tiny one from a configuration, or fine-tuning.

Every random draw comes from the generator given, so that equal input gives an equal model.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import require
from divulge.models.checkpoint import capture, restore, weights
from divulge.models.language import LanguageModel, libraries, without_bars
from divulge.work.pieces import Pieces, digest
from divulge.work.threads import sized_network

Tokens = npt.NDArray[np.int64]
END = "<|endoftext|>"


@dataclass(frozen=True)
class Epoch:
    """What one pass over the chunks came to."""

    number: int
    training: float
    validation: float | None


def byte_pairs(texts: Sequence[str], vocabulary: int = 2048) -> Any:
    """A byte-level BPE tokenizer learned from texts, as GPT-2 has it."""
    _, transformers = libraries()
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    require(vocabulary > 300, f"The vocabulary must exceed 300 tokens. Found {vocabulary!r}.")
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=[END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=END, bos_token=END)


def tiny(
    vocabulary: int,
    positions: int,
    rng: np.random.Generator,
    *,
    layers: int = 2,
    width: int = 128,
    heads: int = 4,
) -> Any:
    """A small GPT-2 with fresh weights and without dropout."""
    _, transformers = libraries()
    configuration = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=positions,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
        loss_type="ForCausalLM",
    )
    with seeded(rng):
        return transformers.GPT2LMHeadModel(configuration)


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[int]:
    """Seed the generator of torch from rng, and put it back afterwards."""
    torch, _ = libraries()
    seed = int(rng.integers(2**62))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield seed


def finetune(
    network: Any,
    tokens: Tokens,
    rng: np.random.Generator,
    *,
    epochs: int = 5,
    rate: float = 1e-3,
    decay: float = 0.01,
    batch: int = 32,
    validation: Tokens | None = None,
    progress: Callable[[Epoch], None] | None = None,
    pieces: Pieces | None = None,
) -> list[Epoch]:
    """Train in place on rows of tokens, padded with -1 where short; AdamW with a constant rate.

    With ``validation`` the weights of the best epoch by its loss are kept, not those of the last.
    Every epoch is one of the ``pieces``, about three times as large as the model: a second run
    goes on after the last one that was finished, and ends where the first would have.
    """
    require(epochs >= 1, f"epochs must be at least 1. Found {epochs!r}.")
    require(len(tokens) >= 1, "There are no chunks to train on.")
    torch, _ = libraries()
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=decay)
    rows = torch.from_numpy(np.ascontiguousarray(tokens, dtype=np.int64))
    pieces = pieces or Pieces()
    start = "" if pieces.folder is None else _start(network, tokens, validation, rng)
    inputs = {"start": start, "rate": rate, "decay": decay, "batch": batch}
    history: list[Epoch] = []
    best: Any = None
    with seeded(rng), sized_network(network):
        for number in range(1, epochs + 1):
            order = rng.permutation(len(rows))
            named = {**inputs, "epoch": number}
            found = pieces.find("epoch", named)
            if found is None:
                losses = {"training": _pass(network, optimizer, rows[order], batch)}
                if validation is not None:
                    losses["validation"] = LanguageModel(network).losses(validation).mean()
                found = pieces.store("epoch", named, {**capture(network, optimizer), **losses})
            else:
                restore(network, optimizer, found)
            checked = None
            if validation is not None:
                checked = float(found["validation"])
                if best is None or checked < min(float(e.validation or 0.0) for e in history):
                    best = copy.deepcopy(network.state_dict())
            history.append(Epoch(number, float(found["training"]), checked))
            if progress is not None:
                progress(history[-1])
    if best is not None:
        network.load_state_dict(best)
    network.eval()
    return history


def _pass(network: Any, optimizer: Any, rows: Any, batch: int) -> float:
    """One pass over the rows in their order; the mean loss."""
    torch, _ = libraries()
    network.train()
    total = 0.0
    for start in range(0, len(rows), batch):
        some = rows[start : start + batch]
        loss = chunk_losses(network, some).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        total += float(loss.detach()) * len(some)
    return total / len(rows)


def _start(
    network: Any, tokens: Tokens, validation: Tokens | None, rng: np.random.Generator
) -> str:
    """A digest of all that a training depends on besides its settings."""
    torch, transformers = libraries()
    made_by = (torch.__version__, transformers.__version__)
    form = (repr(network), repr(getattr(network, "config", None)))
    free = tuple(p.requires_grad for p in network.parameters())
    chance = repr(rng.bit_generator.state)
    return digest(*weights(network).values(), tokens, validation, form, free, chance, made_by)


def chunk_losses(network: Any, rows: Any) -> Any:
    """Mean loss per token of every row, with a gradient; a token of -1 is none, at the end only.

    A causal model does not look ahead, so what stands beyond the end changes nothing before it.
    """
    torch, _ = libraries()
    positions = torch.arange(rows.shape[1]).expand(rows.shape)
    shown = rows.clamp_min(0)
    logits = network(input_ids=shown, position_ids=positions, use_cache=False).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), shown[:, 1:].flatten(), reduction="none"
    ).reshape(len(rows), -1)
    if bool((rows >= 0).all()):
        return losses.mean(1)
    counted = (rows[:, 1:] >= 0).to(losses.dtype)
    return (losses * counted).sum(1) / counted.sum(1).clamp_min(1.0)


def padded(rows: Sequence[Sequence[int]], longest: int | None) -> Tokens:
    """Rows of token ids as a matrix, filled up with -1; InputError for one that is too long."""
    lengths = [len(row) for row in rows]
    require(
        longest is None or max(lengths) <= longest,
        f"The model reads at most {longest} tokens. A text has {max(lengths)}: cut the texts, or "
        "say that they are cut off (--with truncate=yes).",
    )
    require(min(lengths) >= 2, "A text needs at least two tokens to be trained on.")
    out = np.full((len(rows), max(lengths)), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def save(network: Any, tokenizer: Any, path: str | os.PathLike[str]) -> Path:
    """Write a directory that ``divulge.models.language.load`` reads; weights as safetensors."""
    place = Path(path)
    place.mkdir(parents=True, exist_ok=True)
    with without_bars():
        network.save_pretrained(place)
        if tokenizer is not None:
            tokenizer.save_pretrained(place)
    return place
