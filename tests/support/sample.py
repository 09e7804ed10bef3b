"""Results of real runs (the pinned ones), and the same with hostile text wherever it can stand."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

from divulge.report import html
from divulge.result import Diagnostics, Result

RESULTS = Path(__file__).parents[1] / "pinned" / "results"
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    """it's "quoted" \\ `back` {{ 7 * 7 }} ${alert(4)}""",
    "a.b[0]['c'].d",
    "long_" + "x" * 195,
    "العمر عند التسجيل",
    "\u202egnp.exe",
    "datum.feature",
    "#1d5c9e",
    "two\nlines",
    "",
    "age",
    "age",
)
PROVENANCE = {
    "command": "divulge membership scores.parquet --truth member --score loss --seed 7",
    "seed": 7,
    "versions": {"divulge": "0.1.0"},
    "inputs": [{"name": "scores.parquet", "sha256": "9f" * 32}],
}
SAMPLES = {
    "membership": "membership-bootstrap",
    "attribute": "attribute-heldout",
    "synthetic": "synthetic-repeats",
    "retraining": "retraining-sampler",
    "canaries": "canaries-audit",
    "leakage": "leakage-mean",
}
"""One run of every game, that with the most charts."""
ELSEWHERE = {
    ("attribute", "repetitions"): "attribute-coins",
    ("membership", "ladder"): "membership-helpers",
}
"""Sections of which another run draws more."""


def document(name: str) -> dict[str, Any]:
    """The JSON of a pinned run, with what is different every time put back."""
    held = json.loads((RESULTS / f"{name}.json").read_text())
    del held["exit"]
    return {"schema": 1, **held, "provenance": PROVENANCE}


@cache
def pinned(name: str) -> Result:
    """A real run by the name of its file."""
    return Result.from_json(document(name))


def run(game: str, section: str = "") -> str:
    """The real run of a game that draws most of a section, by the name of its file."""
    return ELSEWHERE.get((game, section), SAMPLES[game])


def sample(game: str, section: str = "") -> Result:
    """A real run of a game, the one that draws most of a section."""
    return pinned(run(game, section))


@cache
def drawn(name: str, draw: Callable[[Diagnostics], Any]) -> Any:
    """A chart of a real run, drawn once: most tests of reports would spend their time on it."""
    return draw(pinned(name).diagnostics)


@cache
def page(game: str) -> str:
    """The report of a real run of a game."""
    return html.page(sample(game))


@cache
def hostile(game: str, section: str = "") -> Result:
    """A real run whose texts are hostile, and whose open places hold hostile keys too."""
    data, names = document(run(game, section)), cycle(HOSTILE)

    def within(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: within(value) for key, value in part.items()}
        if isinstance(part, list):
            return [within(value) for value in part]
        return next(names) if isinstance(part, str) else part

    found = within(data["diagnostics"])
    for row, name in zip(found.get("balance", ()), HOSTILE, strict=False):
        row["feature"] = name
    if "balance" in found:
        found["balance"] = [{**found["balance"][0], "feature": name} for name in HOSTILE]
    for rung in found.get("ladder", {}).get("rungs", ()):
        rung["parameter"] = "epsilon"  # others are not drawn
    if "proxy" in found:
        found["proxy"]["log_loss"] = dict.fromkeys(HOSTILE, 0.5)
    found[HOSTILE[4]] = {HOSTILE[5]: [{HOSTILE[1]: HOSTILE[0]}]}
    found["named"] = [{"name": name} for name in HOSTILE]
    bound = {"parameter": "mu", "delta": None, "value": 1.0, "confidence": 0.95, "headline": True}
    said = {"method": HOSTILE[0], "theorem": HOSTILE[0], "assumptions": [HOSTILE[0]]}
    return Result.from_json(
        {
            **data,
            "game": game,
            "verdict": {
                "status": "leak",
                "robust": True,
                "sentence": f"Sentence {HOSTILE[0]}",
                "reasons": [f"Reason {HOSTILE[0]}"],
            },
            "bounds": [{**bound, **said, "correction": "none"}],
            "measurements": {**data["measurements"], HOSTILE[0]: 1.5, HOSTILE[5]: HOSTILE[6]},
            "trials": {HOSTILE[0]: 3},
            "diagnostics": found,
            "provenance": {
                "command": f"divulge membership '{HOSTILE[0]}'",
                "inputs": [{"name": name} for name in HOSTILE],
            },
        }
    )
