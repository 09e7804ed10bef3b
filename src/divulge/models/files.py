"""scikit-learn models from files: skops by default, pickle only where the user says so.

skops stores a model without pickle and names every type outside its own list of trusted ones;
such a type is loaded only if the user has named it. Before anything is built, the archive must be
whole and no array in it may claim to be larger than it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from divulge.data import budgets
from divulge.errors import InputError, require
from divulge.models import archives
from divulge.models.rehearsal import library

SCHEMA, SCHEMA_RATIO = 8 << 20, 20
"""Bytes that the description of a model may take: so many, or so many times its file."""
MENTIONS = 200_000
CIRCLE = 1 << 62
"""What an object counts for that contains itself."""
PICKLES = (".pkl", ".pickle", ".joblib")


def load_skops(place: Path, trust: Sequence[str] = ()) -> Any:
    """A fitted estimator; InputError that lists all types that nobody vouches for."""
    skops = library("skops.io", "models")
    files = archives.contents(place)
    try:
        left = archives.allowed(place) - sum(map(len, files.values()))
        for name, data in files.items():
            left -= _check_array(name, data, left)
        _check_schema(place, files.get("schema.json", b"{}"))
        whole = archives.packed(files).getvalue()
        unknown = [t for t in skops.get_untrusted_types(data=whole) if t not in trust]
        if unknown:
            listed = " ".join(f"--trust {t}" for t in unknown)
            raise InputError(
                f"{place} holds types that skops does not know to be safe: {', '.join(unknown)}. "
                f"If you know them, pass {listed}."
            )
        return skops.loads(whole, trusted=list(trust))
    except InputError:
        raise
    except Exception as error:  # a damaged archive can fail in many ways
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error


def load_pickle(place: Path, allow_pickle: bool = False) -> Any:
    """Whatever a pickle holds; InputError unless the user allows it to run code."""
    if not allow_pickle:
        raise InputError(
            f"{place} is a pickle, which can run any code on this machine when it is loaded. "
            "Save the model with skops, or pass --allow-pickle if you trust whoever made it."
        )
    import joblib

    try:
        return joblib.load(place)
    except Exception as error:  # anything can be raised by a pickle
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error


def _check_schema(place: Path, data: bytes) -> None:
    """InputError for a description that is far larger than its file, or grows when it is followed.

    skops follows every mention of an object anew, so that twenty lists of two mentions each of the
    one before it are a million.
    """
    most = budgets.raised(max(SCHEMA, SCHEMA_RATIO * place.stat().st_size))
    require(
        len(data) <= most,
        f"Cannot load {place}: its description takes {len(data):,} bytes; {most:,} are allowed. "
        f"{budgets.HINT}",
    )
    schema = json.loads(data)
    parts: list[Any] = [schema]
    named: dict[Any, list[dict[str, Any]]] = {}
    for part in parts:  # grows as it is walked
        if isinstance(part, dict) and _name(part) is not None:
            named.setdefault(_name(part), []).append(part)
        if isinstance(part, dict | list):
            parts.extend(part.values() if isinstance(part, dict) else part)
    known: dict[Any, int] = {}

    def followed(part: Any) -> int:
        """Parts that are looked at from here; an object is the most that is said under its name."""
        if not isinstance(part, dict | list):
            return 1
        name = _name(part) if isinstance(part, dict) else None
        if name is None:
            return 1 + sum(map(followed, part.values() if isinstance(part, dict) else part))
        if name not in known:
            known[name] = CIRCLE
            known[name] = 1 + max(sum(map(followed, own.values())) for own in named[name])
        return known[name]

    found = followed(schema)
    allowed = budgets.raised(max(MENTIONS, 20 * len(parts)))
    require(
        found <= allowed,
        f"Cannot load {place}: its objects refer to each other so often, or in a cycle, that "
        f"more than {allowed:,} would be visited. {budgets.HINT}",
    )


def _name(part: dict[str, Any]) -> int | str | None:
    """What an object of the description is mentioned by."""
    found = part.get("__id__")
    return found if isinstance(found, int | str) else None


def _check_array(name: str, data: bytes, most: int, *, inside: bool = False) -> int:
    """Bytes that were unpacked; ValueError if an array's header claims more than there is.

    Sparse arrays are archives, which hold no further ones.
    """
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        if inside:
            raise ValueError(f"{name} is an archive in an archive in an archive")
        files = archives.contents(io.BytesIO(data), name, most)
        for inner, content in files.items():
            _check_array(inner, content, 0, inside=True)
        return sum(map(len, files.values()))
    if data[:6] != b"\x93NUMPY":
        return 0
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"{name} holds an array in an unknown format")
    shape, _, kind = read(stream)
    if prod(shape) * kind.itemsize != len(data) - stream.tell():
        raise ValueError(f"{name} claims to be an array of another size than it is")
    return 0
