"""Crafted texts as canaries of language models, included by coins.

``random-tokens``: tokens of the model's vocabulary, each as likely as any other, which no training
text resembles. ``new-tokens``: a text that ends in a word of its own, which stands nowhere else;
add the words of *all* canaries to the tokenizer, included or not, or it tells the coins.
``sampled``: what the model itself writes at a temperature of 0.8 or more, likely enough to be
learned and too long to be written twice. Texts follow from the plan's key, never from its coins.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.data import content, tables
from divulge.data.tables import Frame
from divulge.errors import InputError, require, require_probability, require_seed
from divulge.games.canaries import coins, planted
from divulge.games.canaries.planning import DATA, LEAST, ROW, Crafted, Plan

RANDOM_TOKENS, NEW_TOKENS, SAMPLED = "random-tokens", "new-tokens", "sampled"
TEXTS = (RANDOM_TOKENS, NEW_TOKENS, SAMPLED)
TOKEN, TEXT = "token", "text"
LENGTH, COOLEST = 32, 0.8
_SPELLED = "\ufffd"


def plan_texts(
    data: Any,
    strategy: str,
    *,
    text: str | None = None,
    model: Any = None,
    count: int,
    tokens: int | None = None,
    temperature: float | None = None,
    probability: float = 0.5,
    seed: int | None = None,
) -> Plan:
    """Write ``count`` texts, and flip a coin for each; included ones stand among the data's."""
    require_probability("probability", probability)
    if seed is not None:
        require_seed(seed)
    require(count >= LEAST, f"Craft at least {LEAST} canaries. Found {count!r}.")
    length, heat = LENGTH if tokens is None else tokens, 1.0 if temperature is None else temperature
    require(length >= 2, f"A text needs at least 2 tokens. Found {length!r}.")
    require(
        temperature is None or strategy == SAMPLED,
        "The temperature is that of sampled canaries: others are not written by a model.",
    )
    require(
        COOLEST <= heat < np.inf,
        f"Below a temperature of {COOLEST} a model repeats itself, and canaries are alike. Found "
        f"{heat!r}.",
    )
    frame = None if data is None else tables.read(data)
    column = TEXT if text is None else text
    if frame is not None:
        tables.require_columns(frame, [column], DATA)
        require(ROW not in frame.columns, f"{DATA} have a column {ROW!r}: rename it.")
    used = coins.secret_seed() if seed is None else int(seed)
    digest = _digest(strategy, count, length, heat, column, model, frame)
    key = coins.mix(used, digest)
    written, new = _write(strategy, model, frame, column, count, length, heat, key)
    rows = np.arange(count) + (0 if frame is None else len(frame))
    included = coins.flip(key, count, probability)
    shown = pa.table({ROW: rows, column: pa.array(written, pa.string())})
    if new:
        shown = shown.append_column(TOKEN, pa.array(new, pa.string()))
    given = {"name": "no data", "sha256": digest}
    return Plan(
        ids=tuple(rows.tolist()),
        rows=tuple(rows.tolist()),
        included=included,
        id=None,
        strategy=strategy,
        seed=used,
        probability=probability,
        input=given if frame is None else tables.fingerprint(data, frame, "data"),
        details={
            "crafted": "texts",
            "text": column,
            "tokens": length,
            "coins": coins.RULE,
            "content_sha256": digest,
            **({"temperature": heat} if strategy == SAMPLED else {}),
        },
        crafted=Crafted(_among(frame, shown.filter(pa.array(included)), column, key), shown),
    )


def _digest(
    strategy: str, count: int, length: int, heat: float, column: str, model: Any, frame: Any
) -> str:
    named = None if model is None else Path(os.fspath(model)).name
    known = None if frame is None else content.digest(frame, frame.columns)
    words = json.dumps([strategy, count, length, heat, column, named, known])
    return hashlib.sha256(words.encode()).hexdigest()


