"""Local Hugging Face causal language models: token log-probabilities, losses and embeddings.

A model is a directory with ``config.json`` and safetensors weights. Nothing is fetched, code that
comes with a model is never run, and weights in pickle are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import budgets
from divulge.errors import InputError, MissingExtra, require
from divulge.models import folders
from divulge.models.rehearsal import rehearse
from divulge.types import Array
from divulge.work.threads import sized_network

Tokens = npt.NDArray[np.int64]
Records = Sequence[str] | Sequence[Sequence[int]] | npt.NDArray[Any]

PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.pickle", "*.ckpt")
LOGITS = 1 << 24
"""Most logits that are held at once; the number of records in a batch follows from it."""


@dataclass(frozen=True)
class TokenAnswers:
    """What a model says of records.

    ``log_probabilities[i, j]`` belongs to token j + 1 of record i given the tokens before it; NaN
    beyond the end of a short record. ``best`` is that of the most likely token at the same place,
    the very same number where the record holds it. ``embeddings`` are mean last hidden states.
    ``means`` and ``deviations``, where asked for, are those of the log-probability of a token that
    the model draws itself there.
    """

    log_probabilities: Array
    best: Array
    embeddings: Array
    means: Array | None = None
    deviations: Array | None = None

    @property
    def losses(self) -> Array:
        """Mean negative log-probability per token of every record."""
        return np.asarray(-np.nanmean(self.log_probabilities, axis=1))


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model and, where there is one, its tokenizer."""

    network: Any
    tokenizer: Any = None
    name: str = "language model"
    batch: int | None = None
    """Records per batch; by default as many as ``LOGITS`` allows."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens the model knows."""
        return int(self.network.config.vocab_size)

    @property
    def longest(self) -> int | None:
        """Most tokens that the model can read, if it says so."""
        found = getattr(self.network.config, "max_position_embeddings", None)
        return None if found is None else int(found)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of texts, without special tokens."""
        return encode(self.tokenizer, texts, self.name)

    def ask(
        self,
        records: Records,
        *,
        vocabulary: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> TokenAnswers:
        """Log-probabilities and embeddings of texts or of rows of token ids.

        With ``vocabulary`` also the moments over all tokens that Min-K%++ needs.
        """
        import torch

        ids, lengths = self._matrix(records)
        count, width = ids.shape
        rows = self.batch or max(1, LOGITS // (self.vocabulary * width))
        device = next(self.network.parameters()).device
        found, best = np.full((2, count, width - 1), np.nan)
        hiddens: list[Array] = []
        moments = np.full((2, *found.shape), np.nan) if vocabulary else None
        training = self.network.training
        self.network.eval()
        try:
            with torch.inference_mode(), sized_network(self.network):
                for start in range(0, count, rows):
                    some = slice(start, start + rows)
                    block = torch.from_numpy(ids[some]).to(device)
                    inside = np.arange(width) < lengths[some, None]
                    mask = torch.from_numpy(inside).to(device)
                    out = self.network(
                        input_ids=block,
                        attention_mask=mask.long(),
                        output_hidden_states=True,
                        use_cache=False,
                    )
                    logits = out.logits[:, :-1].float()
                    chosen = logits.gather(2, block[:, 1:, None])[..., 0]
                    whole = logits.logsumexp(2)
                    for place, values in ((found, chosen), (best, logits.amax(2))):
                        own = (values - whole).cpu().numpy()
                        place[some] = np.where(inside[:, 1:], own, np.nan)
                    if moments is not None:
                        every = logits.log_softmax(2)
                        weight = every.exp()
                        mean = (weight * every).sum(2)
                        spread = (weight * (every - mean[..., None]).square()).sum(2).sqrt()
                        both = torch.stack([mean, spread]).cpu().numpy()
                        moments[:, some] = np.where(inside[:, 1:], both, np.nan)
                    hidden = out.hidden_states[-1].float() * mask[..., None]
                    hiddens.append((hidden.sum(1) / mask.sum(1, keepdim=True)).cpu().numpy())
                    if progress is not None:
                        progress(min(start + rows, count), count)
        finally:
            self.network.train(training)
        embeddings = np.concatenate(hiddens).astype(float)
        return TokenAnswers(found, best, embeddings, *(() if moments is None else moments))

    def losses(self, records: Records) -> Array:
        """Mean loss per token of every record."""
        return self.ask(records).losses

    def _matrix(self, records: Records) -> tuple[Tokens, npt.NDArray[np.intp]]:
        """Token ids, padded on the right with 0, and the length of every record."""
        require(len(records) > 0, f"There are no records to query {self.name} with.")
        rows: Any = records
        if isinstance(records[0], str):
            rows = self.encode(list(records))  # type: ignore[arg-type]
        lengths = np.array([len(r) for r in rows], dtype=np.intp)
        short = np.flatnonzero(lengths < 2)
        require(
            not short.size,
            f"A record needs at least two tokens. Record {short[0] if short.size else 0} has fewer "
            f"({short.size} of {lengths.size} records).",
        )
        longest = self.longest
        if longest is not None and lengths.max() > longest:
            raise InputError(
                f"{self.name} reads at most {longest} tokens. Record {int(lengths.argmax())} has "
                f"{int(lengths.max())}: cut the text into chunks."
            )
        ids = np.zeros((lengths.size, int(lengths.max())), dtype=np.int64)
        for i, row in enumerate(rows):
            ids[i, : lengths[i]] = row
        if ids.min() < 0 or ids.max() >= self.vocabulary:
            bad = int(ids.max()) if ids.max() >= self.vocabulary else int(ids.min())
            raise InputError(
                f"{self.name} knows the tokens 0 to {self.vocabulary - 1}. Found {bad}: were the "
                "tokens made by another model's tokenizer?"
            )
        return ids, lengths


def load(path: str | os.PathLike[str], *, device: str = "cpu") -> LanguageModel:
    """A causal language model from a local directory; InputError that says what is wrong."""
    place = Path(path)
    network = load_network(place, "AutoModelForCausalLM")
    return LanguageModel(network.to(device).eval(), load_tokenizer(place), place.name)


def load_network(place: Path, kind: str) -> Any:
    """A network of one of the Auto classes; InputError unless all of its weights are there."""
    check_directory(place)
    torch, transformers = libraries()
    folders.configuration(place)
    rehearse("divulge.models.sketch", place)
    try:
        with without_bars(), offline(), folders.fresh(place) as folder:
            network, info = getattr(transformers, kind).from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                attn_implementation="eager",
                dtype=torch.float32,
                output_loading_info=True,
            )
    except InputError:
        raise
    except Exception as error:  # damaged weights and odd configurations fail in many ways
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error
    missing = sorted({*info["missing_keys"], *map(str, info["mismatched_keys"])})
    require(
        not missing,
        f"{place} does not hold all weights of its model: {', '.join(missing[:3])} "
        f"({len(missing)} missing or of another shape).",
    )
    return network


@contextmanager
def offline() -> Iterator[None]:
    """No request to a hub, whatever a folder asks for."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def without_bars() -> Iterator[None]:
    """No progress bars of the library while a model is loaded or saved."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def load_tokenizer(place: Path) -> Any:
    """The tokenizer of a directory, or None where it holds none."""
    if not any((place / n).exists() for n in ("tokenizer.json", "tokenizer_config.json")):
        return None
    _, transformers = libraries()
    try:
        with offline(), folders.fresh(place) as folder:
            return transformers.AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
    except InputError:
        raise
    except Exception as error:  # as above
        raise InputError(
            f"Cannot load the tokenizer of {place}: {type(error).__name__}: {error}"
        ) from error


def encode(tokenizer: Any, texts: Sequence[str], name: str) -> list[list[int]]:
    """Token ids of texts, without special tokens and at full length."""
    require(
        tokenizer is not None,
        f"{name} came without a tokenizer: give token ids, or a directory with tokenizer.json.",
    )
    if not texts:
        return []
    found = tokenizer(list(texts), add_special_tokens=False, verbose=False)
    return list(found["input_ids"])


def check_directory(place: Path) -> dict[str, Any]:
    """The configuration of a directory; InputError unless it holds safetensors weights too."""
    require(place.exists(), f"There is no directory {place}.")
    require(
        place.is_dir(),
        f"{place} is a file. A language model is a directory with config.json and safetensors.",
    )
    budgets.require_folder(place)
    require((place / "config.json").exists(), f"{place} holds no config.json.")
    configuration = folders.read_json(place / "config.json")
    require(
        not (place / "adapter_config.json").exists(),
        f"{place} holds an adapter, not a whole model: merge it into its base model first.",
    )
    if folders.shards(place):
        return configuration
    pickles = sorted(p.name for pattern in PICKLES for p in place.glob(pattern))
    if pickles:
        raise InputError(
            f"{place} holds its weights as a pickle ({pickles[0]}), which can run any code on this "
            "machine when it is loaded. Save the model as safetensors: "
            "model.save_pretrained(folder) does so."
        )
    raise InputError(f"{place} holds no weights: model.safetensors is missing.")


def libraries() -> tuple[Any, Any]:
    """The modules torch and transformers; MissingExtra without them."""
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtra("torch", "language") from None
    try:
        import transformers
    except ModuleNotFoundError:
        raise MissingExtra("transformers", "language") from None
    return torch, transformers
