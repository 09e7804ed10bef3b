"""The plan of a canary audit: who may be included, and how the coins fell, before training.

A plan holds the truths of the game. It names records by id or by row number, never by content, and
is bound to its input by SHA-256.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from divulge import __version__
from divulge.data import content, tables
from divulge.data.arranged import Rows, order_of
from divulge.data.given import look_at
from divulge.data.tables import Frame
from divulge.data.writing import write_bytes
from divulge.errors import InputError, require, require_choice, require_probability
from divulge.exposure.records import read_records
from divulge.exposure.selection import (
    MAHALANOBIS,
    RANDOM,
    STRATEGIES,
    exposure,
    most_exposed,
    rank_sum,
)
from divulge.games.canaries import coins
from divulge.games.public import check_words
from divulge.text import strict_json
from divulge.types import Array
from divulge.work.threads import single

Name = int | str

SCHEMA = 1
KIND = "divulge canary plan"
LARGEST = 1 << 30
"""Bytes of a plan: about ten million canaries."""
WARNING = (
    "This file holds the truths of the audit: which canaries were included. Keep it, and the "
    "seed, secret from everybody who scores or attacks the model until the scores are final."
)
LEAST = 20
"""Fewer canaries than this prove nothing."""
ROW = "row"
"""The name of the id where records are named by their row number."""
DATA = "the data"


@dataclass(frozen=True)
class Plan:
    """Canaries in random order, and whether each is to be included."""

    ids: tuple[Name, ...] = field(repr=False)
    rows: tuple[int, ...] = field(repr=False)
    """Row numbers in the data, from 0."""
    included: tuple[bool, ...] = field(repr=False)
    id: str | None
    """The column of the ids; None: they are row numbers."""
    strategy: str
    seed: int
    probability: float
    """Of inclusion."""
    input: Mapping[str, str]
    """Name and SHA-256 of the data."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the choice rested on: features, reference, noise."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def key(self) -> str:
        """The column by which scores are joined."""
        return ROW if self.id is None else self.id

    @property
    def truth(self) -> Array:
        """+1 for an included canary, -1 for one left out."""
        return np.where(np.array(self.included, dtype=bool), 1.0, -1.0)

    def to_json(self) -> dict[str, Any]:
        """The warning comes first, for whoever opens the file."""
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "warning": WARNING,
            "divulge": __version__,
            **asdict(self),
            "canaries": len(self),
        }

    def dumps(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_json(), allow_nan=False, ensure_ascii=False, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write plan.json, whole or not at all."""
        write_bytes(path, self.dumps().encode("utf-8"))

    def records(self, data: Any) -> Frame:
        """The records to train on: the data without the canaries that were left out."""
        import pyarrow as pa

        table = self._same(data).to_arrow()
        keep = np.ones(table.num_rows, dtype=bool)
        keep[[r for r, use in zip(self.rows, self.included, strict=True) if not use]] = False
        return tables.read(table.filter(pa.array(keep)))

    def canaries(self, data: Any) -> Frame:
        """All canaries, included or not, in the plan's random order: the records to be scored."""
        import pyarrow as pa

        rows = pa.array(self.rows, pa.int64())
        chosen = self._same(data).to_arrow().take(rows)
        return tables.read(chosen.append_column(ROW, rows) if self.id is None else chosen)

    def _same(self, data: Any) -> Frame:
        frame = tables.read(data)
        if tables.fingerprint(data, frame, "data")["sha256"] != self.input["sha256"]:
            raise InputError(
                f"The data are not those of the plan ({self.input['name']}): their SHA-256 "
                "differs. Give the same file, unchanged."
            )
        return frame

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Read plan.json; InputError says what is wrong with it."""
        return cls.from_json(strict_json.load(path, LARGEST), os.fspath(path))

    @classmethod
    def from_json(cls, data: Any, where: str = "the plan") -> Plan:
        """The inverse of to_json."""
        if not isinstance(data, Mapping) or data.get("kind") != KIND:
            raise InputError(
                f"{where} is not a canary plan. `divulge canaries plan` writes one before training."
            )
        require(
            data.get("schema") == SCHEMA,
            f"{where} is a plan of schema {data.get('schema')!r}; this version reads {SCHEMA}.",
        )
        try:
            plan = cls(
                ids=tuple(_name(v) for v in data["ids"]),
                rows=tuple(_row(v) for v in data["rows"]),
                included=tuple(_boolean(v) for v in data["included"]),
                id=None if data["id"] is None else str(data["id"]),
                strategy=str(data["strategy"]),
                seed=int(data["seed"]),
                probability=float(data["probability"]),
                input={k: str(data["input"][k]) for k in ("name", "sha256")},
                details=dict(data.get("details", {})),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{where} is damaged: {error!r} is missing or wrong.") from error
        sizes = {len(plan.ids), len(plan.rows), len(plan.included)}
        require(
            len(sizes) == 1 and len(set(plan.ids)) == len(set(plan.rows)) == len(plan.ids) > 0,
            f"{where} is damaged: ids, rows and coin flips do not match one to one.",
        )
        require(
            data.get("canaries", len(plan)) == len(plan),
            f"{where} is damaged: it states {data.get('canaries')!r} canaries but has {len(plan)}.",
        )
        require_probability("probability", plan.probability)
        plan._check_coins(where)
        return plan

    def _check_coins(self, where: str) -> None:
        """The coins must be those of the seed and the data; older plans do not say which."""
        if self.details.get("coins") != coins.RULE:
            return
        key = coins.mix(self.seed, str(self.details.get("content_sha256")))
        require(
            self.included == coins.flip(key, len(self), self.probability),
            f"{where} is damaged: its coin flips are not those of its seed and its data.",
        )


@single
def plan(
    data: Any,
    *,
    reference: Any = None,
    gradients: Sequence[Any] = (),
    features: str | Sequence[str] = (),
    id: str | None = None,
    count: int = 1000,
    strategy: str = MAHALANOBIS,
    noise: float = 0.0,
    averaged: float | None = None,
    probability: float = 0.5,
    seed: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Plan:
    """Choose canaries among the records of ``data`` and flip a coin for each.

    ``strategy``: 'mahalanobis' (farthest from the reference records, in units of their spread and
    of the noise), 'norm' (longest) or 'random'. ``features`` names columns of numbers or lists of
    numbers (embeddings); by default all columns. With ``gradients``, one table of clipped gradients
    per step, a row for each record, the ranks of the steps are summed (004, Algorithm 6).
    ``reference`` are other records than the data to measure from. ``noise`` is the standard
    deviation of the noise on every column of a mean of ``averaged`` records, by default all of the
    data; for DP-SGD ``sigma c / B`` on a mean of B gradients. Coins and choice follow from ``seed``
    and the data's SHA-256; by default the operating system draws the seed, and the plan
    stores it.
    """
    require_choice("strategy", strategy, STRATEGIES)
    if seed is not None:
        check_words({"seed": seed})
    require_probability("probability", probability)
    require(0.0 <= noise < np.inf, f"noise must be at least 0 and finite. Found {noise!r}.")
    frame = tables.read(data)
    mean_of = len(frame) if averaged is None else averaged
    require(0.0 < mean_of < np.inf, f"averaged must be above 0. Found {averaged!r}.")
    ids = _ids(frame, id)
    if not LEAST <= count <= len(frame):
        raise InputError(
            f"The number of canaries must lie between {LEAST} and the {len(frame)} records of the "
            f"data. Found {count}."
        )
    require(
        not (len(gradients) > 0 and reference is not None),
        "Gradients are measured from each other: give --gradients or --reference, not both.",
    )
    if progress is not None:
        progress("choosing canaries", 0, 2)
    used = coins.secret_seed() if seed is None else int(seed)
    order = order_of(frame, frame.columns)  # the plan is the same however the data are sorted
    digest = content.digest(frame, frame.columns)
    key = coins.mix(used, digest)
    choose, shuffle = np.random.default_rng(int.from_bytes(key, "big")).spawn(2)
    each = noise * float(np.sqrt(mean_of))
    values, names = _exposures(frame, order, strategy, features, id, reference, gradients, each)
    rows = order[shuffle.permutation(most_exposed(values, count, choose))]
    details: dict[str, Any] = {
        "features": names,
        "noise": noise,
        "averaged": mean_of,
        "coins": coins.RULE,
        "content_sha256": digest,
    }
    if reference is not None:
        details["reference"] = look_at("the reference", reference).fingerprint()
    if len(gradients) > 0:
        details["gradients"] = [
            look_at(f"gradients {k}", g).fingerprint() for k, g in enumerate(gradients)
        ]
    return Plan(
        ids=tuple(ids[r] for r in rows.tolist()),
        rows=tuple(rows.tolist()),
        included=coins.flip(key, count, probability),
        id=id,
        strategy=strategy,
        seed=used,
        probability=probability,
        input=tables.fingerprint(data, frame, "data"),
        details=details,
    )


def _exposures(
    frame: Frame,
    order: Rows,
    strategy: str,
    features: str | Sequence[str],
    id: str | None,
    reference: Any,
    gradients: Sequence[Any],
    noise: float,
) -> tuple[Array, list[str]]:
    """How exposed each record is, in this order of the rows, and the columns that say so."""
    if strategy == RANDOM:
        return np.zeros(len(frame)), []
    if len(gradients) > 0:
        steps = [tables.read(g) for g in gradients]
        for k, step in enumerate(steps):
            require(
                len(step) == len(frame),
                f"Gradients {k} must have a row for each of the {len(frame)} records, in their "
                f"order. Found {len(step)}.",
            )
            if id is not None and id in step.columns:
                same = names_of(step, id, f"gradients {k}") == names_of(frame, id, DATA)
                require(same, f"Gradients {k} must have the ids of the data, in their order.")
        read = (
            read_records(step, _columns(step, (), id, ""), f"gradients {k}", order)
            for k, step in enumerate(steps)
        )
        return rank_sum(exposure(r.matrix, strategy, noise=noise, names=r.names) for r in read), []
    columns = _columns(frame, features, id, DATA)
    seen = read_records(frame, columns, DATA, order)
    others = None
    if reference is not None:
        further = tables.read(reference)
        tables.require_columns(further, columns, "the reference")
        known = read_records(further, columns, "the reference", order_of(further, columns))
        require(
            known.names == seen.names, "The reference must have embeddings as long as the data's."
        )
        others = known.matrix
    values = exposure(seen.matrix, strategy, reference=others, noise=noise, names=seen.names)
    return values, columns


def _columns(frame: Frame, asked: str | Sequence[str], id: str | None, where: str) -> list[str]:
    """The columns to measure by; all but the id by default."""
    names = [asked] if isinstance(asked, str) else list(asked)
    return tables.expand(frame, names, where) if names else [c for c in frame.columns if c != id]


def _ids(frame: Frame, id: str | None) -> list[Name]:
    if id is None:
        require(
            ROW not in frame.columns,
            f"Without --id records are named by their row number, but the data have a column "
            f"{ROW!r}. Give --id {ROW}, or rename it.",
        )
        return list(range(len(frame)))
    tables.require_columns(frame, [id], DATA)
    return names_of(frame, id, DATA)


def names_of(frame: Frame, id: str, where: str) -> list[Name]:
    """A column of ids: whole numbers or text, none missing, none twice."""
    column = frame[id]
    missing = int(column.null_count())
    require(missing == 0, f"Column {id!r} of {where} has {missing} missing ids.")
    try:
        names = [_name(v) for v in column.to_list()]
    except (TypeError, ValueError):
        raise InputError(
            f"Column {id!r} of {where} must hold ids: whole numbers or text. Found {column.dtype}."
        ) from None
    if len(set(names)) != len(names):
        seen: set[Name] = set()
        twice = next(n for n in names if n in seen or seen.add(n))  # type: ignore[func-returns-value]
        count = len(names) - len(set(names))
        raise InputError(
            f"Column {id!r} of {where} has the id {twice!r} twice ({count} repeated in all). Every "
            "record needs its own."
        )
    return names


def _name(value: Any) -> Name:
    """Whole numbers as they are, whole floats as numbers, text as text."""
    if isinstance(value, bool):
        raise TypeError("a boolean is not an id")
    if isinstance(value, int | str):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise TypeError("not an id")


def _row(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a row number")
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("a coin flip is true or false")
    return value