def _write(
    strategy: str,
    model: Any,
    frame: Frame | None,
    column: str,
    count: int,
    length: int,
    heat: float,
    key: bytes,
) -> tuple[list[str], list[str]]:
    """The texts, and the new word of each."""
    if strategy == SAMPLED:
        return _distinct(_sampled(_place(model, strategy), count, length, heat, key)), []
    if strategy == RANDOM_TOKENS:
        return _distinct(_random(_place(model, strategy), count, length, key)), []
    if model is not None:
        before = _random(_place(model, strategy), count, length, key)
    else:
        require(
            frame is not None,
            "new-tokens canaries begin as texts of the data, or as random tokens of a model: give "
            "either.",
        )
        assert frame is not None
        texts = [t for t in frame[column].to_list() if isinstance(t, str)]
        require(len(texts) > 0, f"Column {column!r} of {DATA} holds no text.")
        chosen = planted.generator(key, "texts").integers(len(texts), size=count)
        before = [" ".join(texts[k].split()[:length]) for k in chosen]
    tag = hashlib.sha256(key + b"tokens").hexdigest()[:8]
    new = [f"<canary-{tag}-{k}>" for k in range(count)]
    return [f"{first} {word}" for first, word in zip(before, new, strict=True)], new


def _place(model: Any, strategy: str) -> Path:
    require(
        isinstance(model, str | os.PathLike),
        f"{strategy} canaries need a model's tokens: give the folder of a language model.",
    )
    return Path(model)


def _random(place: Path, count: int, length: int, key: bytes) -> list[str]:
    """Texts of tokens drawn uniformly from those that spell whole characters."""
    from divulge.models import language
    from divulge.models.chunks import decode

    language.check_directory(place)
    tokenizer = language.load_tokenizer(place)
    require(tokenizer is not None, f"{place} holds no tokenizer.")
    size = len(tokenizer)
    special = set(tokenizer.all_special_ids)
    alone = decode(tokenizer, np.arange(size)[:, None])
    fit = [
        k
        for k, word in enumerate(alone)
        if k not in special and word.strip() and _SPELLED not in word
    ]
    require(len(fit) >= 2, f"The tokenizer of {place} spells too few tokens.")
    drawn = planted.generator(key, "tokens").choice(np.array(fit), (count, length))
    return decode(tokenizer, drawn)


def _sampled(place: Path, count: int, length: int, heat: float, key: bytes) -> list[str]:
    """What the model writes after a random token."""
    from divulge.generators.text import continuations
    from divulge.models import language
    from divulge.models.chunks import decode

    found = language.load(place)
    require(found.tokenizer is not None, f"{place} holds no tokenizer.")
    rng = planted.generator(key, "samples")
    first = rng.integers(found.vocabulary, size=(count, 1))
    new = continuations(
        found.network, first, rng, length=length, top_k=found.vocabulary, temperature=heat
    )
    return decode(found.tokenizer, new)


def _distinct(texts: list[str]) -> list[str]:
    if len(set(texts)) != len(texts):
        raise InputError(
            "Two canaries read alike: ask for more tokens, a higher temperature or fewer canaries."
        )
    return texts


def _among(frame: Frame | None, canaries: Any, column: str, key: bytes) -> Any:
    """The included canaries anywhere among the data's records."""
    added = canaries.select([column])
    if frame is None:
        return added
    own = frame.to_arrow().select(frame.columns)
    kind = own.schema.field(column).type
    require(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or "string" in str(kind),
        f"Column {column!r} of {DATA} must hold text. Found {kind}.",
    )
    added = added.cast(pa.schema([(column, kind)]))
    whole = pa.concat_tables([own, added], promote_options="default")
    place = planted.generator(key, "order").random(whole.num_rows) * len(frame)
    place[: len(frame)] = np.arange(len(frame))
    return whole.take(pa.array(np.argsort(place, kind="stable")))
