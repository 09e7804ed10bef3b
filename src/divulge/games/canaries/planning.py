"""The plan of a canary audit: who may be included, and how the coins fell, before training.

A plan holds the truths of the game. It names records by id or by row number, never by content, and
is bound to its input by SHA-256.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from divulge import __version__
from divulge.attacks.gradient_canaries import KINDS as GRADIENTS
from divulge.attacks.gradient_canaries import GradientCanaries
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.data.writing import write_bytes
from divulge.errors import InputError, require, require_probability
from divulge.games.canaries import coins
from divulge.text import strict_json
from divulge.types import Array

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
class Crafted:
    """Arrow tables of crafted canaries: what to train on, and all canaries."""

    training: Any = field(repr=False)
    shown: Any = field(repr=False)


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
    crafted: Crafted | None = field(default=None, repr=False, compare=False)
    """Canaries that are no records of the data; not in the file."""

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
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "crafted"},
            "canaries": len(self),
        }

    def dumps(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_json(), allow_nan=False, ensure_ascii=False, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write plan.json, whole or not at all."""
        write_bytes(path, self.dumps().encode("utf-8"))

    def records(self, data: Any = None) -> Frame:
        """The records to train on: the data without the canaries that were left out."""
        import pyarrow as pa

        if self.crafted is not None:
            return tables.read(self.crafted.training)
        table = self._same(data).to_arrow()
        keep = np.ones(table.num_rows, dtype=bool)
        keep[[r for r, use in zip(self.rows, self.included, strict=True) if not use]] = False
        return tables.read(table.filter(pa.array(keep)))

    def canaries(self, data: Any = None) -> Frame:
        """All canaries, included or not, in the plan's random order: the records to be scored."""
        import pyarrow as pa

        if self.crafted is not None:
            return tables.read(self.crafted.shown)
        rows = pa.array(self.rows, pa.int64())
        chosen = self._same(data).to_arrow().take(rows)
        return tables.read(chosen.append_column(ROW, rows) if self.id is None else chosen)

    def gradients(self) -> GradientCanaries:
        """The directions of gradient canaries and their coins, for a recorder."""
        require(
            self.strategy in GRADIENTS,
            f"The canaries of this plan are {self.strategy}, not gradients.",
        )
        return GradientCanaries(
            self.strategy,
            int(self.details["parameters"]),
            np.array(self.rows, dtype=np.intp),
            np.array(self.included, dtype=bool),
            int(self.details["signs"]),
        )

    def _same(self, data: Any) -> Frame:
        require(
            self.details.get("crafted") is None,
            "The canaries of this plan were crafted: their records were written with the plan.",
        )
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
