"""How versions of records look to a model: one score each, larger for what it favours.

Versions are asked about in the order of their candidates, which does not tell the true one: where
a version stands in a batch changes the last bits of its score.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.attacks import registry
from divulge.attacks.base import losses
from divulge.attacks.observe import Question, observe
from divulge.attacks.table import FIRST, Job, prepared
from divulge.data import chunked, tables
from divulge.data.chunked import Part
from divulge.data.tables import Frame
from divulge.drawn.candidates import DrawnLineups
from divulge.errors import InputError, require
from divulge.models.handed import handed, open_model
from divulge.types import Array, Index
from divulge.work import Engine
from divulge.work.pieces import Pieces
from divulge.work.threads import single

TOTAL = "total"
"""The log-probability of a whole version: of all tokens of a text, or of a record's label."""
CHUNK = 4096


@dataclass(frozen=True)
class Asking:
    """How a model is asked: by which attack, and who does the work."""

    attack: str = TOTAL
    """``total`` or one that ``divulge attacks`` lists and that scores each record by itself."""
    chunk: int = CHUNK
    n_jobs: int = 1
    backend: str = "loky"
    address: str | None = None
    cache: str | os.PathLike[str] | None = None
    """With a folder a second run repeats nothing."""
    cache_key: str | None = None


@single
def score_rows(
    question: Question,
    column: str,
    part: Part,
    asking: Asking,
    row: Callable[[int], int] = int,
    progress: Callable[[int, int], None] | None = None,
) -> Array:
    """The score of every row of a table whose ``column`` tells one version from another.

    The model and all else are as ``divulge.score`` takes them. ``row`` says which row of the
    user's table a row here stands for.
    """
    attack = asking.attack
    named = "loss" if attack == TOTAL else attack
    require(not registry.find(named).pooled, f"The attack {attack!r} looks at all records at once.")
    engine = Engine(asking.backend, asking.n_jobs, asking.address)
    question = replace(question, target=handed(question.target))
    reads, features = open_model(question.target, "the model").reads, question.features
    seen = reads == "text" if question.text is not None else column in (*features, question.label)
    require(
        seen or reads == "rows", f"The model reads {reads}, and is not shown the column {column!r}."
    )
    chunks = chunked.open_chunks([part], asking.chunk)
    first = prepared(question, chunks.first(FIRST), named, None)
    job = replace(first, cache_key=asking.cache_key)
    pieces, keep = Pieces.at(asking.cache), None
    if pieces.folder is not None:
        of = {**job.identity(), "score": attack}
        keep = pieces.tasks("lineup", lambda c: of | tables.fingerprint(None, tables.read(c), ""))
    scores, done = np.zeros(chunks.rows), 0
    for place, found in enumerate(engine.run(partial(_ask, job, attack), chunks, keep=keep)):
        some = slice(done, done + len(chunks.take(place)))
        bad = np.flatnonzero(~np.isfinite(found["score"]))
        if bad.size:
            at = row(done + int(bad[0]))
            raise InputError(f"{attack} is not a finite number for a version of row {at}.")
        scores[some] = found["score"]
        done = some.stop
        if progress is not None:
            progress(done, chunks.rows)
    return scores


def score_versions(
    lineups: DrawnLineups,
    model: Any,
    *,
    progress: Callable[[int, int], None] | None = None,
    **asking: Any,
) -> tuple[Array, npt.NDArray[np.int64]]:
    """How much the model favours every candidate, larger for more, and the copies of each value.

    One row per line-up, the true value first; summed over the records of a line-up. ``asking`` are
    the fields of ``Asking``.
    """
    places, order = _places(lineups)
    each = score_rows(
        replace(lineups.asked, target=model),
        lineups.column,
        (places, partial(_versions, lineups)),
        Asking(**asking),
        lambda at: int(places["row"][at].as_py()),
        progress,
    )
    sums = np.zeros(len(lineups) * len(lineups.candidates[0]))
    np.add.at(sums, order, each)
    return sums.reshape(len(lineups), -1), lineups.copies


def _places(lineups: DrawnLineups) -> tuple[Any, Index]:
    """Line-up, candidate and record of every version, in an order that does not tell the truth."""
    count = len(lineups.candidates[0])
    ordered = [np.array(sorted(range(count), key=own.__getitem__)) for own in lineups.candidates]
    each = [len(rows) for rows in lineups.rows]
    line = np.repeat(np.arange(len(lineups)), np.array(each) * count)
    which = np.concatenate([np.repeat(o, n) for o, n in zip(ordered, each, strict=True)])
    row = np.concatenate([np.tile(rows, count) for rows in lineups.rows])
    return pa.table({"line": line, "which": which, "row": row}), line * count + which


def _versions(lineups: DrawnLineups, places: Frame) -> Frame:
    """The records of some places, each with its candidate in the value's place."""
    line, which, row = (places[c].to_numpy() for c in ("line", "which", "row"))
    table = lineups.records.take(pa.array(row))
    at = table.schema.get_field_index(lineups.column)
    own = [lineups.candidates[a] for a in line]
    cells = [c[w] for c, w in zip(own, which, strict=True)]
    if lineups.asked.text is not None:
        texts = table[lineups.column].to_pylist()
        cells = [t.replace(c[0], v) for t, c, v in zip(texts, own, cells, strict=True)]
    kind = table.schema.field(at).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = pa.array(cells, pa.string()).cast(kind)
    return tables.read(table.set_column(at, lineups.column, column))


def _ask(job: Job, attack: str, chunk: Any) -> dict[str, Array]:
    """One piece of work: the scores of a chunk of versions."""
    wanted = registry.find(job.attacks[0])
    seen = observe(job.question, tables.read(chunk), wanted.needs)
    if attack != TOTAL:
        return {"score": registry.direction(attack) * wanted(seen)}
    if seen.target.tokens is not None:
        return {"score": np.nansum(seen.target.tokens, axis=1)}
    return {"score": -losses(seen.target, seen.labels)}
