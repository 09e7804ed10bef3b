"""What attacks on language models may look at: a tiny GPT-2 and Jane Austen's novels.

A tokenizer is learned from all novels; their chunks of 32 tokens are split at random into members,
non-members and the training set of the reference, a model of the same kind. The target is trained
from nothing, or fine-tuned from the reference, as the attacks by tokens have it.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from austen import chapters, novels

from divulge.attacks.base import Observed
from divulge.errors import require
from divulge.models import finetune
from divulge.models.base import Answers
from divulge.models.chunks import chunks, token_matrix
from divulge.models.language import LanguageModel

Tokens = npt.NDArray[np.int64]
TEXT = Path("out/text/Rdata.rdb")
LENGTH, VOCABULARY = 32, 1_024
WIDER = 3
"""A text in lower case may have more tokens than the chunk it comes from."""
TUNED = 3
"""Epochs of a fine-tuned target, as in the papers."""
FIELDS = ("tokens", "means", "deviations", "best")


@dataclass(frozen=True)
class Sizes:
    """Chunks on each side, and how long is trained."""

    each: int = 4_000
    epochs: int = 12
    width: int = 96
    layers: int = 2
    positions: int = WIDER * LENGTH


QUICK = Sizes(each=300, epochs=8, width=64, layers=1)


def novels_observed(
    seed: int, *, quick: bool, console: Console, length: int = LENGTH, tuned: bool = False
) -> tuple[Observed, npt.NDArray[np.bool_]]:
    """Answers of target and reference to members and non-members, and who is a member."""
    sizes = QUICK if quick else Sizes()
    documents: dict[str, str] = {}
    for name, lines in novels(TEXT).items():
        documents |= chapters(lines, name)
    tokenizer = finetune.byte_pairs(list(documents.values()), VOCABULARY)
    frame = chunks(documents, tokenizer, length=length, most=None)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(frame))
    sizes = replace(sizes, each=min(sizes.each, order.size // 3), positions=WIDER * length)
    require(sizes.each >= 100, f"The novels have only {order.size} chunks of {length} tokens.")
    tokens = token_matrix(frame)[order]
    texts = [str(t) for t in np.asarray(frame["text"].to_list(), dtype=object)[order]]
    audited = 2 * sizes.each
    member = np.arange(audited) < sizes.each
    outside = tokens[audited : audited + sizes.each]
    if tuned:
        reference = _trained(outside, tokenizer, sizes, rng)
        network = copy.deepcopy(reference.network)
        finetune.finetune(network, tokens[: sizes.each], rng, epochs=TUNED, rate=2e-3)
        target = LanguageModel(network, tokenizer)
    else:
        target = _trained(tokens[: sizes.each], tokenizer, sizes, rng)
        reference = _trained(outside, tokenizer, sizes, rng)
    observed = Observed(
        target=answers(target, tokens[:audited]),
        texts=texts[:audited],
        lowered=answers(target, target.encode([t.lower() for t in texts[:audited]])),
        references=(answers(reference, tokens[:audited]),),
    )
    assert observed.target.tokens is not None
    losses = -np.nanmean(observed.target.tokens, axis=1)
    for name, rows in (("members", member), ("others", ~member)):
        console.print(f"loss per token of the target on {name}: {losses[rows].mean():.3f}")
    return observed, member


def _trained(
    tokens: Tokens, tokenizer: Any, sizes: Sizes, rng: np.random.Generator
) -> LanguageModel:
    network = finetune.tiny(
        len(tokenizer), sizes.positions, rng, width=sizes.width, layers=sizes.layers
    )
    finetune.finetune(network, tokens, rng, epochs=sizes.epochs, rate=2e-3)
    return LanguageModel(network, tokenizer)


def answers(model: LanguageModel, records: Sequence[Sequence[int]] | Tokens) -> Answers:
    """Log-probabilities of the tokens; of the whole distribution the moments and the largest."""
    import torch

    longest = model.longest
    rows = [list(map(int, r))[:longest] for r in records]
    parts = []
    model.network.eval()
    with torch.inference_mode():
        for start in range(0, len(rows), 64):
            some = rows[start : start + 64]
            width = max(map(len, some))
            ids = torch.tensor([r + [0] * (width - len(r)) for r in some])
            inside = torch.tensor([[j < len(r) for j in range(1, width)] for r in some])
            logs = model.network(input_ids=ids, use_cache=False).logits[:, :-1].log_softmax(2)
            own = logs.gather(2, ids[:, 1:, None])[..., 0]
            p = logs.exp()
            means = (p * logs).sum(2)
            deviations = ((p * logs**2).sum(2) - means**2).clamp_min(0.0).sqrt()
            found = [
                np.where(inside.numpy(), v.double().numpy(), np.nan)
                for v in (own, means, deviations, logs.amax(2))
            ]
            parts.append(Answers(**dict(zip(FIELDS, found, strict=True))))
    return Answers.joined(parts)
