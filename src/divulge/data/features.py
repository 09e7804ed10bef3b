"""Records as numbers: what the nuisance models see of a record. Uses x alone, never a truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.content import stirred
from divulge.data.tables import Frame
from divulge.errors import InputError
from divulge.types import Array, slices

LEVELS = 20
COMPONENTS = 50


@dataclass(frozen=True)
class Features:
    """A matrix of standardised columns and their names."""

    matrix: Array = field(repr=False)
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def rows(self, index: npt.NDArray[np.integer[Any]]) -> Features:
        """The features of some rows."""
        return Features(self.matrix[index], self.names)


def encode(frame: Frame, columns: Sequence[str], where: str = "the table") -> Features:
    """Numbers as they are, categories one-hot, embeddings by their principal components.

    A missing number becomes the column's mean and a flag of its own; a missing category is a level.
    Of a category with many levels the 20 most frequent are kept. Lists of numbers, and sets of
    more than 50 columns that share a prefix such as ``x_``, are reduced to 50 components.
    """
    blocks: list[Array] = []
    names: list[str] = []
    for name in columns:
        block, labels = _encode_column(frame, name, where)
        blocks.append(block)
        names.extend(labels)
    if not blocks:
        return Features(np.zeros((len(frame), 0)), ())
    matrix = np.column_stack(blocks)
    matrix, names = _reduce_wide(matrix, names)
    scale = matrix.std(axis=0)
    keep = scale > 1e-12
    matrix = (matrix[:, keep] - matrix[:, keep].mean(axis=0)) / scale[keep]
    return Features(matrix, tuple(n for n, k in zip(names, keep, strict=True) if k))


def whole(frame: Frame, columns: Sequence[str], encoded: Features) -> bool:
    """Whether encoding left nothing out: no rare level of a category, no minor component."""
    if any(" component " in name for name in encoded.names):
        return False
    words = [
        c
        for c in columns
        if not (frame.schema[c].is_numeric() or frame.schema[c].is_temporal())
        and not isinstance(frame.schema[c], nw.List | nw.Array)
        and frame.schema[c] != nw.Boolean
    ]
    return all(frame[c].n_unique() <= LEVELS for c in words)


def _encode_column(frame: Frame, name: str, where: str) -> tuple[Array, list[str]]:
    column = frame[name]
    kind = column.dtype
    if int(column.null_count()) == len(column):
        raise InputError(f"Feature {name!r} of {where} has no value in any row. Leave it out.")
    if isinstance(kind, nw.List | nw.Array):
        return _embedding(frame, name, where)
    if kind.is_numeric() or kind == nw.Boolean:
        return _number(tables.filled(column), name, where)
    if isinstance(kind, nw.Struct | nw.Binary | nw.Time | nw.Duration):
        raise InputError(
            f"Feature {name!r} of {where} holds {kind}. A feature is a column of numbers, dates, "
            "words or lists of numbers: change it into one, or leave it out."
        )
    if kind.is_temporal():
        days = column if isinstance(kind, nw.Datetime) else column.cast(nw.Datetime("us"))
        return _number(tables.filled(days.dt.timestamp("us")), name, where)
    return _category(column.to_list(), name)


def _number(values: Array, name: str, where: str) -> tuple[Array, list[str]]:
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise InputError(f"Feature {name!r} of {where} is infinite in row {row}.")
    missing = np.isnan(values)
    if missing.all():
        raise InputError(f"Feature {name!r} of {where} is NaN in every row. Leave it out.")
    tables.require_moderate(values, name, where)
    if not missing.any():
        return values[:, None], [name]
    filled = np.where(missing, values[~missing].mean(), values)
    return np.column_stack([filled, missing]), [name, f"{name} is missing"]


def _category(values: list[object], name: str) -> tuple[Array, list[str]]:
    words = np.array(["(missing)" if v is None else str(v) for v in values])
    levels, counts = np.unique(words, return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")][:LEVELS]
    hot = (words[:, None] == frequent[None, :]).astype(float)
    return hot, [f"{name} = {level}" for level in frequent]


def _embedding(frame: Frame, name: str, where: str) -> tuple[Array, list[str]]:
    matrix = tables.lists(frame, name, where)
    return matrix, [f"{name}[{j}]" for j in range(matrix.shape[1])]


def _reduce_wide(matrix: Array, names: list[str]) -> tuple[Array, list[str]]:
    """Principal components of every group of more than 50 columns with one prefix."""
    groups: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        groups.setdefault(_prefix(name), []).append(j)
    wide = {g: idx for g, idx in groups.items() if g and len(idx) > COMPONENTS}
    if not wide:
        return matrix, names
    from sklearn.decomposition import PCA

    taken = {j for idx in wide.values() for j in idx}
    rest = [j for j in range(len(names)) if j not in taken]
    blocks, labels = [matrix[:, rest]], [names[j] for j in rest]
    for group, idx in wide.items():
        part = matrix[:, idx]
        pca = PCA(COMPONENTS, svd_solver="randomized", random_state=0)
        sample = part if len(part) <= 50_000 else part[:: len(part) // 50_000]
        blocks.append(pca.fit(sample).transform(part))
        labels.extend(f"{group} component {k + 1}" for k in range(COMPONENTS))
    return np.column_stack(blocks), labels


def _prefix(name: str) -> str:
    """``x_`` of ``x_17``, ``e`` of ``e[17]``, empty where there is no number."""
    stem = name.rstrip("]").rstrip("0123456789")
    return stem.rstrip("[") if stem != name.rstrip("]") else ""


def duplicates(features: Features, truth: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Rows of non-members whose features equal those of some member."""
    return shared_rows(row_keys(features.matrix), truth)


def row_keys(matrix: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.uint64]:
    """One number per row, equal for equal rows: its only value, or a hash of them all."""
    first = np.ascontiguousarray(matrix[:, 0], dtype=float).view(np.uint64)
    if matrix.shape[1] == 1:
        return first
    keys = stirred(first)
    for j in range(1, matrix.shape[1]):
        keys = stirred(keys ^ np.ascontiguousarray(matrix[:, j], dtype=float).view(np.uint64))
    return keys


def shared_rows(keys: npt.NDArray[np.uint64], truth: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Rows of non-members whose key some member has."""
    outside = np.flatnonzero(truth < 0)
    members, others = np.sort(keys[truth > 0]), np.sort(keys[outside])
    if members.size == 0:
        return np.zeros(0, dtype=np.intp)
    common = np.unique(others[in_sorted(others, members)])
    if common.size == 0:
        return np.zeros(0, dtype=np.intp)
    return outside[in_sorted(keys[outside], common)]


def in_sorted(
    values: npt.NDArray[np.uint64], those: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """Which values are among those, which are sorted."""
    out = np.empty(values.size, dtype=bool)
    for part in slices(values.size):
        at = np.minimum(np.searchsorted(those, values[part]), those.size - 1)
        out[part] = those[at] == values[part]
    return out
