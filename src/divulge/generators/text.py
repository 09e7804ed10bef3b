"""Text from a causal language model fine-tuned on the records (PANORAMIA, Appendix C.2).

One part of the records trains the model; the rest are prompts, never trained on. A prompt is
continued by as many tokens as a record has, drawn from the ``top_k`` likeliest at temperature 1,
and only the continuation is returned: it is as long as a record and follows a real one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.generators.base import Training
from divulge.work.threads import sized_network

Tokens = npt.NDArray[np.int64]
TEXT, TOKENS, DOCUMENT, CHUNK = "text", "tokens", "document", "chunk"


@dataclass(frozen=True)
class TextGenerator:
    """Records with a column ``text`` and, optionally, ``tokens``, ``document`` and ``chunk``.

    ``model`` is a local directory (config.json, safetensors, tokenizer.json). Without it, tokenizer
    and a tiny GPT-2 are learned from the training part alone, which then must be large. A generated
    record carries the document of its prompt and the place that follows it.
    """

    model: str | None = None
    length: int = 64
    """Tokens per record, where the records have no column ``tokens`` to say so."""
    training_share: float = 0.7
    """The paper: 35% of all members train the generator, 15% are its prompts."""
    most_per_prompt: int = 8
    top_k: int = 200
    temperature: float = 1.0
    window: int | None = None
    """Tokens that the model was trained to read at once, where it has more positions than that."""
    epochs: int = 8
    """At most; the epoch with the lowest loss on the prompts is kept."""
    rate: float = 1e-3
    batch: int = 32
    vocabulary: int = 2048
    layers: int = 2
    width: int = 128
    progress: Callable[[str], None] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        share, k = self.training_share, self.top_k
        require(0.0 < share < 1.0, f"training_share must lie in (0, 1). Found {share!r}.")
        require(k >= 1, f"top_k must be at least 1. Found {k!r}.")
        require(
            self.temperature > 0.0, f"temperature must be positive. Found {self.temperature!r}."
        )
        require(
            self.most_per_prompt >= 1,
            f"most_per_prompt must be at least 1. Found {self.most_per_prompt!r}.",
        )

    @property
    def name(self) -> str:
        return "text"

    @property
    def settings(self) -> dict[str, Any]:
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "progress"}
        return {**found, "model": None if self.model is None else fingerprint(Path(self.model))}

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        return self.generate_in_pieces(records, count, rng, Training())

    def generate_in_pieces(
        self, records: Frame, count: int, rng: np.random.Generator, training: Training
    ) -> Frame:
        """An epoch is a piece: each starts where the one before it ended."""
        from divulge.models.chunks import decode
        from divulge.models.finetune import Epoch, finetune

        self._check(records, count)
        order = rng.permutation(len(records))
        cut = round(self.training_share * len(records))
        known, held = order[:cut], order[cut:]
        require(
            known.size > 0 and held.size * self.most_per_prompt >= count,
            f"{held.size} prompts with {self.most_per_prompt} samples each do not give {count} "
            f"records. Give more than {len(records)} records, or raise most_per_prompt.",
        )
        network, tokenizer = self._start(records, known, rng)
        tokens = self._tokens(records, tokenizer)
        self._say(f"fine-tuning on {known.size} chunks")
        advance = training.tell("epochs")

        def told(epoch: Epoch) -> None:
            losses = f"training {epoch.training:.3f}, prompts {epoch.validation:.3f}"
            self._say(f"epoch {epoch.number}: {losses}")
            advance(epoch.number, self.epochs)

        finetune(
            network,
            tokens[known],
            rng,
            epochs=self.epochs,
            rate=self.rate,
            batch=self.batch,
            validation=tokens[held],
            progress=told,
            pieces=training.pieces,
        )
        prompts = np.resize(rng.permutation(held), count)
        self._say(f"sampling {count} chunks from {min(held.size, count)} prompts")
        new = continuations(
            network,
            tokens[prompts],
            rng,
            length=tokens.shape[1],
            top_k=self.top_k,
            temperature=self.temperature,
            window=self.window,
            progress=training.tell("continuations"),
        )
        return _like(records, prompts, new, decode(tokenizer, new))

    def _check(self, records: Frame, count: int) -> None:
        require(count >= 1, f"count must be at least 1. Found {count!r}.")
        tables.require_columns(records, [TEXT], "The table of texts")
        other = [c for c in records.columns if c not in (TEXT, TOKENS, DOCUMENT, CHUNK)]
        require(
            not other,
            f"A text generator makes the columns text, tokens, document and chunk only. Found "
            f"also: {', '.join(map(repr, other[:5]))}. Drop them first.",
        )
        require(
            TOKENS not in records.columns or self.model is not None,
            "Column 'tokens' can be spelt out only by the tokenizer that made it: name the model's "
            "directory, or drop the column.",
        )

    def _start(
        self, records: Frame, known: npt.NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Any, Any]:
        """The model before fine-tuning, and its tokenizer."""
        from divulge.models import finetune, language

        if self.model is not None:
            found = language.load(self.model)
            require(found.tokenizer is not None, f"{self.model} holds no tokenizer.")
            return found.network, found.tokenizer
        texts = records[TEXT].to_list()
        tokenizer = finetune.byte_pairs([texts[i] for i in known], self.vocabulary)
        sizes = {"layers": self.layers, "width": self.width}
        return finetune.tiny(len(tokenizer), self.length, rng, **sizes), tokenizer

    def _tokens(self, records: Frame, tokenizer: Any) -> Tokens:
        from divulge.models.chunks import token_matrix
        from divulge.models.language import encode

        if TOKENS in records.columns:
            return token_matrix(records)
        rows = encode(tokenizer, records[TEXT].to_list(), "The generator")
        short = [i for i, row in enumerate(rows) if len(row) < self.length]
        require(
            not short,
            f"{len(short)} of {len(rows)} texts have fewer than {self.length} tokens, the first in "
            f"row {short[0] if short else 0}. Cut documents with divulge.models.chunks, or lower "
            "length.",
        )
        return np.asarray([row[: self.length] for row in rows], dtype=np.int64)

    def _say(self, text: str) -> None:
        if self.progress is not None:
            self.progress(text)


def continuations(
    network: Any,
    prompts: Tokens,
    rng: np.random.Generator,
    *,
    length: int,
    top_k: int = 200,
    temperature: float = 1.0,
    window: int | None = None,
    batch: int = 256,
    progress: Callable[[int, int], None] | None = None,
) -> Tokens:
    """For every prompt ``length`` further tokens by top-k sampling.

    Where prompt and continuation do not fit the model (or ``window``) together, the model goes on
    from the last three quarters of what it can read: positions it was never trained on spoil text.
    """
    from divulge.models.language import LanguageModel, libraries

    torch, _ = libraries()
    limits = [n for n in (LanguageModel(network).longest, window) if n is not None]
    limit = min([prompts.shape[1] + length, *limits])
    require(limit >= 2, f"The model must read at least two tokens at once. Found {limit}.")
    whole = limit == prompts.shape[1] + length
    kept_back = prompts.shape[1] if whole else max(1, 3 * limit // 4)
    random = torch.Generator().manual_seed(int(rng.integers(2**62)))
    network.eval()
    parts = []
    with torch.inference_mode(), sized_network(network):
        for start in range(0, len(prompts), batch):
            seen = torch.from_numpy(np.ascontiguousarray(prompts[start : start + batch]))
            drawn: list[Any] = []
            kept, read = None, limit
            for _ in range(length):
                if read == limit:  # nothing more fits: begin again with what came last
                    step = torch.cat([seen, *drawn], dim=1)[:, -kept_back:]
                    kept, read = None, step.shape[1]
                else:
                    step, read = drawn[-1], read + 1
                out = network(input_ids=step, past_key_values=kept, use_cache=True)
                kept = out.past_key_values
                logits = out.logits[:, -1].float() / temperature
                best, which = logits.topk(min(top_k, logits.shape[1]), dim=1)
                pick = torch.multinomial(best.softmax(1), 1, generator=random)
                drawn.append(which.gather(1, pick))
            parts.append(torch.cat(drawn, dim=1).numpy())
            if progress is not None:
                progress(start + len(seen), len(prompts))
    return np.concatenate(parts)


def fingerprint(folder: Path) -> str:
    """SHA-256 of a model's configuration, weights and tokenizer."""
    require(folder.is_dir(), f"There is no directory {folder}.")
    digest = hashlib.sha256()
    names = ("config.json", "*.safetensors", "tokenizer.json")
    for path in sorted(p for n in names for p in folder.glob(n)):
        digest.update(path.name.encode())
        try:
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    return digest.hexdigest()


def _like(records: Frame, prompts: npt.NDArray[np.intp], new: Tokens, texts: list[str]) -> Frame:
    """Continuations as a table with the records' columns, in their order and types."""
    import pyarrow as pa

    schema = records.to_arrow().schema
    made: dict[str, Any] = {TEXT: texts, TOKENS: new.tolist()}
    if DOCUMENT in schema.names:
        documents = records[DOCUMENT].to_list()
        made[DOCUMENT] = [documents[i] for i in prompts]
    if CHUNK in schema.names:
        places = records[CHUNK].to_list()
        made[CHUNK] = [None if places[i] is None else places[i] + 1 for i in prompts]
    columns = [pa.array(made[f.name], type=f.type) for f in schema]
    return tables.read(pa.table(columns, schema=schema))
