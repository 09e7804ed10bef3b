"""What shadow models said, written down: the table that ``divulge shadows`` writes.

One row per record, which is named by its content (``data/content.py``), so that the records to be
scored may come in any order, in several files, or be some of them. Each shadow model is then asked
through its row, like any other model, and the same row says whether it trained on the record.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.attacks.base import Mask
from divulge.data import content, tables
from divulge.data.content import Keys
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models.base import Answers, Gives, Reads
from divulge.types import Index
from divulge.work.pieces import digest

ABOUT = b"divulge"
RECORD, INSIDE = "record", "inside"
KINDS = ("log_probabilities", "losses", "tokens", "best")
"""What is written down of an answer."""


@dataclass(frozen=True)
class ShadowAnswers:
    """A shadow model that was asked already; it knows the records by their content."""

    name: str
    columns: tuple[str, ...]
    keys: Keys = field(repr=False)
    """In ascending order."""
    answers: Answers = field(repr=False)
    classes: tuple[Any, ...] | None
    gives: Gives
    cache_key: str
    reads: Reads = "rows"
    batch: int = 1 << 62

    def ask(self, records: Frame) -> Answers:
        """What it said of these records."""
        at = places(self.keys, records, self.columns)
        said = {f.name: getattr(self.answers, f.name) for f in fields(Answers)}
        return Answers(**{k: v[at] for k, v in said.items() if v is not None})


@dataclass(frozen=True)
class KeptShadows:
    """All shadow models of a table, and who was in their training sets."""

    models: tuple[ShadowAnswers, ...]
    inside: Mask = field(repr=False)

    @property
    def marks(self) -> tuple[str, ...]:
        """Names of the columns that say which records each model trained on."""
        return tuple(f"in the training set of {model.name}" for model in self.models)

    def marked(self, frame: Frame) -> Frame:
        """The records, and for every model whether it trained on them."""
        first = self.models[0]
        inside = self.inside[places(first.keys, frame, first.columns)]
        table = frame.to_arrow()
        for k, name in enumerate(self.marks):
            table = table.append_column(name, [inside[:, k]])
        return tables.read(table)


def places(keys: Keys, records: Frame, columns: Sequence[str]) -> Index:
    """Where each record stands among the ascending keys; InputError for one that does not."""
    tables.require_columns(records, columns, "The table to score")
    wanted = content.keys(records, columns)
    at = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    strange = keys[at] != wanted
    require(
        not strange.any(),
        f"The shadow models were not asked about {int(strange.sum())} of {wanted.size} records: "
        "train them on the same records (divulge shadows), the population given as such.",
    )
    return np.asarray(at, dtype=np.intp)


def table_of(
    keys: Keys,
    inside: Mask,
    answers: Sequence[Answers],
    columns: Sequence[str],
    classes: Sequence[Any] | None,
    about: Mapping[str, Any],
) -> Any:
    """The Arrow table, with what is known of it in its schema."""
    import pyarrow as pa

    found = {
        RECORD: pa.array(keys),
        INSIDE: pa.FixedSizeListArray.from_arrays(pa.array(inside.ravel()), inside.shape[1]),
    }
    for k, said in enumerate(answers):
        for kind in KINDS:
            values = getattr(said, kind)
            if values is not None:
                found[f"{kind} {k}"] = _column(values)
    described = {
        **about,
        "columns": list(columns),
        "classes": None if classes is None else list(classes),
    }
    return pa.table(found).replace_schema_metadata({ABOUT: json.dumps(described)})


def _column(values: npt.NDArray[Any]) -> Any:
    """One number per row, or a list of them; numbers beyond the end of a text are left out."""
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values)
    there = ~np.isnan(values)
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), pa.array(values[there]))


def read_kept(source: Any) -> KeptShadows:
    """The shadow models of a table that ``divulge shadows`` wrote, or returned."""
    frame = tables.read(source)
    where = os.fspath(source) if isinstance(source, str | os.PathLike) else "the shadow models"
    table = frame.to_arrow()
    described = _described(source, table, where)
    tables.require_columns(frame, [RECORD, INSIDE], where)
    keys = table.column(RECORD).to_numpy().astype(np.uint64)
    flat = np.concatenate(
        [c.flatten().to_numpy(zero_copy_only=False) for c in table.column(INSIDE).chunks]
    )
    columns, classes, count = (described[name] for name in ("columns", "classes", "shadows"))
    require(
        flat.size == keys.size * count and bool((keys[1:] > keys[:-1]).all()),
        f"{where} is damaged: its records are not in order.",
    )
    inside = flat.reshape(-1, count).astype(bool)
    models = []
    for k in range(inside.shape[1]):
        said = {
            kind: _values(table.column(f"{kind} {k}"))
            for kind in KINDS
            if f"{kind} {k}" in table.column_names
        }
        require(len(said) > 0, f"{where} holds no answers of shadow model {k}.")
        found = Answers(**said)
        models.append(
            ShadowAnswers(
                f"shadow model {k}",
                tuple(columns),
                keys,
                found,
                None if classes is None else tuple(classes),
                _gives(found),
                digest(keys, *(part for item in sorted(said.items()) for part in item)),
            )
        )
    return KeptShadows(tuple(models), inside)


def _described(source: Any, table: Any, where: str) -> dict[str, Any]:
    """What the table says of itself; on disk that is in the file."""
    metadata = table.schema.metadata or {}
    if ABOUT not in metadata and isinstance(source, str | os.PathLike):
        import pyarrow as pa
        import pyarrow.parquet

        try:
            metadata = pyarrow.parquet.read_schema(source).metadata or {}
        except (pa.ArrowException, OSError):
            metadata = {}
    try:
        found = json.loads(metadata[ABOUT])
        if {"columns", "classes", "shadows"} <= found.keys():
            return dict(found)
    except (KeyError, ValueError, AttributeError):
        pass
    raise InputError(f"{where} is not a table that divulge shadows wrote.")


def _values(column: Any) -> npt.NDArray[Any]:
    """The inverse of ``_column``."""
    import pyarrow as pa

    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], whole.type)
    if not pa.types.is_list(whole.type) and not pa.types.is_large_list(whole.type):
        return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=float)
    lengths = np.diff(whole.offsets.to_numpy())
    out = np.full((len(whole), int(lengths.max(initial=0))), np.nan)
    out[np.arange(out.shape[1]) < lengths[:, None]] = whole.flatten().to_numpy()
    return out


def _gives(answers: Answers) -> Gives:
    if answers.log_probabilities is not None:
        return "probabilities"
    return "tokens" if answers.tokens is not None else "losses"


def without(frame: Frame, names: Sequence[str]) -> Frame:
    """A table without some of its columns."""
    return frame.select(*(nw.col(c) for c in frame.columns if c not in set(names)))
