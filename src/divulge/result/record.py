"""Frozen records with a versioned JSON form."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from divulge.data.writing import write_text
from divulge.errors import InputError
from divulge.result import form
from divulge.result.form import SCHEMA
from divulge.text import strict_json
from divulge.text.rounding import floor_to
from divulge.text.visible import json_text


@dataclass(frozen=True)
class Bound:
    """One lower bound and all that it rests on."""

    parameter: str
    """"mu" or "epsilon"."""
    value: float
    confidence: float
    method: str
    theorem: str
    assumptions: tuple[str, ...]
    correction: str = "none"
    delta: float | None = None
    """The delta of an epsilon; None for mu."""
    headline: bool = False
    """Whether the verdict rests on this bound, decided before any truth was looked at."""

    def to_json(self) -> dict[str, Any]:
        """The entry of the list ``bounds``; the value is rounded down, mu has delta null."""
        return {
            "parameter": self.parameter,
            "delta": self.delta,
            "value": floor_to(self.value, 6),
            "confidence": min(round(self.confidence, 12), math.nextafter(1.0, 0.0)),
            "method": self.method,
            "correction": self.correction,
            "headline": self.headline,
            "theorem": self.theorem,
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Bound:
        """The inverse of to_json; InputError if a type or a range is wrong."""
        return cls(**form.checked_bound(form.Field(data, "the bound")))


@dataclass(frozen=True)
class Verdict:
    """The finding in plain words."""

    status: str
    """"leak", "no evidence" or "cannot conclude"; "computed" where nothing was tested."""
    robust: bool
    sentence: str
    reasons: tuple[str, ...] = ()
    """Why the finding is fragile, or why nothing could be concluded."""

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "robust": self.robust,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Result:
    """What an audit found, and all that is needed to judge and to repeat it. Holds no records."""

    game: str
    verdict: Verdict
    bounds: tuple[Bound, ...]
    measurements: Mapping[str, Any] = field(default_factory=dict)
    trials: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    posterior: Mapping[str, Any] | None = None

    def headline(self) -> tuple[Bound, ...]:
        """The bounds on which the verdict rests."""
        return tuple(b for b in self.bounds if b.headline)

    def to_json(self) -> dict[str, Any]:
        """Schema 1: plain dictionaries, lists, numbers and strings; what is unknown is null."""
        out: dict[str, Any] = {
            "schema": SCHEMA,
            "game": self.game,
            "verdict": self.verdict.to_json(),
            "bounds": [b.to_json() for b in self.bounds],
            "measurements": plain(self.measurements),
            "trials": plain(self.trials),
            "diagnostics": plain(self.diagnostics),
            "provenance": plain(self.provenance),
        }
        if self.posterior is not None:
            out["posterior"] = plain(self.posterior)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "the result") -> Result:
        """The inverse of to_json; InputError with the place of what no result of schema 1 holds."""
        schema = data.get("schema") if isinstance(data, Mapping) else None
        if isinstance(schema, bool) or schema != SCHEMA:
            found = schema if isinstance(data, Mapping) else type(data).__name__
            raise InputError(f"Not a divulge result of schema {SCHEMA}. Found {found!r:.60}.")
        strict_json.check(data, where)
        whole = form.Field(data)
        return cls(
            game=whole.at("game").text(),
            verdict=Verdict(**form.checked_verdict(whole.at("verdict"))),
            bounds=tuple(Bound(**b) for b in form.checked_bounds(whole.at("bounds"))),
            measurements=form.checked_measurements(whole.maybe("measurements", {})),
            trials=whole.maybe("trials", {}).mapping(),
            diagnostics=form.checked_diagnostics(whole.maybe("diagnostics", {})),
            provenance=whole.maybe("provenance", {}).mapping(),
            posterior=form.checked_posterior(whole.maybe("posterior", None)),
        )

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

    def __str__(self) -> str:
        from divulge.report import terminal

        return terminal.result_text(self)

    def _repr_html_(self) -> str:
        from divulge.report import html

        return html.fragment(self)


def plain(value: Any) -> Any:
    """Numpy scalars and arrays, tuples and mappings as JSON has them; NaN and infinity as null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
