"""Local Hugging Face directories: classifiers of text, and causal language models.

Which of the two it is, ``architectures`` in ``config.json`` says. Safetensors only; nothing is
fetched and no code that comes with a model is run (``language.check_directory``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import language
from divulge.models.base import Answers, Gives, Reads, log_softmax
from divulge.work.threads import sized_network

CAUSAL = ("ForCausalLM", "LMHeadModel")
CLASSIFIER = ("ForSequenceClassification",)
ROWS = 32


@dataclass(frozen=True)
class CausalModel:
    """A causal language model: the log-probability of every token of a text but the first."""

    model: language.LanguageModel = field(repr=False)
    name: str
    truncate: bool = False
    """Whether of a text longer than the model reads its beginning is taken."""
    vocabulary: bool = True
    """Whether the moments over the vocabulary are computed, which Min-K%++ needs."""
    reads: Reads = "text"
    gives: Gives = "tokens"
    classes: None = None
    batch: int = 1024

    def ask(self, records: Frame) -> Answers:
        """Token log-probabilities of the texts."""
        ids = self.model.encode(texts(records, self.name))
        if self.truncate:
            ids = [row[: self.model.longest] for row in ids]
        found = self.model.ask(ids, vocabulary=self.vocabulary)
        return Answers(
            tokens=found.log_probabilities,
            means=found.means,
            deviations=found.deviations,
            best=found.best,
        )


@dataclass(frozen=True)
class TextClassifier:
    """A sequence classifier: the log-probability of every class of a text."""

    network: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    name: str
    classes: tuple[Any, ...] | None
    truncate: bool = False
    """Whether of a text longer than the model reads its beginning is taken."""
    reads: Reads = "text"
    gives: Gives = "probabilities"
    batch: int = 1024

    @property
    def longest(self) -> int | None:
        """Most tokens that the model reads, if it says so."""
        limits = (
            getattr(self.network.config, "max_position_embeddings", None),
            getattr(self.tokenizer, "model_max_length", None),
        )
        return min((int(n) for n in limits if n is not None), default=None)

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities from the logits of the texts."""
        import torch

        rows = texts(records, self.name)
        encoded = [
            self.tokenizer(t, truncation=self.truncate, max_length=self.longest, verbose=False)
            for t in rows
        ]
        lengths = [len(e["input_ids"]) for e in encoded]
        if self.longest is not None and max(lengths) > self.longest:
            raise InputError(
                f"{self.name} reads at most {self.longest} tokens. Record "
                f"{int(np.argmax(lengths))} has {max(lengths)}: shorten the texts, or say that "
                "they are cut off (--with truncate=yes)."
            )
        # Without a token to pad with, texts are read one by one.
        step = ROWS if self.tokenizer.pad_token_id is not None else 1
        device = next(self.network.parameters()).device
        parts = []
        with torch.inference_mode(), sized_network(self.network):
            for start in range(0, len(encoded), step):
                some = encoded[start : start + step]
                given = self.tokenizer.pad(some, return_tensors="pt") if step > 1 else some[0]
                if step == 1:
                    given = given.convert_to_tensors("pt", prepend_batch_axis=True)
                found = self.network(**{k: v.to(device) for k, v in given.items()})
                parts.append(found.logits.double().cpu().numpy())
        return Answers(log_probabilities=log_softmax(np.concatenate(parts)))


def texts(records: Frame, name: str) -> list[str]:
    """The one column of text; InputError for a row that holds none."""
    require(len(records.columns) == 1, f"{name} reads one column of text.")
    column = records.columns[0]
    rows = records[column].to_list()
    bad = next((i for i, t in enumerate(rows) if not isinstance(t, str) or not t), None)
    require(bad is None, f"Column {column!r} must hold text. Row {bad} does not.")
    return [str(t) for t in rows]


def load(
    place: Path, *, truncate: bool = False, device: str = "cpu"
) -> CausalModel | TextClassifier:
    """The model of a directory; InputError that says what is wrong."""
    configuration = language.check_directory(place)
    named = configuration.get("architectures")
    architecture = str(named[0]) if isinstance(named, list) and named else ""
    if architecture.endswith(CAUSAL):
        return CausalModel(language.load(place, device=device), place.name, truncate)
    require(
        architecture.endswith(CLASSIFIER),
        f"{place / 'config.json'} names the architecture {architecture or 'none'!r}. Causal "
        f"language models ({', '.join('*' + c for c in CAUSAL)}) and classifiers of text "
        f"(*{CLASSIFIER[0]}) are read.",
    )
    return _classifier(place, truncate, device)


def _classifier(place: Path, truncate: bool, device: str) -> TextClassifier:
    network = language.load_network(place, "AutoModelForSequenceClassification")
    tokenizer = language.load_tokenizer(place)
    require(tokenizer is not None, f"{place} holds no tokenizer.json.")
    labels = network.config.id2label
    kind = network.config.problem_type
    require(
        len(labels) >= 2 and kind in (None, "single_label_classification"),
        f"{place} does not tell classes apart: {len(labels)} labels, "
        f"problem_type {kind or 'unknown'}.",
    )
    classes = tuple(labels[j] for j in range(len(labels)))
    plain = all(c == f"LABEL_{j}" for j, c in enumerate(classes))
    return TextClassifier(
        network.to(device).eval(), tokenizer, place.name, None if plain else classes, truncate
    )
