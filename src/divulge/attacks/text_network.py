"""A small network that tells members from generated text by tokens and losses (extra ``language``).

PANORAMIA (Appendix C.2) classifies with a GPT-2 that reads the chunk beside the sequence of losses
of helper (baseline) or target (attack). Here a convolution reads token embeddings and, where losses
per token are given, these beside the tokens they belong to. Needs equally long rows of tokens.
Larger speaks for membership; the score is the estimated log-odds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, MissingExtra, require
from divulge.types import Array
from divulge.work.threads import single

Tokens = npt.NDArray[np.int64]
Labelled = tuple[Tokens, "Array | None", Array]


@dataclass
class TextNetwork:
    """Learns from ``fit(tokens, extra, truth, validation)``; truth is +1 for members, else -1.

    ``extra`` is None, a matrix with columns per record, or losses per token with the shape
    (records, tokens - 1, models). Training stops when the log-loss on ``validation`` has not fallen
    for ``patience`` epochs, and the best epoch is kept.
    """

    width: int = 32
    filters: int = 64
    epochs: int = 30
    patience: int = 4
    rate: float = 2e-3
    decay: float = 1e-2
    dropout: float = 0.3
    batch: int = 64
    seed: int = 0
    history_: list[float] = field(default_factory=list, init=False, repr=False)

    @single
    def fit(
        self, tokens: Tokens, extra: Array | None, truth: Array, validation: Labelled
    ) -> TextNetwork:
        """Train with early stopping on (tokens, extra, truth) of other records."""
        torch = _torch()
        tokens, extra = self._checked(tokens, extra)
        require(
            len(truth) == len(tokens) and bool(np.isin(truth, (-1.0, 1.0)).all()),
            "truth must hold +1 or -1 for every record.",
        )
        require(len(np.unique(truth)) == 2, "truth must hold both members and others.")
        self._length, self._shape = tokens.shape[1], extra.shape[1:]
        flat = extra.reshape(-1, extra.shape[-1]) if extra.size else np.zeros((1, extra.shape[-1]))
        self._mean, self._spread = flat.mean(axis=0), np.maximum(flat.std(axis=0), 1e-9)
        other = self._checked(validation[0], validation[1], fitted=True)
        wanted = torch.from_numpy(np.asarray(validation[2] > 0, dtype=np.float32))
        self._vocabulary = int(max(tokens.max(), other[0].max())) + 1
        loss_of = torch.nn.functional.binary_cross_entropy_with_logits
        rng = np.random.default_rng(self.seed)
        with _seeded(torch, int(rng.integers(2**62))):
            self._layers = self._build(torch)
            optimizer = torch.optim.AdamW(
                self._layers.parameters(), lr=self.rate, weight_decay=self.decay
            )
            best: dict[str, Any] = {}
            self.history_ = []
            for _ in range(self.epochs):
                self._layers.train()
                order = rng.permutation(len(tokens))
                for start in range(0, len(order), self.batch):
                    some = order[start : start + self.batch]
                    out = self._forward(torch, tokens[some], extra[some])
                    loss = loss_of(out, torch.from_numpy((truth[some] > 0).astype(np.float32)))
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                now = float(loss_of(torch.from_numpy(self._logits(torch, *other)).float(), wanted))
                if not self.history_ or now < min(self.history_):
                    best = {k: v.clone() for k, v in self._layers.state_dict().items()}
                self.history_.append(now)
                if len(self.history_) - int(np.argmin(self.history_)) > self.patience:
                    break
            self._layers.load_state_dict(best)
        return self

    @single
    def score(self, tokens: Tokens, extra: Array | None = None) -> Array:
        """Log-odds of membership of every record."""
        require(hasattr(self, "_layers"), "The network has not been fitted.")
        return self._logits(_torch(), *self._checked(tokens, extra, fitted=True))

    def _checked(
        self, tokens: Tokens, extra: Array | None, *, fitted: bool = False
    ) -> tuple[Tokens, Array]:
        tokens = np.asarray(tokens)
        require(
            tokens.ndim == 2 and tokens.size > 0,
            f"tokens must be a matrix of token ids. Found the shape {tokens.shape}.",
        )
        values = np.zeros((len(tokens), 0)) if extra is None else np.asarray(extra, dtype=float)
        require(
            values.ndim in (2, 3) and len(values) == len(tokens),
            f"extra must have a row for each of the {len(tokens)} records. Found {values.shape}.",
        )
        require(bool(np.isfinite(values).all()), "extra must be finite.")
        require(
            values.ndim == 2 or values.shape[1] == tokens.shape[1] - 1,
            f"Losses per token must have {tokens.shape[1] - 1} places. Found {values.shape[1:2]}.",
        )
        if fitted:
            seen = (self._length, self._shape)
            if (tokens.shape[1], values.shape[1:]) != seen:
                raise InputError(
                    f"The network was fitted on {seen[0]} tokens with extra columns {seen[1]}. "
                    f"Found {tokens.shape[1]} with {values.shape[1:]}."
                )
        return tokens.astype(np.int64), values

    def _build(self, torch: Any) -> Any:
        nn = torch.nn
        beside = self._shape[1] if len(self._shape) == 2 else 0
        after = self._shape[0] if len(self._shape) == 1 else beside
        return nn.ModuleDict(
            {
                "embed": nn.Embedding(self._vocabulary + 1, self.width),
                "first": nn.Conv1d(self.width + beside, self.filters, 3, padding=1),
                "second": nn.Conv1d(self.filters, self.filters, 3, padding=1),
                "drop": nn.Dropout(self.dropout),
                "hidden": nn.Linear(2 * self.filters + after, self.filters),
                "out": nn.Linear(self.filters, 1),
            }
        )

    def _forward(self, torch: Any, tokens: Tokens, extra: Array) -> Any:
        layers = self._layers
        known = np.where(tokens < self._vocabulary, tokens, self._vocabulary)
        seen = layers["embed"](torch.from_numpy(known))
        scaled = torch.from_numpy(((extra - self._mean) / self._spread).astype(np.float32))
        after = scaled
        if scaled.ndim == 3:
            first = torch.zeros(len(scaled), 1, scaled.shape[2])
            seen = torch.cat([seen, torch.cat([first, scaled], dim=1)], dim=2)
            after = scaled.mean(1)
        maps = layers["drop"](seen.transpose(1, 2))
        for name in ("first", "second"):
            maps = layers[name](maps).relu()
        pooled = layers["drop"](torch.cat([maps.amax(2), maps.mean(2)], dim=1))
        hidden = layers["hidden"](torch.cat([pooled, after], dim=1)).relu()
        return layers["out"](hidden)[:, 0]

    def _logits(self, torch: Any, tokens: Tokens, extra: Array) -> Array:
        self._layers.eval()
        with torch.inference_mode():
            parts = [
                self._forward(torch, tokens[i : i + 1024], extra[i : i + 1024]).numpy()
                for i in range(0, len(tokens), 1024)
            ]
        return np.concatenate(parts).astype(float)


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingExtra("torch", "language") from None
    return torch


@contextmanager
def _seeded(torch: Any, seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
