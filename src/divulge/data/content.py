"""What is a row, wherever it stands? One number per row from its values alone.

Equal rows have equal keys on every machine, in every order of rows or columns, and in every file
format: numbers count as doubles (whole or not, true and false as 1 and 0, one zero, missing as
NaN), text by its UTF-8 bytes, dates by their microseconds, lists element by element. Different rows
share a key of 64 bits about once in n^2 / 2^65, which costs nothing but the place of one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
_HASHED = 1 << 22
AT_ONCE = 1 << 16
"""Rows that are worked on at once: what is in between stays in the processor's cache."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NAN = np.float64("nan")


def keys(table: Any, columns: Collection[str], words: Mapping[str, str] | None = None) -> Keys:
    """One number per row of a data frame, an Arrow table or a batch of one, from these columns.

    A column counts by its name, or by its word in ``words`` if it has one there.
    """
    called = words or {}
    size = len(table) if hasattr(table, "__len__") else table.num_rows
    total = np.zeros(size, dtype=np.uint64)
    for name in set(columns):
        seed = word(called.get(name, name).encode())
        at = 0
        for piece in _pieces(table, name):
            total[at : at + len(piece)] += stirred(_codes(piece) + seed)
            at += len(piece)
    for at in range(0, size, AT_ONCE):
        total[at : at + AT_ONCE] = stirred(total[at : at + AT_ONCE])
    return total


def generator(seed: int | Sequence[int], *arrays: npt.ArrayLike) -> np.random.Generator:
    """The randomness of a seed for these data and no others.

    Rows are arranged by their content, truths included. With the same randomness for all data the
    same places would be guessed everywhere: errors would average out over seeds, but not over the
    data of those who all use the default. Numbers count in single precision, so that the last bits
    of a machine's arithmetic do not change the draw.
    """
    found = hashlib.sha256()
    for given in arrays:
        array = np.asarray(given)
        found.update(repr(array.shape).encode())
        flat = array.reshape(-1)
        for at in range(0, flat.size, _HASHED):
            part = flat[at : at + _HASHED]
            if part.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    part = part.astype(np.float32) + np.float32(0.0)  # one zero
            found.update(np.ascontiguousarray(part).tobytes())
    words = np.frombuffer(found.digest()[:16], dtype="<u4").tolist()
    return np.random.default_rng([*([seed] if isinstance(seed, int) else seed), *words])


def columns_by_content(table: Any, columns: Sequence[str]) -> list[str]:
    """The columns in an order that follows from their content, not from their names or places.

    A column's key is a sum over the rows of its value together with all values of the row, so it
    is the same in any order of the rows. Equal columns are interchangeable; their names decide.
    """
    size = len(table) if hasattr(table, "__len__") else table.num_rows
    total, single = np.zeros(size, dtype=np.uint64), {}
    for name in set(columns):
        single[name] = np.concatenate(
            [stirred(_codes(piece)) for piece in _pieces(table, name)] or [total]
        )
        total += single[name]
    found = {n: int(stirred(v + stirred(total)).sum(dtype=np.uint64)) for n, v in single.items()}
    return sorted(found, key=lambda name: (found[name], name))


def digest(table: Any, columns: Collection[str]) -> str:
    """One SHA-256 for a whole table, in any order of its rows and any format."""
    found = np.sort(keys(table, columns)).astype("<u8")
    return hashlib.sha256(found.tobytes()).hexdigest()


def mixed(keys: Keys, number: int) -> Keys:
    """Other numbers for the same rows, as if drawn anew for every ``number``."""
    return stirred(keys ^ word(str(number).encode()))


def word(content: bytes) -> np.uint64:
    """64 bits of some bytes."""
    return np.uint64(int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little"))


def stirred(x: Keys) -> Keys:
    """A one-to-one scrambling of 64 bits (the finaliser of SplitMix64, after a constant)."""
    x = np.asarray(x + _GOLDEN, dtype=np.uint64)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _pieces(table: Any, name: str) -> Iterator[Any]:
    """A column as Arrow arrays of at most AT_ONCE rows."""
    import pyarrow as pa

    column = table.column(name) if hasattr(table, "column") else _arrow(table[name])
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        for start in range(0, len(chunk), AT_ONCE):
            yield chunk.slice(start, AT_ONCE)


def _arrow(series: Any) -> Any:
    """A series as Arrow; one of objects of several kinds as their words."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError):
        return pa.array([None if v is None else str(v) for v in series.to_list()])


def _codes(array: Any) -> Keys:
    """Equal numbers for equal values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if _is_text(kind):
        array = pc.dictionary_encode(array)
    if pa.types.is_dictionary(array.type):
        found = array.dictionary
        levels = _words(found) if _is_text(found.type) else _codes(found)
        missing = np.array([_NAN])
        at = array.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
        return np.asarray(np.append(levels, missing.view(np.uint64))[at], dtype=np.uint64)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _codes_of_lists(array)
    if pa.types.is_temporal(kind):
        whole = array
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            whole = array.cast(pa.timestamp("us"), safe=False)
        array = whole.cast(pa.int64() if whole.type.bit_width == 64 else pa.int32())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        if not (pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            return _words(pa.array([None if v is None else repr(v) for v in array.to_pylist()]))
        array = array.cast(pa.float64())
    values = np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64) + 0.0  # one zero
    missing = np.isnan(values)
    if missing.any():
        values[missing] = _NAN  # and one NaN
    return values.view(np.uint64)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary,
             pa.types.is_large_binary, pa.types.is_fixed_size_binary)  # fmt: skip
    return any(test(kind) for test in tests) or str(kind) in ("string_view", "binary_view")


def _words(array: Any) -> Keys:
    """Codes of text one by one; missing has the code that it has among numbers."""
    found = (v.encode() if isinstance(v, str) else v for v in array.to_pylist())
    missing = np.array([_NAN]).view(np.uint64)[0]
    return np.array([missing if v is None else word(v) for v in found], dtype=np.uint64)


def _codes_of_lists(array: Any) -> Keys:
    """The elements with their places, and how many there are; missing is a list of no elements."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    lengths = lengths.astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    place = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(starts, lengths)
    inner = stirred(_codes(array.flatten()) ^ stirred(place.astype(np.uint64)))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(inner, dtype=np.uint64)])
    return np.asarray(sums[starts + lengths] - sums[starts] + lengths.astype(np.uint64))
