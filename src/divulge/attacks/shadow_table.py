"""``divulge.shadows``: shadow models of a target, trained and asked, as a table.

Records count by their content, and in the order of it: neither the column that says who is a
member, nor whether a record came in the table of members or in the other one, nor its place there
has any say in what is trained. Equal records are in a training set together or not at all.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import __version__
from divulge.attacks.base import Mask
from divulge.attacks.kept_shadows import KINDS, table_of
from divulge.attacks.shadows import COUNT, Progress, halves, trained
from divulge.data import content, tables
from divulge.data.arranged import arranged
from divulge.data.content import Keys
from divulge.data.renaming import renaming
from divulge.data.stored import PARQUET
from divulge.data.table_files import require_table_name, write_table
from divulge.data.tables import Frame
from divulge.data.writing import write_all
from divulge.errors import Note, require, require_seed
from divulge.models import base, trainers
from divulge.models.base import Answers
from divulge.models.trainers import Labels, Trainer
from divulge.work import Engine
from divulge.work.pieces import Pieces
from divulge.work.threads import single
from divulge.work.watching import watched

TRUTH = "member"
FEWEST = 4
"""Distinct records, at least."""
_FILE = "file "


@watched("training shadow models")
@single
@renaming
def shadows(
    data: Any = None,
    *,
    members: Any = None,
    nonmembers: Any = None,
    population: Any = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: Any,
    training: Mapping[str, Any] | None = None,
    count: int = COUNT,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    table: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Frame | None:
    """Train shadow models on random halves of the records; what they say goes to ``divulge.score``.

    The records are ``data``, or ``members`` and ``nonmembers``, which are treated alike; who is a
    member is not looked at. ``model`` is what is trained again: a file or an estimator that another
    of its kind can be made of, or code (``module:name`` or a callable) that makes a fresh one from
    a seed. ``training`` are settings of that training by name. The ``count`` models are also asked
    about the ``population``, on which none is trained. The table is returned, or written as
    ``table`` (Parquet), and the models themselves into the folder ``save``, in formats that cannot
    run code. Work and cache as in ``divulge.score``.
    """
    require_seed(seed)
    require(
        isinstance(count, int) and count >= 2,
        f"At least two shadow models are needed. Found {count!r}.",
    )
    engine = Engine(backend, n_jobs, address)
    inputs = (data, members, nonmembers, population)
    if table is not None:
        suffix = require_table_name(table, inputs).suffix.lower()
        require(suffix in PARQUET, f"{os.fspath(table)} must end in .parquet: it holds lists.")
    maker = trainers.trainer(model, training)
    if maker.note is not None:
        warnings.warn(maker.note, Note, stacklevel=3)
    shown = _shown(features, label, text, maker)
    records = _records(inputs[:3], shown)
    asked = _asked(records, None if population is None else tables.read(population), shown)
    labels = _labels(asked, label if maker.reads == "features" else None, maker)
    rng = content.generator(seed, asked.keys[asked.pool])
    inside = halves(asked.pool, count, rng)
    kept = asked.records.select(*asked.features).to_arrow()
    lesson = _TableLesson(maker, kept, asked.repeats, labels, save is not None)
    told = maker.identity() if cache is not None else None
    named = [told, cache_key, sorted((training or {}).items())] if told or cache_key else None
    if cache is not None and named is None:
        why = "Shadow models are not cached: nothing tells when the training changes."
        warnings.warn(f"{why} Pass a cache key.", Note, stacklevel=3)
    about = {
        "training": named and repr(named),
        "data": tables.fingerprint(None, asked.records, "")["sha256"],
        "classes": None if labels is None else [str(c) for c in labels.classes],
        "saved": save is not None,
    }
    pieces = Pieces.at(None if named is None else cache)
    found = trained(lesson, inside, seed, about, engine, pieces, progress)
    answers = [Answers(**{k: f[k] for k in KINDS if k in f}) for f in found]
    described = {"divulge": __version__, "shadows": count, "seed": seed, "training": maker.name}
    classes = None if labels is None else labels.classes
    made = table_of(asked.keys, inside, answers, asked.columns, classes, described)
    if save is not None:
        _write_models(Path(save), found)
    if table is None:
        return tables.read(made)
    write_table(table, [made], None)
    return None


@dataclass(frozen=True)
class _Asked:
    """Distinct records in the order of their keys: those that are trained on, and others."""

    records: Frame
    columns: tuple[str, ...]
    features: tuple[str, ...]
    keys: Keys
    pool: Mask
    repeats: npt.NDArray[np.intp]
    """How often each record stands in the table."""


def _shown(
    features: str | Sequence[str], label: str | None, text: str | None, maker: Trainer
) -> tuple[list[str], list[str]]:
    """Patterns of the columns that the models read, and the label's."""
    if maker.reads == "text":
        require(text is not None, f"The {maker.name} reads text: name the column that holds it.")
        return [str(text)], []
    require(label is not None, "Name the label column that the shadow models learn to predict.")
    named = [features] if isinstance(features, str) else list(features)
    require(len(named) > 0, "Name the feature columns that the model was trained on.")
    return named, [str(label)]


