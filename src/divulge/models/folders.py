"""A stranger's Hugging Face folder, made anew of what is harmless in it.

transformers follows what a folder tells it: to code, to kernels that it fetches from a hub, to
files elsewhere, to a million layers. So it never sees the folder itself but a fresh one: weights in
safetensors, the tokenizer's tables, and configurations of which only this is kept: numbers and
truth values, plain words in fields that the model's own type declares, special tokens. Nothing
names a repository, a path or an implementation, and no number of layers exceeds that of tensors.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

from divulge.data import budgets
from divulge.errors import InputError, require

JSON = 32 << 20
"""Bytes of a file of JSON that is looked at."""
INDEX = "model.safetensors.index.json"
TABLES = (
    "tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model", "spiece.model",
    "sentencepiece.bpe.model", "added_tokens.json",
)  # fmt: skip
"""Files of a tokenizer that hold tables and nothing else."""
COMMON = frozenset(
    {
        "model_type", "architectures", "problem_type", "id2label", "label2id", "num_labels",
        "rope_scaling", "rope_parameters", "layer_types", "hidden_act", "transformers_version",
    }
)  # fmt: skip
"""Fields that may hold words in the configuration of any type."""
DROPPED = re.compile(r"_.*|.*(implementation|kernel|dtype|auto_map|remote_code|name_or_path)s?")
FREE = ("id2label", "label2id", "extra_special_tokens")
"""Names of anything: no more than text."""
WORD = re.compile(r"[\w.+\- ]{0,100}")
COUNTED = re.compile(r".*(layer|expert|block|group|stage|stack)s?")
COUNT = 1024
"""A number of layers up to which nothing is said, whatever the weights."""
TOKENIZER = frozenset(
    {
        "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
        "additional_special_tokens", "extra_special_tokens", "added_tokens_decoder", "errors",
        "padding_side", "truncation_side", "model_input_names", "backend", "never_split",
        "tokenizer_class", "sp_model_kwargs", "content", "__type",
    }
)  # fmt: skip
"""Fields that may hold words in the configuration of a tokenizer."""


def read_json(path: Path) -> dict[str, Any]:
    """An object from a file of JSON of bounded size."""
    budgets.require_file(path)
    most = budgets.raised(JSON)
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
        require(len(data) <= most, f"{path} is larger than {most:,} bytes. {budgets.HINT}")
        found = json.loads(data)
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"Cannot read {path}: {error}") from error
    require(isinstance(found, dict), f"{path} must hold a JSON object.")
    return dict(found)


def shards(place: Path) -> list[Path]:
    """The files of weights: those that the index names, or all in the folder."""
    if not (place / INDEX).exists():
        return sorted(place.glob("*.safetensors"))
    named: Any = read_json(place / INDEX).get("weight_map")
    require(isinstance(named, dict), f"{place / INDEX} holds no weight_map.")
    names = sorted({str(v) for v in named.values()})
    for name in names:
        require(
            name.endswith(".safetensors") and Path(name).name == name,
            f"{place / INDEX} names {name!r}, which is not a safetensors file beside it.",
        )
        require((place / name).exists(), f"{place} lacks {name}, which its index names.")
    return [place / name for name in names]


def stored(place: Path) -> tuple[int, int]:
    """How many tensors the weights hold, and how many numbers, by the heads of their files."""
    tensors, numbers = 0, 0
    for path in shards(place):
        budgets.require_file(path)
        size = path.stat().st_size
        try:
            with path.open("rb") as stream:
                length = int.from_bytes(stream.read(8), "little")
                require(8 + length <= min(size, 100_000_000), "its head is longer than it is.")
                head = json.loads(stream.read(length))
            shapes = [entry["shape"] for key, entry in head.items() if key != "__metadata__"]
            tensors += len(shapes)
            numbers += sum(prod(int(s) for s in shape) for shape in shapes)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(f"Cannot load {path}: {error}") from error
    return tensors, numbers


def configuration(place: Path) -> dict[str, Any]:
    """What is kept of ``config.json``; InputError for what cannot be left out."""
    path = place / "config.json"
    found = read_json(path)
    require(
        not found.get("quantization_config"),
        f"{path} names a quantization, which is not read here: save the model with plain weights.",
    )
    kind = found.get("model_type")
    declared = _declared(kind)
    if declared is None:
        raise InputError(
            f"Cannot load {place}: it is of the type {str(kind)[:60]!r}, which transformers does "
            "not support by itself, and code that comes with a model is not run."
        )
    kept = _kept(found, declared | COMMON, f"{path}: ", declared)
    tensors, _ = stored(place)
    _check_counts(kept, max(budgets.raised(COUNT), tensors), path)
    return kept


def tokenizer(place: Path) -> dict[str, Any] | None:
    """What is kept of ``tokenizer_config.json``, or None where there is none."""
    path = place / "tokenizer_config.json"
    if not path.exists():
        return None
    kept = _kept(read_json(path), TOKENIZER, f"{path}: ", None)
    require(
        WORD.fullmatch(str(kept.get("tokenizer_class", ""))) is not None,
        f"{path}: the tokenizer_class is not the name of a class.",
    )
    return kept


@contextmanager
def fresh(place: Path) -> Iterator[Path]:
    """A folder that holds what is harmless in another one, as long as it is needed."""
    budgets.require_folder(place)
    with tempfile.TemporaryDirectory(prefix="divulge-") as made:
        folder = Path(made)
        written = {"config.json": configuration(place), "tokenizer_config.json": tokenizer(place)}
        special = place / "special_tokens_map.json"
        if special.exists():
            written[special.name] = _kept(read_json(special), TOKENIZER, f"{special}: ", None)
        for name, content in written.items():
            if content is not None:
                (folder / name).write_text(json.dumps(content))
        weights = shards(place)
        index = [place / INDEX] if (place / INDEX).exists() else []
        for path in [*weights, *index, *(place / n for n in TABLES if (place / n).exists())]:
            _linked(path, folder / path.name)
        yield folder


def _linked(path: Path, target: Path) -> None:
    try:
        os.symlink(path.resolve(), target)
    except OSError:  # where links are not allowed
        shutil.copyfile(path, target)


def _declared(kind: Any) -> frozenset[str] | None:
    """The fields that a type of model declares, also those of its parts; None if it is unknown."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    if not isinstance(kind, str) or kind not in CONFIG_MAPPING_NAMES:
        return None
    fields: set[str] = set()
    classes = [CONFIG_MAPPING[kind]]
    for one in classes:  # grows by the parts
        if dataclasses.is_dataclass(one):
            fields |= {f.name for f in dataclasses.fields(one)}
        fields |= {p for p in inspect.signature(one.__init__).parameters if p != "self"}
        fields |= set(getattr(one, "attribute_map", {}))
        parts = getattr(one, "sub_configs", None)
        for name, part in parts.items() if isinstance(parts, dict) else ():
            fields.add(name)
            if inspect.isclass(part) and part not in classes:
                classes.append(part)
    return frozenset(fields)


