"""How is a table read? Files and data frames of any kind, through narwhals, with clear errors."""

from __future__ import annotations

import difflib
import fnmatch
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import stored, views
from divulge.data.stored import file_sha256
from divulge.errors import InputError
from divulge.types import Array, Floats

__all__ = ["Array", "Frame", "concat", "expand", "file_sha256", "fingerprint", "numbers", "read",
           "require_columns", "stack", "truths"]  # fmt: skip

Truths = npt.NDArray[np.int8]
Frame = nw.DataFrame[Any]
MANY = 1 << 25
"""Rows from which on scores are held in single precision."""
_SINGLE = 1e38
LARGEST = {np.dtype(np.float64): 1e100, np.dtype(np.float32): 1e18}
"""Numbers beyond this are refused: squares and sums of them would overflow."""
_FEW = 1024
"""Whole numbers this close together are taken as levels without looking which of them occur."""


class Columns(Protocol):
    """A table in memory or on disk, of which only the names of the columns matter."""

    @property
    def columns(self) -> list[str]:
        """The names."""


def read(source: Any) -> Frame:
    """A table from Parquet or CSV, a data frame of any library, or a mapping of columns."""
    if stored.on_disk(source):
        found = stored.open_source(source)
        return nw.from_native(found.table(found.columns), eager_only=True)
    if isinstance(source, views.TableView):
        return views.seen(read(source.source), source)
    if isinstance(source, nw.DataFrame):
        return source
    import pyarrow as pa

    if isinstance(source, Mapping):
        columns = {str(k): _arrow_column(str(k), v) for k, v in source.items()}
        try:
            return nw.from_native(pa.table(columns), eager_only=True)
        except pa.ArrowInvalid as error:
            raise InputError(f"The columns do not form a table: {error}.") from error
    if isinstance(source, np.ndarray) and source.ndim == 2:
        return read({f"x_{j}": source[:, j] for j in range(source.shape[1])})
    try:
        return nw.from_native(source, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"The table has two columns of one name: {error}.") from error
    except TypeError:
        raise InputError(
            f"Cannot read a table from {type(source).__name__}. Give a Parquet or CSV path, a "
            "pandas, polars or pyarrow table, a mapping of columns, or a 2-d array."
        ) from None


