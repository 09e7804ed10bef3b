"""Texts: what they show without the target, and helpers that are the public model, fine-tuned.

Words, topics, length and form come from the text alone; the public model, which saw neither members
nor non-members, adds its loss and its embedding. Nothing here sees a truth.
"""

from __future__ import annotations

import copy
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from divulge.data.features import Features
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import finetune
from divulge.models.language import LanguageModel, load
from divulge.models.source import Source
from divulge.types import Array, Index
from divulge.work.pieces import digest

WORDS, TOPICS, HIDDEN = 200, 32, 16
COLUMNS = WORDS + TOPICS + HIDDEN + 10
"""About how many columns a text becomes."""
EPOCHS = 5
RATE, SMALL_RATE = 2e-3, 5e-5
HEAVY = 10_000_000
"""Weights from which on a network is tuned at the small rate."""
BATCH = 32
_CHECKED = 0.1
_WORD = re.compile(r"\w+")


def texts_of(frame: Frame, column: str, where: str) -> list[str]:
    """The texts; InputError for anything else."""
    values = frame[column].to_list()
    bad = next((i for i, v in enumerate(values) if not isinstance(v, str) or not v.strip()), None)
    require(
        bad is None,
        f"Column {column!r} of {where} must hold a text in every row. Row {bad} has none.",
    )
    return values


def describe(texts: Sequence[str], public: LanguageModel | None = None) -> Features:
    """Standardised columns: words, topics, length and form, and the public model's view."""
    from sklearn.decomposition import PCA, TruncatedSVD
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    blocks, names = [_form(texts)], list(_FORM)
    try:
        counted = CountVectorizer(max_features=WORDS, binary=True)
        blocks.append(counted.fit_transform(texts).toarray().astype(float))
        names += [f"word: {word}" for word in counted.get_feature_names_out()]
        weighed = TfidfVectorizer(sublinear_tf=True, min_df=min(5, len(texts)))
        topics = weighed.fit_transform(texts)
    except ValueError as error:
        raise InputError(f"No words could be made of the text column: {error}") from error
    few = min(TOPICS, topics.shape[1] - 1)
    if few > 0:
        blocks.append(TruncatedSVD(few, random_state=0).fit_transform(topics))
        names += [f"topic {k + 1}" for k in range(few)]
    if public is not None:
        answers = public.ask(list(texts))
        hidden = min(HIDDEN, answers.embeddings.shape[1], len(texts))
        blocks += [
            answers.losses[:, None],
            np.nanstd(answers.log_probabilities, axis=1)[:, None],
            PCA(hidden, random_state=0).fit_transform(answers.embeddings),
        ]
        names += ["loss of the public model", "spread of its tokens"]
        names += [f"public embedding {k + 1}" for k in range(hidden)]
    matrix = np.column_stack(blocks)
    scale = matrix.std(axis=0)
    keep = scale > 1e-12
    matrix = (matrix[:, keep] - matrix[:, keep].mean(axis=0)) / scale[keep]
    return Features(matrix, tuple(n for n, k in zip(names, keep, strict=True) if k))


_FORM = (
    "log characters",
    "log words",
    "mean length of words",
    "share of capitals",
    "share of digits",
    "share of other signs",
    "share of different words",
    "share left by zlib",
)


def _form(texts: Sequence[str]) -> Array:
    rows = []
    for text in texts:
        words, size = _WORD.findall(text), max(len(text), 1)
        rows.append(
            (
                np.log1p(len(text)),
                np.log1p(len(words)),
                sum(map(len, words)) / max(len(words), 1),
                sum(c.isupper() for c in text) / size,
                sum(c.isdigit() for c in text) / size,
                sum(not (c.isalnum() or c.isspace()) for c in text) / size,
                len({w.lower() for w in words}) / max(len(words), 1),
                len(zlib.compress(text.encode())) / size,
            )
        )
    return np.array(rows, dtype=float)


@lru_cache(maxsize=1)
def _opened(place: str, content: str) -> LanguageModel:
    """The public model, opened once for all helpers of a process; by its content."""
    return load(place)


@dataclass(frozen=True)
class TextLessons:
    """Texts for the public model, which is fine-tuned and keeps its best epoch."""

    texts: tuple[str, ...] = field(repr=False)
    public: str
    """Its folder."""
    epochs: int = EPOCHS

    @property
    def learner(self) -> str:
        """What is trained, in words."""
        return "the public model, fine-tuned"

    @property
    def ignorance(self) -> float | None:
        """A public model is not ignorant."""
        return None

    def identity(self) -> str:
        """By the texts and the content of the folder."""
        return digest(np.array(self.texts), Source(self.public).fingerprint(), self.epochs)

    def losses(self, taught: Index, seed: int) -> Array:
        """Mean loss per token of every text."""
        return self.model(taught, seed).losses(list(self.texts))

    def model(self, taught: Index, seed: int) -> LanguageModel:
        """The public model, fine-tuned. A tenth of the lessons tells the best epoch."""
        known = _opened(self.public, Source(self.public).fingerprint() or "")
        model = replace(known, network=copy.deepcopy(known.network))
        rng = np.random.default_rng(seed)
        order = rng.permutation(taught)
        held = max(1, round(_CHECKED * order.size))
        require(order.size > held, "A helper needs at least two texts to learn from.")
        rows = blocks([self.texts[i] for i in order[held:]], model)
        checked = blocks([self.texts[i] for i in order[:held]], model, rows.shape[1])
        finetune.finetune(
            model.network,
            rows,
            rng,
            epochs=self.epochs,
            rate=rate_of(model),
            batch=BATCH,
            validation=checked,
        )
        return model


def rate_of(model: LanguageModel) -> float:
    """The learning rate for a network of its size."""
    weights = sum(p.numel() for p in model.network.parameters())
    return RATE if weights < HEAVY else SMALL_RATE


def blocks(texts: Sequence[str], model: LanguageModel, length: int | None = None) -> Index:
    """Rows of equally many tokens: the texts as they are, or cut from one after the other."""
    ids = model.encode(texts)
    lengths = {len(i) for i in ids}
    if len(lengths) == 1 and (length is None or lengths == {length}):
        return np.asarray(ids, dtype=np.int64)
    stream = np.concatenate([np.asarray(i, dtype=np.int64) for i in ids])
    if length is None:
        typical = int(np.median([len(i) for i in ids]))
        length = max(2, min(typical, model.longest or typical, stream.size))
    count = stream.size // length
    require(count > 0, "The texts that teach a helper are too few to fill one block of tokens.")
    return stream[: count * length].reshape(count, length)
