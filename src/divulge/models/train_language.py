"""Further causal language models: fine-tuned from the folder that the given one started from.

``start`` names that folder, a model that never saw the records. Without it they have fresh weights
in the form of the given folder. Its own weights are never where a shadow model starts: it would
know the members before its training begins, and the models without a record would not be such.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import finetune, folders, language
from divulge.models.base import Model, Reads
from divulge.models.hub import CausalModel, texts
from divulge.models.source import Source
from divulge.models.trainers import FACTORY, Labels, numbers

DEFAULTS = {"epochs": 3, "rate": 1e-3, "batch": 32, "decay": 0.01}
START = "start"


@dataclass(frozen=True)
class LanguageTrainer:
    """Fine-tuning with AdamW; the tokenizer is that of the given model."""

    name: str
    folder: str
    start: str | None
    settings: tuple[tuple[str, Any], ...]
    named: str
    """The content of both folders."""
    truncate: bool = False
    classes: None = None
    note: str | None = None
    reads: Reads = "text"

    def identity(self) -> str:
        """By the content of the folders, the settings and the versions of what trains."""
        torch, transformers = language.libraries()
        made_by = (torch.__version__, transformers.__version__)
        return f"{self.named} {self.settings} {self.truncate} {made_by}"

    def train(self, records: Frame, labels: Labels | None, seed: int) -> Model:
        """Fine-tune on the texts; every random draw comes from the seed."""
        rng = np.random.default_rng(seed)
        place = Path(self.folder)
        tokenizer = language.load_tokenizer(place)
        network = self._network(rng)
        model = language.LanguageModel(network, tokenizer, self.name)
        ids = model.encode(texts(records, self.name))
        if self.truncate:
            ids = [row[: model.longest] for row in ids]
        finetune.finetune(network, finetune.padded(ids, model.longest), rng, **dict(self.settings))
        return CausalModel(model, self.name, self.truncate, vocabulary=False)

    def _network(self, rng: np.random.Generator) -> Any:
        if self.start is not None:
            return language.load_network(Path(self.start), "AutoModelForCausalLM")
        _, transformers = language.libraries()
        place = Path(self.folder)
        try:
            with language.without_bars(), language.offline(), folders.fresh(place) as folder:
                shape = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
                with finetune.seeded(rng):
                    return transformers.AutoModelForCausalLM.from_config(
                        shape, attn_implementation="eager", trust_remote_code=False
                    )
        except InputError:
            raise
        except Exception as error:  # odd configurations fail in many ways
            raise InputError(f"Cannot build a model like {place}: {error}") from error

    def files(self, model: Model) -> dict[str, bytes]:
        """A folder that ``divulge.models.language.load`` reads."""
        assert isinstance(model, CausalModel)
        with tempfile.TemporaryDirectory() as folder:
            place = finetune.save(model.model.network, model.model.tokenizer, folder)
            return {f"/{p.name}": p.read_bytes() for p in sorted(place.iterdir()) if p.is_file()}


def like_folder(source: Source, settings: dict[str, Any]) -> LanguageTrainer:
    """Language models of the kind of a folder, fine-tuned from another one or from nothing."""
    given = dict(settings)
    start = given.pop(START, None)
    require(start is None or isinstance(start, str), "The setting start names a folder.")
    model = source.open()
    require(
        isinstance(model, CausalModel),
        f"{source.shown} classifies texts; only causal language models are trained again. "
        f"{FACTORY}",
    )
    named = [str(source.fingerprint())]
    if start is not None:
        first = Source(start)
        require(first.recognised == "hub", f"There is no folder {start} to start from.")
        same = first.fingerprint()
        require(
            same != named[0],
            f"{start} holds the model itself, which knows its members already: start from the "
            "model that it was fine-tuned from, or leave start out for fresh weights.",
        )
        beginning = first.open()
        require(isinstance(beginning, CausalModel), f"{start} is no causal language model.")
        named.append(str(same))
    note = None
    if start is None:
        note = (
            "Shadow models start from fresh weights. If the target was fine-tuned from another "
            "model, name its folder: --training start=FOLDER."
        )
    return LanguageTrainer(
        f"language model like {Path(source.where).name}",
        source.where,
        start,
        tuple(numbers(given, DEFAULTS).items()),
        " ".join(named),
        source.truncate,
        note=note,
    )
