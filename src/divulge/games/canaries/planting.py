"""The plan of planted line-ups: what every canary may hold, and what it holds, before training.

The plan is the only file with truths. The records to train on hold the drawn values; the versions
to be scored hold every candidate of every canary, under names that do not tell the true one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from divulge import __version__
from divulge.data import content, tables
from divulge.data.arranged import order_of
from divulge.data.tables import Frame
from divulge.data.writing import write_bytes
from divulge.drawn import listed, recipes
from divulge.drawn.recipes import Recipe
from divulge.errors import InputError, require, require_seed
from divulge.games.canaries import coins, planted
from divulge.games.canaries.planted import Planted, Template
from divulge.text.visible import one_line

SCHEMA = 1
KIND = "divulge plan of planted line-ups"
WARNING = (
    "This file holds the truths of the audit: which of its candidates every canary holds. Keep it, "
    "the seed, and the records to train on secret from everybody who scores or attacks the model "
    "until the scores are final."
)
VERSION = "version"
"""The column that names a version, by which scores are joined."""
LEAST, TEXT = 20, "text"
DATA = "the data"


@dataclass(frozen=True)
class LineUpPlan:
    """Canaries that each hold one of K candidates, and which."""

    places: tuple[int, ...] = field(repr=False)
    """Which candidate, in alphabetical order, every canary holds."""
    candidates: int
    copies: int
    """In how many training records each canary stands."""
    draw: str
    template: str | None
    column: str
    """Where the drawn value stands: the column of texts, or the one that was drawn."""
    seed: int = field(repr=False)
    planted_sha256: str
    """Of all that was planted, but for the seed."""
    input: Mapping[str, str] | None
    """Name and SHA-256 of the data, if there were any."""
    details: Mapping[str, Any] = field(default_factory=dict)
    training: Any = field(default=None, repr=False, compare=False)
    """An Arrow table of the records to train on; not in the file."""
    versions: Any = field(default=None, repr=False, compare=False)
    """An Arrow table of all versions to be scored; not in the file."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def key(self) -> str:
        """The column by which scores are joined."""
        return VERSION

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of all versions: every candidate of the first canary, then of the next."""
        return planted.version_ids(self._secret, len(self), self.candidates)

    @property
    def _secret(self) -> bytes:
        return coins.mix(self.seed, self.planted_sha256)

    def to_json(self) -> dict[str, Any]:
        """The warning comes first, for whoever opens the file."""
        fields = ("candidates", "copies", "draw", "template", "column", "seed", "planted_sha256")
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "warning": WARNING,
            "divulge": __version__,
            "canaries": len(self),
            **{name: getattr(self, name) for name in fields},
            "input": None if self.input is None else dict(self.input),
            "details": dict(self.details),
            "places": list(self.places),
        }

    def dumps(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_json(), allow_nan=False, ensure_ascii=False, indent=1) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write plan.json, whole or not at all."""
        write_bytes(path, self.dumps().encode("utf-8"))

    def records(self, data: Any = None) -> Frame:
        """The records to train on, with the drawn values."""
        return self._held(self.training)

    def canaries(self, data: Any = None) -> Frame:
        """Every version of every canary: what is to be scored."""
        return self._held(self.versions)

    def _held(self, table: Any) -> Frame:
        require(
            table is not None,
            "A plan that was read from its file holds no records: plan again with its seed.",
        )
        return tables.read(table)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "the plan") -> LineUpPlan:
        """The inverse of to_json; InputError says what is wrong."""
        require(
            data.get("schema") == SCHEMA,
            f"{where} is a plan of schema {data.get('schema')!r}; this version reads {SCHEMA}.",
        )
        try:
            given = data["input"]
            plan = cls(
                places=tuple(_whole(v, 0) for v in data["places"]),
                candidates=_whole(data["candidates"], 2),
                copies=_whole(data["copies"], 1),
                draw=str(data["draw"]),
                template=None if data["template"] is None else str(data["template"]),
                column=str(data["column"]),
                seed=_whole(data["seed"], 0),
                planted_sha256=str(data["planted_sha256"]),
                input=None if given is None else {k: str(given[k]) for k in ("name", "sha256")},
                details=dict(data.get("details", {})),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{where} is damaged: {error!r} is missing or wrong.") from error
        found = planted.places(plan._secret, len(plan), plan.candidates)
        require(
            len(plan) > 0 and plan.places == found and data.get("canaries") == len(plan),
            f"{where} is damaged: its secrets are not those of its seed and of what was planted.",
        )
        return plan


def _whole(value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError("a whole number")
    return value


def plan_line_ups(
    data: Any,
    *,
    text: str = TEXT,
    template: str | None = None,
    names: str | os.PathLike[str] | Sequence[str] | None = None,
    column: str | None = None,
    copies: int = 1,
    draw: str | None = None,
    candidates: int,
    count: int,
    seed: int | None = None,
) -> LineUpPlan:
    """Plant ``count`` canaries by a template, or in a column of the data's own records."""
    require(count >= LEAST, f"Plant at least {LEAST} canaries. Found {count!r}.")
    require(copies >= 1, f"copies must be at least 1. Found {copies!r}.")
    require(
        (template is None) != (column is None),
        "A planted line-up needs either a template of its texts or the column that is drawn.",
    )
    if seed is not None:
        require_seed(seed)
    used = coins.secret_seed() if seed is None else int(seed)
    frame = None if data is None else tables.read(data)
    if frame is not None:
        require(VERSION not in frame.columns, f"{DATA} have a column {VERSION!r}: rename it.")
    what: dict[str, Any] = {"count": count, "candidates": candidates, "copies": copies}
    what["data"] = None if frame is None else content.digest(frame, frame.columns)
    if template is not None:
        require(draw is None, "The template names the draw of its secret: leave out draw.")
        form = Template.parse(template)
        recipe, called = recipes.parse(form.recipe), _pool(frame, names, form, count)
        key, digest = _key(used, what | {"template": template, "names": called, "text": text})
        found = plant(recipe, count, candidates, key)
        training, versions = _texts(frame, form, called, found, copies, key, text)
        where = text
    else:
        assert column is not None
        require(names is None, "names belong to a template, not to a column.")
        require(frame is not None, f"A canary in the column {column!r} needs the data it is in.")
        assert frame is not None
        tables.require_columns(frame, [column], DATA)
        require(count <= len(frame), f"{DATA} have {len(frame)} records, fewer than {count}.")
        recipe = recipes.parse(draw) if draw is not None else _own_values(frame, column)
        key, digest = _key(used, what | {"column": column, "draw": recipe.text})
        found = plant(recipe, count, candidates, key)
        training, versions = _cells(frame, column, found, copies, key)
        where = column
    each = len(found.candidates[0])
    ids = pa.array(planted.version_ids(key, count, each))
    return LineUpPlan(
        places=found.places,
        candidates=each,
        copies=copies,
        draw=recipe.text,
        template=template,
        column=where,
        seed=used,
        planted_sha256=digest,
        input=None if frame is None else tables.fingerprint(data, frame, "data"),
        training=training,
        versions=versions.add_column(0, VERSION, ids),
    )


def plant(recipe: Recipe, count: int, candidates: int, key: bytes) -> Planted:
    """As ``planted.plant``; InputError where the recipe has one value only."""
    found = planted.plant(recipe, count, candidates, key)
    require(len(found.candidates[0]) >= 2, f"{recipe.text} has one value only.")
    return found


def _key(seed: int, what: Mapping[str, Any]) -> tuple[bytes, str]:
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
    return coins.mix(seed, digest), digest


def _pool(frame: Frame | None, names: Any, form: Template, count: int) -> list[str]:
    """The names to choose from: of a column, of a file, given, or numbers."""
    if names is None:
        return [f"canary {k}" for k in range(1, count + 1)] if form.named else []
    require(form.named, "There are names, but the template has no field {name}.")
    if not isinstance(names, str | os.PathLike):
        pool, where = [str(name) for name in names], "The names"
    elif frame is not None and str(names) in frame.columns:
        cells = frame[str(names)].to_list()
        pool, where = sorted({str(c) for c in cells if c is not None}), f"Column {names!r}"
    else:
        lines = (line.strip() for line in listed.lines(Path(names)))
        pool, where = [line for line in lines if line], str(names)
    twice = len(set(pool)) != len(pool)
    require(not twice, f"{where} must not repeat a name: every canary needs one of its own.")
    require(
        len(pool) >= count, f"{where} holds {len(pool)} names, fewer than the {count} canaries."
    )
    return pool


def _texts(
    frame: Frame | None,
    form: Template,
    pool: list[str],
    found: Planted,
    copies: int,
    key: bytes,
    text: str,
) -> tuple[Any, Any]:
    """The canaries among the data's texts, and every version of each."""
    rng = planted.generator(key, "names")
    chosen = rng.choice(len(pool), len(found), replace=False) if pool else ()
    called = [pool[k] for k in chosen] or [""] * len(found)
    for name, own in zip(called, found.candidates, strict=True):
        form.require_alone(name, own)
    pairs = zip(called, found.candidates, strict=True)
    versions = [form.filled(c, name) for name, own in pairs for c in own]
    each = zip(called, found.secrets, strict=True)
    planted_texts = [form.filled(secret, name) for name, secret in each] * copies
    table = pa.table({text: pa.array(planted_texts, pa.string())})
    if frame is not None:
        tables.require_columns(frame, [text], DATA)
        own = frame.to_arrow().select(frame.columns)
        kind = own.schema.field(text).type
        require(
            pa.types.is_string(kind) or pa.types.is_large_string(kind) or "string" in str(kind),
            f"Column {text!r} of {DATA} must hold text. Found {kind}.",
        )
        table = table.cast(pa.schema([(text, kind)]))
        table = pa.concat_tables([own, table], promote_options="default")
    rows = 0 if frame is None else len(frame)
    return _mixed(table, rows, key), pa.table({text: versions})


def _cells(frame: Frame, column: str, found: Planted, copies: int, key: bytes) -> tuple[Any, Any]:
    """The data with a drawn value in some records, and every version of those."""
    table = frame.to_arrow().select(frame.columns)  # without the index of pandas
    at = table.schema.get_field_index(column)
    order = order_of(frame, frame.columns)  # the same canaries however the data are sorted
    rows = order[planted.generator(key, "rows").choice(len(frame), len(found), replace=False)]
    kind = table.schema.field(at).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind

    def drawn(cells: Sequence[str]) -> Any:
        try:
            return pa.array(cells, pa.string()).cast(plain)
        except pa.ArrowException:
            shown = one_line(cells[0])[:40]
            raise InputError(
                f"Column {column!r} of {DATA} holds {kind}: a drawn value such as {shown!r} cannot "
                "stand in it. Name another draw, or change the column's type."
            ) from None

    flat = drawn([c for own in found.candidates for c in own])
    each = len(found.candidates[0])
    chosen = pa.array(np.repeat(rows, each))
    versions = table.take(chosen).set_column(at, column, flat)
    secret = np.arange(len(found)) * each + np.array(found.places)
    canaries = versions.take(pa.array(secret))
    cells = table[column].cast(plain).to_pylist()
    for row, value in zip(rows.tolist(), canaries[column].to_pylist(), strict=True):
        cells[row] = value
    whole = table.set_column(at, column, pa.array(cells, plain))
    further = [canaries] * (copies - 1)
    return _mixed(pa.concat_tables([whole, *further]), len(frame), key), versions


def _mixed(table: Any, rows: int, key: bytes) -> Any:
    """The first rows in their order, and all further ones anywhere among them."""
    place = planted.generator(key, "order").random(table.num_rows) * max(rows, 1)
    place[:rows] = np.arange(rows)
    return table.take(pa.array(np.argsort(place, kind="stable")))


def _own_values(frame: Frame, column: str) -> Recipe:
    cells = frame[column].to_arrow()
    cells = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    try:
        words = sorted({w for w in cells.cast(pa.string()).to_pylist() if w is not None})
    except (pa.ArrowException, TypeError):
        raise InputError(f"Column {column!r} must hold one word or number per record.") from None
    require(len(words) >= 2, f"Column {column!r} of {DATA} has fewer than two values to draw from.")
    return recipes.one_of(f"the values of column {column}", words)
