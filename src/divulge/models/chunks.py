"""Texts cut into chunks of a fixed number of tokens: the records of an audited language model.

PANORAMIA, Appendix C.2: 64 tokens per chunk, so that nothing is padded and length gives nothing
away, and the first 50 chunks of a document at most, so that no document dominates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import require
from divulge.models.language import encode

LENGTH, MOST = 64, 50
COLUMNS = ("document", "chunk", "text", "tokens")


def chunks(
    documents: Mapping[str, str], tokenizer: Any, *, length: int = LENGTH, most: int | None = MOST
) -> Frame:
    """The first ``most`` whole chunks of every document, with columns as in ``COLUMNS``.

    What is left at the end of a document and does not fill a chunk is dropped.
    """
    require(length >= 2, f"A chunk needs at least two tokens. Found length {length!r}.")
    require(most is None or most >= 1, f"most must be at least 1. Found {most!r}.")
    require(len(documents) > 0, "There are no documents to cut into chunks.")
    names, places, rows = [], [], []
    for name, ids in zip(
        documents, encode(tokenizer, list(documents.values()), "The model"), strict=True
    ):
        whole = len(ids) // length if most is None else min(len(ids) // length, most)
        for j in range(whole):
            names.append(name)
            places.append(j)
            rows.append(ids[j * length : (j + 1) * length])
    require(len(rows) > 0, f"No document has {length} tokens, which is the length of a chunk.")
    return table(names, places, np.asarray(rows, dtype=np.int64), tokenizer)


def table(
    names: list[str], places: list[int], tokens: npt.NDArray[np.int64], tokenizer: Any
) -> Frame:
    """Chunks as a table."""
    columns = (names, np.asarray(places, dtype=np.int64), decode(tokenizer, tokens), tokens)
    return tables.read(dict(zip(COLUMNS, columns, strict=True)))


def decode(tokenizer: Any, tokens: npt.NDArray[np.int64]) -> list[str]:
    """Rows of token ids as text, exactly as the tokens spell it."""
    found = tokenizer.batch_decode(
        tokens.tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    return [str(t) for t in found]


def token_matrix(frame: Frame, column: str = "tokens") -> npt.NDArray[np.int64]:
    """The column of token ids as a matrix; InputError unless all rows are equally long."""
    tables.require_columns(frame, [column], "The table of chunks")
    rows = frame[column].to_list()
    lengths = {len(r) for r in rows}
    require(
        len(lengths) == 1,
        f"Column {column!r} must hold equally many tokens in every row. Found from "
        f"{min(lengths)} to {max(lengths)}.",
    )
    return np.asarray(rows, dtype=np.int64)
