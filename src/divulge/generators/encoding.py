"""A table as a generator sees it: every column a number or a category, and the way back.

What is generated must look like the data in everything that needs no model: types, decimals,
missing values, values that occur often, levels that occur rarely. A classifier that recognises
generated records by their rounding would measure nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame, filled
from divulge.errors import InputError, require
from divulge.types import Array, Index

LEVELS = 100
"""A column of words with more levels than this must repeat each ten times on average."""
REPEATS = 10
DECIMALS = 9
SPIKE = 0.01
"""A number that fills this share of a column is a point mass and is never smeared."""


@dataclass(frozen=True)
class Column:
    """One column: its values as Arrow, and as codes of its distinct values (-1: missing)."""

    name: str
    kind: Literal["number", "category"]
    values: Any = field(repr=False)
    codes: Index = field(repr=False)
    numbers: Array = field(repr=False)
    """The distinct values of a number in ascending order; empty for a category."""
    counts: Index = field(repr=False)
    """How often each distinct value occurs."""
    step: float
    """The grid on which every number lies; 0 where there is none."""

    def __len__(self) -> int:
        return int(self.codes.size)

    @property
    def levels(self) -> int:
        """The number of distinct values."""
        return int(self.counts.size)

    @property
    def states(self) -> Index:
        """Codes with the missing value as one more level."""
        return np.where(self.codes < 0, self.levels, self.codes)

    @property
    def spikes(self) -> npt.NDArray[np.bool_]:
        """Which distinct values are point masses."""
        return np.asarray(self.counts >= max(2.0, SPIKE * len(self)))

    def floats(self) -> Array:
        """The numbers of every record, NaN where missing."""
        out = np.full(len(self), np.nan)
        out[self.codes >= 0] = self.numbers[self.codes[self.codes >= 0]]
        return out


def columns_of(records: Frame, where: str = "the records") -> list[Column]:
    """Every column of a table; InputError names one that no generator of tables can learn."""
    require(len(records) > 0, f"{where.capitalize()} have no rows.")
    require(len(records.columns) > 0, f"{where.capitalize()} have no columns.")
    table = as_arrow(records, where)
    return [_column(table, name, where) for name in table.columns]


def as_arrow(records: Frame, where: str = "the records") -> Frame:
    """The table in Arrow, whatever library it came from: its types are what is kept."""
    import pyarrow as pa

    try:
        table = records.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"{where.capitalize()} cannot be read as a table: {error}.") from error
    kept = table.select(records.columns).replace_schema_metadata(None)
    return nw.from_native(kept.combine_chunks(), eager_only=True)


def _column(records: Frame, name: str, where: str) -> Column:
    import pyarrow as pa

    series = records[name]
    kind, values = series.dtype, series.to_arrow()
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if kind.is_numeric() and not pa.types.is_decimal(values.type):
        return _number(name, values, filled(series), where)
    if isinstance(kind, nw.Datetime | nw.Date):
        return _number(name, values, _stamps(values), where)
    if kind == nw.Boolean or isinstance(kind, nw.String | nw.Categorical | nw.Enum | nw.Unknown):
        return _category(name, values, where)
    raise InputError(
        f"Column {name!r} of {where} holds {kind}, which no generator of tables can learn. "
        "Turn it into numbers or categories, or leave it out."
    )


def _stamps(values: Any) -> Array:
    """Dates as days, times as the units they are kept in."""
    import pyarrow as pa

    width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    missing = np.asarray(values.is_null())
    ticks = np.asarray(values.cast(width).fill_null(0), dtype=float)
    return np.where(missing, np.nan, ticks)


def _number(name: str, values: Any, floats: Array, where: str) -> Column:
    endless = np.isinf(floats)
    if endless.any():
        raise InputError(
            f"Column {name!r} of {where} is infinite in row {int(np.argmax(endless))}. Remove or "
            "repair these rows."
        )
    present = ~np.isnan(floats)
    numbers, inverse, counts = np.unique(floats[present], return_inverse=True, return_counts=True)
    codes = np.full(floats.size, -1, dtype=np.intp)
    codes[present] = inverse
    return Column(name, "number", values, codes, numbers, counts, grid(numbers))


def _category(name: str, values: Any, where: str) -> Column:
    import pyarrow as pa

    words = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_null(words.type):
        codes, size = np.full(len(words), -1, dtype=np.intp), 0
    else:
        encoded = words.dictionary_encode()
        codes = np.asarray(encoded.indices.fill_null(-1), dtype=np.intp)
        size = len(encoded.dictionary)
    present = int((codes >= 0).sum())
    if size > LEVELS and size * REPEATS > present:
        raise InputError(
            f"Column {name!r} of {where} holds text: {size:,} different values in {present:,} "
            "rows. A generator of tables would only copy it. Leave it out, group its values, or "
            "use a generator of text."
        )
    counts = np.bincount(codes[codes >= 0], minlength=size)
    return Column(name, "category", values, codes, np.zeros(0), counts, 0.0)


def grid(numbers: Array) -> float:
    """The largest step of which all numbers are multiples up to a shift: 1, 0.01, 500; else 0.

    ``numbers`` ascend. Up to nine decimals are looked for, as far as the precision of the numbers
    lets them be seen: 0.1 in single precision counts as one decimal.
    """
    if numbers.size < 2:
        return 0.0
    largest = float(np.abs(numbers).max())
    blur = largest * (2.0**-24 if _single(numbers) else 2.0**-52)
    for decimals in range(DECIMALS + 1):
        unit = 10.0**-decimals
        if blur > unit / 100.0:
            return 0.0
        whole = np.rint(numbers / unit)
        if bool(np.all(np.abs(numbers - whole * unit) <= 2.0 * blur)):
            return float(np.gcd.reduce(np.diff(whole).astype(np.int64))) * unit
    return 0.0


def _single(numbers: Array) -> bool:
    """Whether all numbers were kept in single precision."""
    with np.errstate(over="ignore"):
        return bool(np.all(numbers == numbers.astype(np.float32)))


def smear(column: Column, codes: Index, rng: np.random.Generator) -> Array:
    """Numbers for codes: a value seen once becomes one between its neighbours, others stay.

    A value that occurs once is what could point at a person; one that occurs twice is a habit of
    the data (a rounded income, a legal age) that a classifier would miss. The new value lies on
    the data's grid, between the midpoints to the neighbours and within the data's range.
    """
    known = codes >= 0
    out = np.full(codes.size, np.nan)
    numbers = column.numbers
    out[known] = numbers[codes[known]]
    if numbers.size < 3:
        return out
    middle = (numbers[1:] + numbers[:-1]) / 2.0
    low, high = np.append(numbers[0], middle), np.append(middle, numbers[-1])
    once = np.zeros(codes.size, dtype=bool)
    once[known] = column.counts[codes[known]] == 1
    at = codes[once]
    out[once] = snap(column, rng.uniform(low[at], high[at]))
    return out


def snap(column: Column, values: Array) -> Array:
    """Numbers moved onto the grid of the column and into its range; NaN stays."""
    numbers = column.numbers
    if numbers.size == 0:
        return values
    low, high = numbers[0], numbers[-1]
    out = np.clip(values, low, high)
    if column.step > 0.0:
        decimals = max(0, math.ceil(-math.log10(column.step) - 1e-9))
        on_grid = np.round(low + np.rint((out - low) / column.step) * column.step, decimals)
        out = np.clip(on_grid, low, high)
    if _single(numbers):
        out = out.astype(np.float32).astype(float)
    return np.asarray(out, dtype=float)


def rebuild(column: Column, donors: Index, values: Array | None = None) -> Any:
    """An Arrow array of the column's own type: values of donors, or numbers where they differ.

    ``donors`` are rows of the records, one for every new record: its value carries over type,
    missing value and level. ``values`` replace the numbers of donors that have one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    taken = column.values.take(pa.array(donors))
    if values is None or column.kind != "number":
        return taken
    current = column.floats()[donors]
    changed = ~np.isnan(current) & ~np.isnan(values) & (values != current)
    if not changed.any():
        return taken
    kind = column.values.type
    fresh = np.where(changed, values, 0.0)
    if pa.types.is_floating(kind):
        new = pa.array(fresh).cast(kind, safe=False)
    else:
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        whole = pa.array(np.rint(fresh).astype(np.int64))
        new = whole.cast(kind if pa.types.is_integer(kind) else width).cast(kind)
    return pc.if_else(pa.array(changed), new, taken)


def first_rows(column: Column) -> Index:
    """One row of the records for every distinct value, and a last one for missing (-1: none)."""
    rows = np.full(column.levels + 1, -1, dtype=np.intp)
    states = column.states[::-1]
    rows[states] = np.arange(len(column) - 1, -1, -1)
    return rows


def table_of(records: Frame, arrays: dict[str, Any]) -> Frame:
    """A table from Arrow arrays, in the order of the records' columns."""
    import pyarrow as pa

    return nw.from_native(pa.table({n: arrays[n] for n in records.columns}), eager_only=True)
