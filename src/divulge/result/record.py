"""What an audit states: verdict, bounds, and all that is needed to judge and to repeat it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

from divulge.data.writing import write_text
from divulge.errors import InputError, MissingExtra
from divulge.result.diagnostics import Diagnostics, Measurements, TrialsRecord
from divulge.result.form import (
    AtMost,
    Field,
    NonNegative,
    OneOf,
    Record,
    Within,
    plain,
    read,
    schema_of,
)
from divulge.result.of_posterior import PosteriorRecord
from divulge.text import strict_json
from divulge.text.rounding import floor_to
from divulge.text.visible import json_text

SCHEMA = 1
CORRECTIONS = ("none", "composition", "conditional", "signed", "balanced", "prior", "tau")
"""Every correction that a bound of any game can have."""
STANDINGS = ("proved", "numerical", "estimated")
"""By a theorem; by a theorem whose worst case was computed; under an assumption that no theorem
covers, such as a fitted propensity."""
STATUSES = ("leak", "no evidence", "cannot conclude", "computed")
MOST_BOUNDS = 10_000


@dataclass(frozen=True)
class Bound(Record):
    """One lower bound and all that it rests on."""

    parameter: Annotated[str, OneOf(("mu", "epsilon"))]
    value: NonNegative
    confidence: Annotated[float, Within("a number in (0, 1)", above=0.0, below=1.0)]
    method: str
    theorem: str
    assumptions: tuple[str, ...]
    correction: Annotated[str, OneOf(CORRECTIONS)] = "none"
    delta: Annotated[float, Within("a number in [0, 1)", 0.0, below=1.0)] | None = None
    """The delta of an epsilon; None for mu."""
    headline: bool = False
    """Whether the verdict rests on this bound, decided before any truth was looked at."""
    standing: Annotated[str, OneOf(STANDINGS)] = "estimated"
    """One of STANDINGS: the smallest claim, unless whoever made the bound says more."""
    of: str | None = None
    """What the bound is about, where one result is about several things."""

    _always: ClassVar[tuple[str, ...]] = ("correction", "delta", "headline", "standing")

    def to_json(self) -> dict[str, Any]:
        """The entry of the list ``bounds``; the value is rounded down, mu has delta null."""
        sure = min(round(self.confidence, 12), math.nextafter(1.0, 0.0))
        return super().to_json() | {"value": floor_to(self.value, 6), "confidence": sure}

    @classmethod
    def from_json(cls, data: Any, place: str = "the bound") -> Self:
        """The inverse of to_json; InputError if a type or a range is wrong."""
        return super().from_json(data, place)

    @classmethod
    def read(cls, field: Field) -> Self:
        """A bound without its standing, as earlier versions wrote it, is called estimated."""
        for key in ("correction", "headline"):
            field.at(key)
        given = {"theorem": "", "assumptions": (), **field.mapping()}
        found = super().read(Field(given, field.place))
        delta = Field(found.delta, f"{field.place}.delta")
        if found.parameter == "mu" and found.delta is not None:
            delta.wrong("null for mu")
        if found.parameter == "epsilon" and found.delta is None:
            delta.wrong("a number in [0, 1)")
        return found


@dataclass(frozen=True)
class Verdict(Record):
    """The finding in plain words."""

    status: Annotated[str, OneOf(STATUSES)]
    """"computed" where nothing was tested."""
    robust: bool
    sentence: str
    reasons: tuple[str, ...] = ()
    """Why the finding is fragile, or why nothing could be concluded."""

    _always: ClassVar[tuple[str, ...]] = ("reasons",)

    @classmethod
    def read(cls, field: Field) -> Self:
        """Nothing is robust where nothing was concluded."""
        found = super().read(field)
        if found.robust and found.status in ("cannot conclude", "computed"):
            field.at("robust").wrong(f"false where the status is {found.status!r}")
        return found


@dataclass(frozen=True)
class Result:
    """What an audit found, and all that is needed to judge and to repeat it. Holds no records."""

    game: str
    verdict: Verdict
    bounds: tuple[Bound, ...]
    measurements: Mapping[str, Any] = field(default_factory=dict)
    trials: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    posterior: PosteriorRecord | None = None

    def headline(self) -> tuple[Bound, ...]:
        """The bounds on which the verdict rests."""
        return tuple(b for b in self.bounds if b.headline)

    def to_json(self) -> dict[str, Any]:
        """Schema 1: plain dictionaries, lists, numbers and strings; what is unknown is null."""
        out: dict[str, Any] = {"schema": SCHEMA, "game": self.game}
        for name in _PARTS:
            if name != "posterior" or self.posterior is not None:
                out[name] = plain(getattr(self, name))
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "the result") -> Result:
        """The inverse of to_json; InputError with the place of what no result of schema 1 holds."""
        schema = data.get("schema") if isinstance(data, Mapping) else None
        if isinstance(schema, bool) or schema != SCHEMA:
            found = schema if isinstance(data, Mapping) else type(data).__name__
            raise InputError(f"Not a divulge result of schema {SCHEMA}. Found {found!r:.60}.")
        strict_json.check(data, where)
        whole = Field(data)
        given = {name: whole.at(name) for name in _NEEDED}
        given |= {name: whole.at(name) for name in _PARTS if name in data}
        forms = {"game": str, **_PARTS}
        return cls(**{name: read(forms[name], part) for name, part in given.items()})

    def dumps(self) -> str:
        """The JSON text."""
        return json_text(json.dumps(self.to_json(), indent=2, allow_nan=False, ensure_ascii=False))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON file, whole or not at all."""
        write_text(path, self.dumps() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a JSON file written by save or ``--out``."""
        return cls.from_json(strict_json.load(path), os.fspath(path))

    def report(self, path: str | os.PathLike[str], claim: str | None = None) -> None:
        """Write the HTML report, whole or not at all; ``claim`` as in ``divulge.check``."""
        from divulge.claims import Claim, described
        from divulge.report import html

        html.write(self, path, described(self, Claim.parse(claim)) if claim else None)

    def card(self) -> str:
        """A section for a model card, in Markdown."""
        from divulge.report.card import section

        return section(self)

    def plot(self, name: str | None = None) -> Any:
        """One of the report's charts as an Altair chart: the first, or the one of that name."""
        from divulge.report.html import drawings

        found = drawings(self)
        if not found or (name is not None and name not in found):
            known = ", ".join(found) or "none"
            raise InputError(f"This result has no chart {name or ''!r}. Charts: {known}.")
        return found[name] if name is not None else next(iter(found.values()))

    def to_frame(self) -> Any:
        """The bounds as a pandas table, one row each, the headline ones first."""
        import pyarrow as pa

        rows = sorted(self.bounds, key=lambda b: not b.headline)
        table = pa.table({key: [getattr(b, key) for b in rows] for key in _TABULATED})
        try:
            return table.to_pandas()
        except ImportError:
            raise MissingExtra("pandas", "tables") from None

    def __str__(self) -> str:
        from divulge.report import terminal

        return terminal.result_text(self)

    def _repr_html_(self) -> str:
        from divulge.report import html

        return html.fragment(self)


_PARTS: Mapping[str, Any] = {
    "verdict": Verdict,
    "bounds": Annotated[tuple[Bound, ...], AtMost(MOST_BOUNDS, "bounds")],
    "measurements": Measurements,
    "trials": TrialsRecord,
    "diagnostics": Diagnostics,
    "provenance": Mapping[str, Any],
    "posterior": PosteriorRecord | None,
}
"""What a result holds beside its schema and game, and the form of each."""
_NEEDED = ("game", "verdict", "bounds")
_TABULATED = (
    *("parameter", "delta", "value", "confidence", "headline", "standing", "correction", "method"),
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a result, derived from the types."""
    shared: dict[str, Any] = {}
    parts = {name: schema_of(form, shared) for name, form in _PARTS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A result of divulge, schema {SCHEMA}",
        "type": "object",
        "properties": {"schema": {"const": SCHEMA}, "game": {"type": "string"}, **parts},
        "required": ["schema", *_NEEDED],
        "$defs": dict(sorted(shared.items())),
    }
