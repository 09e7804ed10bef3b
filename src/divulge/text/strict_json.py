"""JSON from a stranger: a plain file within limits, read without anything being guessed or lost.

Refused, with the place in the document: NaN and infinities, numbers beyond double precision, the
same key twice, text that is not Unicode, and nesting or size that no file of ours has.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge.errors import InputError

LARGEST = 64 << 20
"""Bytes of a file."""
DEEPEST = 32
"""Levels of nesting; our own files have fewer than ten."""


@dataclass(frozen=True)
class _Twice:
    """What stands under a key that occurs twice in one object."""


def load(path: str | os.PathLike[str], largest: int = LARGEST) -> Any:
    """The content of a JSON file; InputError says what is wrong with it, and where."""
    where = os.fspath(path)
    try:
        mode, size = _looked_at(Path(path))
        if not stat.S_ISREG(mode):
            raise InputError(f"{where} is not a plain file.")
        if size > largest:
            raise InputError(
                f"{where} has {size:,} bytes. A file of this kind has at most {largest:,}."
            )
        with Path(path).open("rb") as stream:
            content = stream.read(largest + 1)
        return loads(content.decode("utf-8"), where)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        said = getattr(error, "strerror", None) or error
        raise InputError(f"Cannot read {where}: {said}.") from error


def _looked_at(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mode, found.st_size


def loads(text: str, where: str) -> Any:
    """The value of a JSON text; ``where`` names it in an error."""
    try:
        data = json.loads(text, parse_constant=float, object_pairs_hook=_pairs)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is not JSON: {error}.") from error
    except RecursionError:
        raise InputError(f"{where} is nested more than {DEEPEST} levels deep.") from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"{where} holds a number that is too large: {error}.") from error
    check(data, where)
    return data


def check(data: Any, where: str) -> None:
    """InputError with the place of the first value that a plain JSON document cannot hold."""
    for place, value in walk(data, where):
        problem = _problem(value)
        if problem:
            raise InputError(f"{where}: {place or 'the document'} {problem}.")


def walk(data: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every value with its place, such as ``bounds[2].value``, without recursion."""
    waiting: list[tuple[str, Any, int]] = [("", data, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if depth > DEEPEST:
            raise InputError(f"{where} is nested more than {DEEPEST} levels deep.")
        yield place, value
        if isinstance(value, dict):
            for key, part in value.items():
                yield f"a key in {place or 'the document'}", key
                name = key if isinstance(key, str) and key.isidentifier() else f"[{key!r:.60}]"
                dot = "." if place and not name.startswith("[") else ""
                waiting.append((f"{place}{dot}{name}", part, depth + 1))
        elif isinstance(value, list | tuple):
            waiting += [(f"{place}[{i}]", part, depth + 1) for i, part in enumerate(value)]


def _problem(value: Any) -> str:
    if isinstance(value, _Twice):
        return "is given twice"
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return "holds half a character (a lone surrogate)"
        return ""
    if value is None or isinstance(value, bool | dict | list | tuple):
        return ""
    if isinstance(value, int):
        return "" if abs(value) < 1 << 63 else "is a whole number beyond 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"must be finite. Found {value!r}"
    return f"is not JSON. Found {type(value).__name__}"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found[key] = _Twice()
            seen.add(key)
    return found
