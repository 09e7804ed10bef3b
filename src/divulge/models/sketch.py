"""A Hugging Face model as its rehearsal builds it: all of its parts, none of its numbers.

Built in a process of its own (``rehearsal``), where a configuration that asks for too many parts
costs nothing but that process; and compared with the weights before a number is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.data import budgets
from divulge.errors import require
from divulge.models import folders, language

LARGER = 4
"""How many times as many numbers a network may have as its weights: some are shared or computed."""
FLOOR = 1 << 24


@dataclass(frozen=True)
class Sketch:
    """A network without numbers, and its tokenizer."""

    network: Any
    tokenizer: Any

    def try_out(self) -> None:
        """Let the tokenizer read a text."""
        if self.tokenizer is not None:
            language.encode(self.tokenizer, ["A small ship, 1 of 2!"], "the model")


def open_file(place: Path) -> Sketch:
    """The sketch of a folder; InputError if it is far larger than its weights."""
    torch, transformers = language.libraries()
    with folders.fresh(place) as folder, language.offline():
        configuration = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        named = (configuration.architectures or [""])[0]
        head = "SequenceClassification" if "Classification" in named else "CausalLM"
        with torch.device("meta"):
            network = getattr(transformers, f"AutoModelFor{head}").from_config(
                configuration, attn_implementation="eager"
            )
        tokenizer = language.load_tokenizer(place)
    size = sum(t.numel() for t in (*network.parameters(), *network.buffers()))
    allowed = budgets.raised(max(FLOOR, LARGER * folders.stored(place)[1]))
    require(
        size <= allowed,
        f"its configuration describes {size:,} numbers; its weights allow for {allowed:,}. "
        f"{budgets.HINT}",
    )
    return Sketch(network, tokenizer)