def _arrow_column(name: str, values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.fromiter(values, dtype=object)
    if array.ndim not in (1, 2):
        raise InputError(f"Column {name!r} must have one or two dimensions. Found {array.ndim}.")
    try:
        if array.ndim == 2:
            return pa.array(list(array))
        return pa.array(values if array.dtype == object else array)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise InputError(f"Column {name!r} cannot be read as one type: {error}.") from error


def require_columns(frame: Columns, names: Iterable[str], where: str) -> None:
    """InputError that names a missing column and the nearest that exists."""
    for name in names:
        if name in frame.columns:
            continue
        near = difflib.get_close_matches(name, frame.columns, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(repr(c) for c in frame.columns[:12])
        more = ", ..." if len(frame.columns) > 12 else ""
        raise InputError(f"{where} has no column {name!r}.{hint} It has: {shown}{more}.")


def expand(frame: Columns, patterns: Sequence[str], where: str) -> list[str]:
    """Column names from names and patterns such as ``x_*``, in the table's order per pattern."""
    found: list[str] = []
    for pattern in patterns:
        if pattern in frame.columns:
            found.append(pattern)
        elif any(c in pattern for c in "*?[") and not views.is_element(pattern):
            matches = fnmatch.filter(frame.columns, pattern)
            if not matches:
                raise InputError(f"No column of {where} matches the pattern {pattern!r}.")
            found.extend(matches)
        else:
            require_columns(frame, [pattern], where)
    return list(dict.fromkeys(found))


def stack(members: Frame, nonmembers: Frame) -> tuple[Frame, Array]:
    """Members above non-members, on the columns they share, and the truths."""
    shared = [c for c in members.columns if c in nonmembers.columns]
    if not shared:
        raise InputError("The members and the non-members have no column in common.")
    rows = (len(members), len(nonmembers))
    columns: dict[str, Any] = {}
    for name in shared:
        first, second = members[name].to_arrow(), nonmembers[name].to_arrow()
        columns[name] = _joined(first, second, name)
    truth = np.concatenate([np.ones(rows[0]), -np.ones(rows[1])])
    import pyarrow as pa

    return nw.from_native(pa.table(columns), eager_only=True), truth


def concat(frames: Sequence[Frame]) -> Frame:
    """Tables with the same columns, one below the other; the column order is the first one's."""
    import pyarrow as pa

    columns = {}
    for name in frames[0].columns:
        parts = [f[name].to_arrow() for f in frames]
        columns[name] = reduce(partial(_joined, name=name), parts)
    return nw.from_native(pa.table(columns), eager_only=True)


def _joined(first: Any, second: Any, name: str) -> Any:
    import pyarrow as pa

    if first.type != second.type:
        numeric = [
            pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_null(t)
            for t in (first.type, second.type)
        ]
        if not all(numeric):
            raise InputError(
                f"Column {name!r} is {first.type} among the members and {second.type} among the "
                "other records."
            )
        first, second = (a.cast(pa.float64(), safe=False) for a in (first, second))
    chunks = [c for a in (first, second) for c in (a.chunks if hasattr(a, "chunks") else [a])]
    return pa.chunked_array(chunks, type=first.type)


def numbers(frame: Frame, name: str, where: str, *, finite: bool = True) -> Array:
    """A column as floats; InputError with the first bad row unless every value is finite."""
    column = frame[name]
    require_numbers(column.dtype, name, where)
    values = np.empty(len(column))
    fill(values, column)
    if finite:
        _require_finite(values, name, where)
    return values


def compact_numbers(frame: Frame, name: str, where: str) -> Floats:
    """The same, finite, in single precision where the column is no finer, or has ``MANY`` rows.

    A score may be rounded: any function of it is a score.
    """
    column = frame[name]
    require_numbers(column.dtype, name, where)
    coarse = column.dtype in (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16)
    if not coarse and len(column) >= MANY:
        coarse = bool(abs(column.min()) < _SINGLE and abs(column.max()) < _SINGLE)
    values: Floats = np.empty(len(column), dtype=np.float32 if coarse else np.float64)
    fill(values, column)
    _require_finite(values, name, where)
    return values


def filled(column: Any) -> Array:
    """A column of numbers as an array, without a copy where it is one already; missing is NaN."""
    import pyarrow as pa

    native = column.to_native() if isinstance(column, nw.Series) else column
    if isinstance(native, pa.ChunkedArray) and native.num_chunks == 1:
        chunk = native.chunk(0)
        if pa.types.is_float64(chunk.type) and not chunk.null_count:
            return np.asarray(chunk.to_numpy(), dtype=float)
    values = np.empty(len(column))
    fill(values, column)
    return values


def fill(values: Floats, column: Any) -> None:
    """Write a column of numbers into an array, without another copy of it; missing is NaN.

    The column is a narwhals Series, or the ChunkedArray that stands behind one.
    """
    import pyarrow as pa

    native = column.to_native() if isinstance(column, nw.Series) else column
    if not isinstance(native, pa.ChunkedArray):
        values[:] = column.cast(nw.Float64).to_numpy()
        return
    at = 0
    for chunk in native.chunks:
        plain = pa.types.is_floating(chunk.type) or pa.types.is_integer(chunk.type)
        some = chunk if plain else chunk.cast(pa.float64(), safe=False)
        values[at : at + len(chunk)] = some.to_numpy(zero_copy_only=False)
        at += len(chunk)


def require_numbers(kind: Any, name: str, where: str) -> None:
    """InputError unless a column of this type holds numbers."""
    if kind == nw.Unknown:
        raise InputError(f"Column {name!r} of {where} must hold numbers. It has no value at all.")
    if not (kind.is_numeric() or kind == nw.Boolean):
        raise InputError(f"Column {name!r} of {where} must hold numbers. Found {kind}.")


def _require_finite(values: Floats, name: str, where: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"Column {name!r} of {where} must be finite. Found {values[row]} in row {row} "
            f"({int(bad.sum())} of {values.size} rows). Remove or repair these rows."
        )
    require_moderate(values, name, where)


def require_moderate(values: Floats, name: str, where: str) -> None:
    """InputError where a number is so large that its square would overflow; NaN passes."""
    largest = LARGEST[values.dtype]
    if values.size and (np.nanmax(values) > largest or np.nanmin(values) < -largest):
        rows = values.reshape(len(values), -1)
        row = int(np.argmax((np.abs(rows) > largest).any(axis=1)))
        raise InputError(
            f"Column {name!r} of {where} has a number beyond {largest:g} in row {row}. Rescale the "
            "column, or repair the row."
        )


def lists(frame: Frame, name: str, where: str, *, finite: bool = True) -> Array:
    """A column of equally long lists of numbers, nested or not, as one row of floats each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = frame[name].to_arrow()
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    width = 1
    while pa.types.is_nested(flat.type) and not pa.types.is_struct(flat.type):
        each = pc.list_value_length(flat)
        lengths = pc.unique(each).to_pylist()
        if len(lengths) != 1 or not lengths[0]:
            odd = next((k for k, n in enumerate(each.to_pylist()) if n != lengths[0]), 0)
            row = odd * len(frame) // len(flat)
            raise InputError(
                f"Every row of {name!r} of {where} must hold a list of the same length. Found "
                f"lengths {', '.join(map(str, lengths[:4]))}; see row {row}."
            )
        width *= int(lengths[0])
        flat = flat.flatten()
    try:
        values = np.asarray(
            flat.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"The lists in {name!r} of {where} must hold numbers. Found {flat.type}."
        ) from None
    matrix = values.reshape(len(frame), width)
    bad = ~np.isfinite(matrix).all(axis=1)
    if finite and bad.any():
        raise InputError(
            f"Column {name!r} of {where} must be finite. It is not in row {int(np.argmax(bad))} "
            f"({int(bad.sum())} of {len(bad)} rows). Remove or repair these rows."
        )
    if finite:
        require_moderate(matrix, name, where)
    return matrix


_TRUE = {"1", "1.0", "true", "t", "yes", "y", "member", "in", "train", "training", "+1"}
_FALSE = {
    "0", "0.0", "-1", "-1.0", "false", "f", "no", "n", "nonmember", "non-member", "non_member",
    "out", "test", "holdout",
}  # fmt: skip


NAMES_OF_TRUTHS = (
    "member", "is_member", "members", "membership", "in_training", "in_train", "training"
)  # fmt: skip
"""What a column that says who is a member may be called."""


def truths(frame: Frame, name: str, where: str) -> Truths:
    """A two-valued column as +1 (member) and -1: booleans, 1/0, +1/-1, or train/test and alike."""
    column = frame[name]
    if column.dtype.is_nested():
        raise InputError(f"Column {name!r} of {where} must have two values. Found {column.dtype}.")
    missing = int(column.null_count())
    if missing:
        raise InputError(f"Column {name!r} of {where} has {missing} missing values.")
    values, codes = levels(column)
    words = [str(v).strip().lower() for v in values]
    kinds = sorted(set(words))
    if len(kinds) > 2:  # a category may name levels that no row has
        kinds = sorted({words[k] for k in np.flatnonzero(np.bincount(codes))})
    if len(kinds) > 2 or any(k not in _TRUE and k not in _FALSE for k in kinds):
        shown = ", ".join(repr(k) for k in kinds[:5]) + (", ..." if len(kinds) > 5 else "")
        raise InputError(
            f"Column {name!r} of {where} must have two values, such as 1/0, true/false, "
            f"member/nonmember or train/test. Found {len(kinds)}: {shown}."
        )
    signs = np.array([1 if w in _TRUE else -1 for w in words], dtype=np.int8)
    return np.asarray(signs[codes])


def levels(
    column: nw.Series[Any] | Sequence[Any],
) -> tuple[list[Any], npt.NDArray[np.integer[Any]]]:
    """The values of a column, perhaps with some that no row has, and which of them each row has."""
    import pyarrow as pa

    if not isinstance(column, nw.Series):
        place: dict[Any, int] = {}
        codes = [place.setdefault(v, len(place)) for v in column]
        return list(place), np.array(codes, dtype=np.intp)
    try:
        values = column.to_arrow()
    except (pa.ArrowException, TypeError):  # a column of objects of several kinds
        return levels(column.to_list())
    chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    if pa.types.is_integer(chunked.type) and len(chunked) and not chunked.null_count:
        whole = chunked.to_numpy()
        low, high = whole.min(), whole.max()
        if int(high) - int(low) < _FEW:  # by subtraction, which is cheaper than by a dictionary
            steps = np.subtract(whole, low, dtype=np.intp, casting="unsafe")
            return list(range(int(low), int(high) + 1)), steps
    if pa.types.is_dictionary(chunked.type) and chunked.null_count:
        chunked = chunked.cast(chunked.type.value_type)
    if not pa.types.is_dictionary(chunked.type):
        chunked = chunked.dictionary_encode(null_encoding="encode")
    chunks = chunked.unify_dictionaries().chunks
    if not chunks:
        return [], np.zeros(0, dtype=np.intp)
    used = chunks[0].dictionary.to_pylist()
    return used, np.concatenate([c.indices.to_numpy() for c in chunks])


def fingerprint(source: Any, frame: Frame | None, name: str) -> dict[str, str]:
    """Name and SHA-256: of the bytes of a file or folder, or of the values of a table in memory."""
    if isinstance(source, views.TableView):
        own = None if stored.on_disk(source) else read(source.source)
        return fingerprint(source.source, own, name)
    if isinstance(source, str | os.PathLike):
        return {"name": Path(source).name, "sha256": stored.fingerprint(Path(source))}
    import pyarrow as pa

    assert frame is not None
    digest = hashlib.sha256()
    table = frame.to_arrow().combine_chunks()
    with pa.ipc.new_stream(_Sink(digest.update), table.schema.remove_metadata()) as stream:
        stream.write_table(table.replace_schema_metadata(None))
    return {"name": name, "sha256": digest.hexdigest()}


class _Sink(io.RawIOBase):
    """A file that only feeds what is written to it into a digest."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self._feed = feed

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._feed(bytes(data))
        return len(data)
