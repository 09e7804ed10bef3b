"""Numbers that somebody relies on do not change unnoticed: the results of every game are pinned.

Keys may be added to a result, none may go; numbers agree to eight digits. Where a change is meant,
``python tests/support/pin.py`` writes the results anew, and the changelog says why.
"""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from pin import RESULTS, result
from pinned_runs import RUNS, Run, write_tables

from divulge.result import json_schema

PROVED = {
    "attribute-coins",
    *("attribute-exact", "attribute-published", "attribute-tau"),
    *("canaries-audit", "canaries-loaded", "lineup-groups", "lineup-wide"),
    *("retraining-group", "retraining-options", "retraining-plain", "retraining-sampler"),
}
"""Runs whose assumptions the design or the user vouches for; the others rest on estimates."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("pinned")
    write_tables(where)
    return where


@pytest.mark.parametrize(
    "run", [pytest.param(r, id=r.name, marks=[pytest.mark.slow] * r.slow) for r in RUNS]
)
def test_results_are_those_that_were_pinned(run: Run, folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    pinned = json.loads((RESULTS / f"{run.name}.json").read_text())
    found = result(run, folder)
    assert list(differences(pinned, found)) == []
    jsonschema.validate({"schema": 1, **found}, json_schema())
    # mu from a number of guesses that the scores chose rests on computed worst cases
    standings = {"proved", "numerical"} if run.name in PROVED else {"estimated"}
    assert {b["standing"] for b in found["bounds"] if b["headline"]} <= standings


def test_every_pinned_result_is_run():
    assert {p.stem for p in RESULTS.glob("*.json")} == {r.name for r in RUNS}


def test_a_difference_is_seen():
    pinned = {"bounds": [{"value": 1.0}], "verdict": {"robust": True}}
    assert list(differences(pinned, pinned | {"added": 1})) == []
    assert list(differences(pinned, {"bounds": [{"value": 1.0001}], "verdict": {}})) == [
        "bounds/0/value: 1.0 became 1.0001",
        "verdict/robust is gone",
    ]


def differences(pinned: Any, found: Any, at: str = "") -> Any:
    """What is gone or different, by its place."""
    if isinstance(pinned, dict) and isinstance(found, dict):
        for key, value in pinned.items():
            place = f"{at}/{key}".lstrip("/")
            if key in found:
                yield from differences(value, found[key], place)
            else:
                yield f"{place} is gone"
    elif isinstance(pinned, list) and isinstance(found, list) and len(pinned) == len(found):
        for place, pair in enumerate(zip(pinned, found, strict=True)):
            yield from differences(*pair, f"{at}/{place}")
    elif isinstance(pinned, float) and isinstance(found, (int, float)):
        if not math.isclose(pinned, found, rel_tol=1e-8, abs_tol=1e-8):
            yield f"{at}: {pinned} became {found}"
    elif pinned != found:
        yield f"{at}: {pinned!r} became {found!r}"