def _records(given: Sequence[Any], shown: tuple[list[str], list[str]]) -> Frame:
    """All records, of which only these columns are kept; where they came from is forgotten."""
    there = [source is not None for source in given]
    require(
        there in ([True, False, False], [False, True, True]),
        "Give one table, or members and nonmembers separately.",
    )
    parts = [_selected(tables.read(s), shown, "the table") for s in given if s is not None]
    return tables.concat(parts) if len(parts) > 1 else parts[0]


def _selected(frame: Frame, shown: tuple[list[str], list[str]], where: str) -> Frame:
    names = tables.expand(frame, [*shown[0], *shown[1]], where)
    require(
        TRUTH not in names,
        f"The column {TRUTH!r} says who is a member: shadow models must not learn from it. Name "
        "the features without it.",
    )
    inner = tables.expand(frame, shown[0], where)
    require(
        not set(inner) & set(shown[1]),
        f"The label {shown[1][0] if shown[1] else ''!r} is also among the features.",
    )
    return frame.select(*names)


def _asked(records: Frame, others: Frame | None, shown: tuple[list[str], list[str]]) -> _Asked:
    columns = tuple(records.columns)
    own, first, repeats = np.unique(
        content.keys(records, columns), return_index=True, return_counts=True
    )
    require(own.size >= FEWEST, f"Shadow models need at least {FEWEST} different records.")
    features = tuple(c for c in columns if c not in shown[1])
    if others is None:
        kept = arranged(records, first)
        return _Asked(kept, columns, features, own, np.ones(own.size, bool), repeats)
    outside = _selected(others, ([*columns], []), "the population")
    far, place = np.unique(content.keys(outside, columns), return_index=True)
    both = np.isin(far, own)
    require(
        not both.any(),
        f"{int(both.sum())} records of the population are among the records themselves: shadow "
        "models would be trained on them.",
    )
    whole = tables.concat([arranged(records, first), arranged(outside, place)])
    keys = np.concatenate([own, far])
    order = np.argsort(keys)
    pool = np.arange(keys.size) < own.size
    counts = np.concatenate([repeats, np.ones(far.size, dtype=np.intp)])
    return _Asked(
        arranged(whole, order), columns, features, keys[order], pool[order], counts[order]
    )


def _labels(asked: _Asked, label: str | None, maker: Trainer) -> Labels | None:
    return None if label is None else trainers.labelled(asked.records, label, maker.classes)


@dataclass(frozen=True)
class _TableLesson:
    """Picklable: trains one model on some records and asks it about all of them."""

    maker: Trainer
    records: Any
    repeats: npt.NDArray[np.intp]
    labels: Labels | None
    files: bool

    def __call__(self, rows: Mask, seed: int, name: str) -> dict[str, npt.NDArray[Any]]:
        """Its answers, and its files where they are wanted."""
        whole = tables.read(self.records)
        # In an order of its own: a training may weigh what comes last.
        taught = np.repeat(np.flatnonzero(rows), self.repeats[rows])
        taught = np.random.default_rng(seed).permutation(taught)
        labels = self.labels and replace(self.labels, codes=self.labels.codes[taught])
        model = self.maker.train(arranged(whole, taught), labels, seed)
        classes = None if self.labels is None else self.labels.classes
        answers = trainers.aligned(base.ask(model, whole), model, classes)
        found = {f.name: getattr(answers, f.name) for f in fields(Answers)}
        out = {k: np.asarray(v) for k, v in found.items() if v is not None and k in KINDS}
        if self.files:
            for suffix, data in self.maker.files(model).items():
                out[_FILE + suffix] = np.frombuffer(data, dtype=np.uint8)
        return out


def _write_models(folder: Path, found: Sequence[Mapping[str, npt.NDArray[Any]]]) -> None:
    """One file per model, or one folder where it has several."""
    files: dict[Path, bytes] = {}
    for k, said in enumerate(found):
        for name, data in said.items():
            if name.startswith(_FILE):
                place = folder / f"shadow_{k}{name.removeprefix(_FILE)}"
                place.parent.mkdir(parents=True, exist_ok=True)
                files[place] = data.tobytes()
    write_all(files)
