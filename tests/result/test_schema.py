"""The JSON Schema is that of the types, is shipped, and every result of a game fits it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from sample import RESULTS, document

from divulge.errors import InputError
from divulge.result import Result, json_schema, record

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is in the extra dev")
SHIPPED = json.loads((Path(record.__file__).parent / "result.schema.json").read_text())
CHECKER = jsonschema.Draft202012Validator(SHIPPED)
NAMES = sorted(p.stem for p in RESULTS.glob("*.json"))


def test_the_shipped_schema_is_that_of_the_types():
    assert json_schema() == SHIPPED
    jsonschema.Draft202012Validator.check_schema(SHIPPED)


def test_the_command_prints_it(tmp_path):
    done = run("schema", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout) == SHIPPED


@pytest.mark.parametrize("name", NAMES)
def test_every_pinned_result_fits_and_comes_back_as_it_was(name):
    data = document(name)
    CHECKER.validate(data)
    result = Result.from_json(data)
    written = json.loads(result.dumps())
    CHECKER.validate(written)
    for bound, before in zip(written["bounds"], data["bounds"], strict=True):
        if "standing" not in before:  # pinned before there was a standing
            assert bound.pop("standing") == "estimated"
    assert written == data
    assert Result.from_json(result.to_json()) == result


WRONG = [
    ("game", 7),
    ("verdict", {"status": "leak", "robust": True}),
    ("bounds", [{"parameter": "mu"}]),
    ("measurements", {"auc": 1.2}),
    ("diagnostics", {"roc": {"fpr": "low"}}),
    ("diagnostics", {"wealth": {"goal": "20"}}),
    ("diagnostics", {"tau": [{"tau": 0.1, "epsilon": [1]}]}),
    ("posterior", {"epsilon": 2}),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_what_is_refused_does_not_fit_either(key, value):
    data = document(NAMES[-1]) | {key: value}
    assert not CHECKER.is_valid(data)
    with pytest.raises(InputError, match="Not a divulge result"):
        Result.from_json(data)
