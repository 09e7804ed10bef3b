"""One small protocol for every model: a table of records in, what it says of each of them out.

A model that reads features gets exactly the columns it was trained on, one that reads text gets one
column of text, and a function of the user's gets whole rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.text.visible import one_line
from divulge.types import Array
from divulge.work.threads import sized

Reads = Literal["features", "text", "rows"]
Gives = Literal["probabilities", "losses", "tokens"]

SMALLEST = 1e-300
"""A probability of zero is read as this: its logarithm stays finite."""
_BLOCK = 2048
"""Rows written at once: as many as stay in a processor's cache."""
BATCH = 65_536
"""Records asked about at once where a model names no number of its own."""


class Failed(Exception):
    """Code that is not divulge's own raised an error, or wanted to exit, when it was asked."""


@dataclass(frozen=True)
class Answers:
    """What a model says of records, one row each; what it does not say is None."""

    log_probabilities: Array | None = field(default=None, repr=False)
    """One column per class."""
    losses: Array | None = field(default=None, repr=False)
    """One number per record, small where the model knows the record well."""
    tokens: Array | None = field(default=None, repr=False)
    """Log-probability of every token given those before it; NaN beyond the end of a short text."""
    means: Array | None = field(default=None, repr=False)
    """Mean log-probability of a token drawn from the model itself at each place of ``tokens``."""
    deviations: Array | None = field(default=None, repr=False)
    """Standard deviation to ``means``."""
    best: Array | None = field(default=None, repr=False)
    """Log-probability of the token that the model holds most likely at each place of ``tokens``."""

    def __len__(self) -> int:
        return next((len(v) for v in self._values().values()), 0)

    def _values(self) -> dict[str, Array]:
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v for k, v in named.items() if v is not None}

    @staticmethod
    def joined(parts: Sequence[Answers]) -> Answers:
        """Batches one below the other; the tokens of shorter ones are filled up with NaN."""
        names = parts[0]._values()
        columns: dict[str, Array] = {}
        for name in names:
            blocks = [p._values()[name] for p in parts]
            if blocks[0].ndim == 2:
                width = max(b.shape[1] for b in blocks)
                blocks = [
                    np.pad(b, ((0, 0), (0, width - b.shape[1])), constant_values=np.nan)
                    if b.shape[1] < width
                    else b
                    for b in blocks
                ]
            columns[name] = np.concatenate(blocks)
        return Answers(**columns)


@runtime_checkable
class Model(Protocol):
    """A model that can be asked; it never learns which records are members."""

    @property
    def name(self) -> str:
        """What a person calls it."""

    @property
    def reads(self) -> Reads:
        """What it is shown of a record."""

    @property
    def gives(self) -> Gives:
        """What it answers."""

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """What the columns of its probabilities stand for; None: 0, 1, 2, ..."""

    @property
    def batch(self) -> int:
        """Most records to ask about at once."""

    def ask(self, records: Frame) -> Answers:
        """What it says of every record, in their order."""


def shown(
    model: Model, frame: Frame, features: Sequence[str], text: str | None, where: str
) -> Frame:
    """The columns of a table that a model reads."""
    if model.reads == "rows":
        return frame
    if model.reads == "text":
        if text is None:
            raise InputError(f"{model.name} reads text: name the column that holds it.")
        tables.require_columns(frame, [text], where)
        return frame.select(text)
    require(len(features) > 0, "Name the feature columns that the model was trained on.")
    return frame.select(*tables.expand(frame, list(features), where))


def ask(
    model: Model, records: Frame, *, progress: Callable[[int, int], None] | None = None
) -> Answers:
    """Ask in batches; InputError if the model does not answer for every record."""
    parts: list[Answers] = []
    for some, answers in batches(model, records):
        parts.append(answers)
        if progress is not None:
            progress(some.stop, len(records))
    return parts[0] if len(parts) == 1 else Answers.joined(parts)


def batches(model: Model, records: Frame) -> Iterator[tuple[slice, Answers]]:
    """Which records were asked about, and the answers, for a caller that need not keep them all."""
    total, step = len(records), max(1, model.batch)
    require(total > 0, f"There are no records to query {model.name} with.")
    for start in range(0, total, step):
        some = slice(start, min(start + step, total))
        rows = some.stop - start
        try:
            with sized(rows):
                answers = model.ask(records[some] if step < total else records)
        except Failed as failed:
            raise InputError(
                f"{model.name} failed on rows {start} to {some.stop - 1}: {failed}"
            ) from failed.__cause__
        require(
            len(answers) == rows,
            f"{model.name} must answer once per record: {rows}. Found {len(answers)}.",
        )
        yield some, answers


