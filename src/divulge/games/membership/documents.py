"""Documents: records that came or stayed away together are one trial.

Chunks of a document, or a family of near-copies, are all members or all not. A coin for each of
them is not a game: given the records, the truth of one tells that of the next, and a bet on the
next, or a propensity fitted on the first, wins without any model. So a document is one record. Its
score and its features are the means of its records', its truth is theirs, and from there on
everything is as for any other table: the truths of *documents* are independent coins, so every
theorem holds with the document as the unit.

What is bounded is then the protection of a document, epsilon for adding or removing all of its
records. A mechanism that is epsilon-DP for one record is (k epsilon)-DP for a group of k, so for a
single record the bound is at least that of the document divided by the size k of the largest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from divulge.data.features import Features
from divulge.errors import InputError
from divulge.result.of_helpers import DocumentsRecord
from divulge.types import Array, Floats, Index

COUNT = "log of its records"


def codes(values: npt.NDArray[np.str_], truth: npt.NDArray[np.int8], column: str) -> Index:
    """The document of every row: 0, 1, 2, ... in the order of their names' first rows."""
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    of = np.asarray(rank[which], dtype=np.intp)
    members = np.bincount(of, truth > 0)
    every = np.bincount(of)
    mixed = (members > 0) & (members < every)
    if mixed.any():
        row = int(np.argmax(of == int(np.argmax(mixed))))
        raise InputError(
            f"{int(mixed.sum())} documents of column {column!r} hold members and non-members (such "
            f"as that of row {row}). A document is one trial: leave such documents out, or name a "
            "column whose values keep the two apart."
        )
    return of


def means(values: Floats, of: Index) -> Array:
    """The mean of every document, column by column."""
    count = np.bincount(of).astype(float)
    columns = values[:, None] if values.ndim == 1 else values
    out = (
        np.column_stack([np.bincount(of, np.asarray(c, dtype=float)) / count for c in columns.T])
        if columns.shape[1]
        else np.zeros((count.size, 0))
    )
    return out[:, 0] if values.ndim == 1 else out


def gathered(features: Features, of: Index) -> Features:
    """The features of documents: means, and how many records there were."""
    if not features.names:
        return Features(np.zeros((int(of.max()) + 1, 0)), ())
    size = np.log(np.bincount(of).astype(float))
    matrix = np.column_stack([means(features.matrix, of), size])
    scale = matrix.std(axis=0)
    keep = scale > 1e-12
    matrix = (matrix[:, keep] - matrix[:, keep].mean(axis=0)) / scale[keep]
    names = (*features.names, COUNT)
    own = (name for name in features.categories if name not in features.derived)
    lost = tuple(f"levels of {name!r}, in the means of documents" for name in own)
    return Features(
        matrix,
        tuple(n for n, k in zip(names, keep, strict=True) if k),
        folded=(*features.folded, *lost),
    )


def described(of: Index, column: str) -> DocumentsRecord:
    """What a reader is told."""
    sizes = np.bincount(of)
    largest = int(sizes.max())
    return DocumentsRecord(
        column=column,
        documents=int(sizes.size),
        records=int(of.size),
        largest=largest,
        sentence=f"A trial is a document of column {column!r}: {sizes.size:,} documents of "
        f"{of.size:,} records. The bounds are on what is given away about a document; of a single "
        f"record mu and epsilon at delta 0 are at least that divided by {largest}, the size of the "
        "largest.",
    )