def _kept(
    found: dict[str, Any], words: frozenset[str], where: str, declared: Any
) -> dict[str, Any]:
    """The fields of a configuration that are harmless, at every depth."""
    kept: dict[str, Any] = {}
    for key, value in found.items():
        sizes = key in words and _plain(value)  # such as those of a convolution's kernel
        if DROPPED.fullmatch(key) and not sizes and key != "__type":
            continue
        if key in FREE and isinstance(value, dict):
            kept[key] = {str(k): v for k, v in value.items() if isinstance(v, str | int)}
        elif isinstance(value, dict):
            inner = words | (value.keys() if key.startswith("rope") else set())
            if key in words or key.isdecimal():
                kept[key] = _kept(value, frozenset(inner), where, declared)
        elif _plain(value):
            kept[key] = value
        elif key in words:
            _check_words(value, where + key, free=declared is None)
            kept[key] = value
    return kept


def _plain(value: Any) -> bool:
    """Whether a value is a number, a truth value, or nothing; or a list of such."""
    if isinstance(value, list):
        return all(_plain(v) for v in value)
    return value is None or isinstance(value, bool | int | float)


def _check_words(value: Any, where: str, *, free: bool) -> None:
    """InputError unless all words are plain ones; ``free`` for special tokens, which are text."""
    for word in value if isinstance(value, list) else [value]:
        if isinstance(word, dict) and free:
            continue
        sound = isinstance(word, str) and (free or WORD.fullmatch(word))
        require(
            bool(sound) or _plain(word),
            f"{where} holds {str(word)[:60]!r}, which is not a plain word. Nothing is fetched or "
            "looked up by the name that a model gives.",
        )


def _check_counts(found: dict[str, Any], most: int, path: Path) -> None:
    """InputError for more layers than there are tensors to fill them."""
    for key, value in found.items():
        if isinstance(value, dict) and key not in FREE:
            _check_counts(value, most, path)
        count = len(value) if isinstance(value, list) else value
        if COUNTED.fullmatch(key) and isinstance(count, int):
            require(
                count <= most,
                f"{path} claims {key} of {count:,}, but its weights hold no more than {most:,} "
                f"tensors. {budgets.HINT}",
            )
