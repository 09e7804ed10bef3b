"""Frozen records with a versioned JSON form."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from divulge.errors import InputError

SCHEMA = 1


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
            "confidence": round(self.confidence, 12),
            "method": self.method,
            "correction": self.correction,
            "headline": self.headline,
            "theorem": self.theorem,
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Bound:
        """The inverse of to_json."""
        return cls(
            parameter=data["parameter"],
            delta=data.get("delta"),
            value=float(data["value"]),
            confidence=float(data["confidence"]),
            method=data["method"],
            correction=data["correction"],
            headline=bool(data["headline"]),
            theorem=data.get("theorem", ""),
            assumptions=tuple(data.get("assumptions", ())),
        )


def floor_to(value: float, digits: int) -> float:
    """Round towards the smaller claim."""
    if not math.isfinite(value):
        return value
    scale = 10.0**digits
    return math.floor(value * scale) / scale


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
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        """The inverse of to_json; InputError if the data are not a result of schema 1."""
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
            found = data.get("schema") if isinstance(data, Mapping) else type(data).__name__
            raise InputError(f"Not a divulge result of schema {SCHEMA}. Found {found!r}.")
        try:
            verdict = data["verdict"]
            return cls(
                game=str(data["game"]),
                verdict=Verdict(
                    str(verdict["status"]),
                    bool(verdict["robust"]),
                    str(verdict["sentence"]),
                    tuple(verdict.get("reasons", ())),
                ),
                bounds=tuple(Bound.from_json(b) for b in data["bounds"]),
                measurements=data.get("measurements", {}),
                trials=data.get("trials", {}),
                diagnostics=data.get("diagnostics", {}),
                provenance=data.get("provenance", {}),
                posterior=data.get("posterior"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"The result is damaged: {error!r} is missing or wrong.") from error

    def dumps(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_json(), indent=2, allow_nan=False, ensure_ascii=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON file, whole or not at all."""
        write_text(path, self.dumps() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a JSON file written by save or ``--out``."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"Cannot read {os.fspath(path)}: {error}.") from error
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{os.fspath(path)} is not JSON: {error}.") from error
        return cls.from_json(data)

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


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file through a temporary one beside it, so that it is whole or absent."""
    write_bytes(path, text.encode("utf-8"))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file beside ``path`` that takes its place unless something fails."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror or error}.") from error
    os.close(handle)
    try:
        yield Path(name)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file through a temporary one beside it; InputError if the place is not writable."""
    with replacing(path) as place:
        place.write_bytes(data)