def foreign(function: Callable[[Any], Any], given: Any) -> Any:
    """What a user's function returns; Failed, in one line, if it raises an error or exits."""
    try:
        return function(given)
    except (Exception, SystemExit) as error:
        said = one_line(str(error).strip().split("\n")[0])
        raise Failed(f"{type(error).__name__}{f': {said}' if said else ''}") from error


def logarithms(probabilities: Any, name: str) -> Array:
    """Checked log-probabilities of a table of probabilities, one row per record."""
    p = np.asarray(probabilities, dtype=float)
    if p.ndim == 1:
        p = np.column_stack([1.0 - p, p])
    require(p.ndim == 2 and p.shape[1] >= 2, f"{name} must give one probability per class.")
    low, high = p.min(initial=1.0), p.max(initial=0.0)
    total = p @ np.ones(p.shape[1])
    off_by = 1.0 - total.min(initial=1.0), total.max(initial=1.0) - 1.0  # NaN passes no comparison
    if not (low >= -1e-6 and high <= 1.0 + 1e-6 and off_by[0] <= 1e-3 and off_by[1] <= 1e-3):
        sound = np.isfinite(p) & (p >= -1e-6) & (p <= 1.0 + 1e-6)
        off = ~sound.all(axis=1) | (np.abs(p.sum(axis=1) - 1.0) > 1e-3)
        row = int(np.argmax(off))
        raise InputError(
            f"{name} must give probabilities that sum to 1. Found "
            f"{np.round(p[row][:6], 4).tolist()} for record {row} ({int(off.sum())} of {len(p)})."
        )
    if low < SMALLEST or high > 1.0:
        p = np.clip(p, SMALLEST, 1.0)
    return np.asarray(np.log(p))


def by_classes(values: Any) -> Array:
    """One row per record, laid out class by class where these are few: numpy is slow on short rows.

    From 8 numbers on it would add up in another order.
    """
    found = np.asarray(values, dtype=float)
    return np.asfortranarray(found) if found.ndim == 2 and found.shape[1] < 8 else found


def log_softmax(logits: Any) -> Array:
    """Log-probabilities from logits, in double precision."""
    z = by_classes(logits)
    z = z - z.max(axis=1, keepdims=True)
    return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))


def matrix(
    records: Frame,
    where: str = "the table",
    *,
    by: Literal["rows", "columns"] = "rows",
    dtype: Any = np.float64,
) -> npt.NDArray[Any]:
    """The columns as numbers, a row of them per record; lists of numbers are spread.

    In memory they stand by rows, for a forest is slow on columns, or by columns, which is a third
    of the work and as good for a model that only multiplies the matrix.
    """
    import pyarrow as pa

    schema = records.schema
    if any(isinstance(kind, nw.List | nw.Array) for kind in schema.values()):
        blocks = [
            tables.lists(records, name, where, finite=False)
            if isinstance(kind, nw.List | nw.Array)
            else tables.numbers(records, name, where, finite=False)
            for name, kind in schema.items()
        ]
        return np.column_stack(blocks).astype(dtype, copy=False)
    for name, kind in schema.items():
        tables.require_numbers(kind, name, where)
    native = records.to_native()
    found = native.columns if isinstance(native, pa.Table) else records.iter_columns()
    columns = [tables.filled(column) for column in found]
    out = np.empty((len(records), len(columns)), dtype, order="C" if by == "rows" else "F")
    step = _BLOCK if by == "rows" else max(1, len(out))
    for start in range(0, len(out), step):
        block = slice(start, start + step)
        for j, column in enumerate(columns):
            out[block, j] = column[block]
    return out


def codes(
    model: Model,
    answers: Answers,
    values: Sequence[Any] | nw.Series[Any],
    label: str,
    first: int = 0,
) -> npt.NDArray[np.intp]:
    """The column of ``log_probabilities`` that belongs to each label; ``first`` counts the rows."""
    assert answers.log_probabilities is not None
    width = answers.log_probabilities.shape[1]
    classes = list(range(width)) if model.classes is None else list(model.classes)
    require(
        len(classes) == width,
        f"{model.name} has {width} outputs, but {len(classes)} classes are named.",
    )
    if isinstance(values, nw.Series) and values.dtype.is_nested():
        raise InputError(f"Column {label!r} must hold one class per record. Found {values.dtype}.")
    index = {c: j for j, c in enumerate(classes)}
    by_word = {str(c): j for c, j in index.items()}
    distinct, which = tables.levels(values)
    found = [index.get(value, by_word.get(str(value), -1)) for value in distinct]
    out = np.asarray(np.array(found, dtype=np.intp)[which])
    if out.size and out.min() < 0:
        row = int(np.argmax(out < 0))
        raise InputError(
            f"Column {label!r} has a class that {model.name} does not know: "
            f"{distinct[which[row]]!r} in row {first + row}. "
            f"It knows {', '.join(map(repr, classes[:8]))}."
        )
    return out
