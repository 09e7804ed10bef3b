"""A result from a stranger is checked whole before anything is read from it."""

from __future__ import annotations

import copy
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from sample import sample

from divulge.errors import InputError
from divulge.result import Bound, Result, Verdict, record
from divulge.text import strict_json

BOUND = {
    "parameter": "epsilon", "delta": 1e-5, "value": 1.5, "confidence": 0.975, "method": "recursion",
    "correction": "balanced", "headline": True, "theorem": "a theorem", "assumptions": ["one"],
}  # fmt: skip
GOOD = {
    "schema": 1,
    "game": "membership",
    "verdict": {"status": "leak", "robust": False, "sentence": "It leaks.", "reasons": ["why"]},
    "bounds": [BOUND, {**BOUND, "parameter": "mu", "delta": None}],
    "measurements": {"auc": 0.7, "gamma_star": 2.5, "tpr_at_fpr": {"0.01": 0.2}},
    "trials": {"members": 3},
    "diagnostics": {
        "roc": {"fpr": [0.0, 1.0], "tpr": [0.0, 1.0], "proven": {"fpr": [0.0], "tpr": [0.1]}},
        "wealth": {"trials": [1, 2], "wealth": [1.0, None], "epsilon": [0.0, 0.1], "goal": 20},
        "tau": [{"tau": 0.1, "epsilon": 1.0, "mu": None}],
    },
    "provenance": {"command": "divulge membership"},
    "posterior": {
        "epsilon": {"q05": 1.0},
        "strength": {"fixed": 0.5},
        "delta": 0.0,
        "highest_density": {"level": 0.9, "epsilon": [[0.5, 1.5]]},
        "if_strongest_attack": {},
    },
    "a key of a later version": [1, 2],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(GOOD)
    *way, last = path.split("/")
    place: Any = data
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    if value is KeyError:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return data


def test_what_is_sound_is_read_and_later_keys_are_let_through(tmp_path):
    place = tmp_path / "r.json"
    place.write_text(json.dumps(GOOD))
    result = Result.load(place)
    assert result.bounds[0] == Bound(**{**BOUND, "assumptions": ("one",)})
    assert result.verdict == Verdict("leak", False, "It leaks.", ("why",))
    assert result.bounds[0].standing == "estimated"  # what does not say more is no more
    assert result.diagnostics.roc.proven.tpr == (0.1,)
    assert Result.from_json(result.to_json()) == result


def test_diagnostics_of_other_games_are_kept_as_they_came():
    data = copy.deepcopy(GOOD)
    data["diagnostics"]["line_up"] = {"candidates": [1, 2]}
    result = Result.from_json(data)
    assert result.diagnostics.other == {"line_up": {"candidates": (1, 2)}}
    assert result.to_json()["diagnostics"]["line_up"] == {"candidates": [1, 2]}


WRONG = [
    ("schema", 2, "schema 1"), ("schema", True, "schema 1"), ("schema", "1", "schema 1"),
    ("game", 7, "game must be a text"), ("game", KeyError, "game is missing"),
    ("verdict", [], "verdict must be an object"), ("verdict", KeyError, "verdict is missing"),
    ("verdict/status", "fine", "verdict.status must be one of"),
    ("verdict/status", None, "verdict.status"),
    ("verdict/robust", "false", "verdict.robust must be true or false"),
    ("verdict/robust", 1, "verdict.robust"), ("verdict/sentence", None, "verdict.sentence"),
    ("verdict/reasons", "why", "verdict.reasons must be a list"),
    ("verdict/reasons/0", 1, r"verdict.reasons\[0\] must be a text"),
    ("bounds", {}, "bounds must be a list"), ("bounds", None, "bounds must be a list"),
    ("bounds/0", 3, r"bounds\[0\] must be an object"),
    ("bounds/1/parameter", "rho", r"bounds\[1\].parameter must be one of mu, epsilon"),
    ("bounds/0/value", -0.1, r"bounds\[0\].value must be a finite number of at least 0"),
    ("bounds/0/value", "1.5", r"bounds\[0\].value"), ("bounds/0/value", True, r"\].value"),
    ("bounds/0/value", None, r"bounds\[0\].value"), ("bounds/0/value", KeyError, "is missing"),
    ("bounds/0/value", float("nan"), r"bounds\[0\].value must be finite. Found nan"),
    ("bounds/0/value", float("inf"), r"bounds\[0\].value must be finite. Found inf"),
    ("bounds/0/confidence", 1.0, r"bounds\[0\].confidence must be a number in \(0, 1\)"),
    ("bounds/0/confidence", 0, r"bounds\[0\].confidence"),
    ("bounds/0/confidence", 95, r"bounds\[0\].confidence"),
    ("bounds/0/delta", 1.0, r"bounds\[0\].delta must be a number in \[0, 1\)"),
    ("bounds/0/delta", None, r"bounds\[0\].delta"), ("bounds/0/delta", -1e-9, r"\].delta"),
    ("bounds/1/delta", 0.0, r"bounds\[1\].delta must be null for mu"),
    ("bounds/0/headline", "false", r"bounds\[0\].headline must be true or false"),
    ("bounds/0/headline", 0, r"bounds\[0\].headline"),
    ("bounds/0/standing", "certain", r"bounds\[0\].standing must be one of proved, numerical"),
    ("bounds/0/correction", "magic", r"bounds\[0\].correction must be one of none"),
    ("bounds/0/method", 1, r"bounds\[0\].method"), ("bounds/0/theorem", None, r"\].theorem"),
    ("bounds/0/assumptions", "one", r"bounds\[0\].assumptions must be a list"),
    ("measurements", [], "measurements must be an object"),
    ("measurements/auc", 1.2, r"measurements.auc must be a number in \[0, 1\]"),
    ("measurements/auc", "0.9", "measurements.auc"),
    ("measurements/gamma_star", "9", "measurements.gamma_star must be a finite number"),
    ("measurements/tpr_at_fpr", [], "measurements.tpr_at_fpr must be an object"),
    ("measurements/tpr_at_fpr/0.01", 7, "measurements.tpr_at_fpr.0.01"),
    ("trials", None, "trials must be an object"), ("provenance", "x", "provenance must be"),
    ("diagnostics", "x", "diagnostics must be an object"),
    ("diagnostics/roc", [], "diagnostics.roc must be an object"),
    ("diagnostics/roc/tpr", "high", "diagnostics.roc.tpr must be a list"),
    ("diagnostics/roc/proven/tpr", [1.5], r"diagnostics.roc.proven.tpr\[0\]"),
    ("diagnostics/wealth/epsilon", ["9"], r"diagnostics.wealth.epsilon\[0\]"),
    ("diagnostics/wealth/goal", "20", "diagnostics.wealth.goal"),
    ("diagnostics/tau/0/epsilon", [1], r"diagnostics.tau\[0\].epsilon"),
    ("diagnostics/tau/0/tau", -1.0, r"diagnostics.tau\[0\].tau must be a finite number of at"),
    ("diagnostics/roc/proven", {"fpr": []}, "diagnostics.roc.proven.tpr is missing"),
    ("posterior", [], "posterior must be an object"),
    ("posterior/delta", KeyError, "posterior.delta is missing"),
    ("posterior/epsilon", 2, "posterior.epsilon must be an object"),
    ("posterior/epsilon/q05", "1.0", "posterior.epsilon.q05 must be a finite number"),
    ("posterior/epsilon/q05", float("-inf"), "posterior.epsilon.q05 must be finite"),
    ("trials/members", 1 << 70, "trials.members is a whole number beyond 64 bits"),
    ("game", "half \ud800", "game holds half a character"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_what_is_wrong_is_said_with_its_place(tmp_path, path, value, message):
    place = tmp_path / "r.json"
    place.write_text(json.dumps(changed(path, value)))
    with pytest.raises(InputError, match=message) as error:
        Result.load(place)
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=message):
        Result.from_json(changed(path, value))


TEXTS = [
    ('{"schema": 1, "schema": 1}', "schema is given twice"),
    ('{"a": {"b": 1, "b": 2}}', "a.b is given twice"),
    ('{"a": [1, NaN]}', r"a\[1\] must be finite"),
    ('{"a b": -Infinity}', r"\['a b'\] must be finite"),
    ('{"a": 1e999}', "a must be finite"),
    ('{"a": 1' + "0" * 5000 + "}", "too large"),
    ("[" * 100_000, "nested more than"),
    ("[" * 40 + "]" * 40, "nested more than"),
    ("{'a': 1}", "is not JSON"),
    ("", "is not JSON"),
    ("null", "schema 1"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS)
def test_texts_that_are_no_plain_json(tmp_path, text, message):
    place = tmp_path / "r.json"
    place.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        Result.load(place)
    assert len(str(error.value)) < 500


def test_files_that_are_too_large_or_no_files_are_not_read(tmp_path):
    place = tmp_path / "large.json"
    with place.open("wb") as stream:
        stream.truncate(strict_json.LARGEST + 1)
    with pytest.raises(InputError, match="has at most"):
        Result.load(place)
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(InputError, match="is not a plain file"):
            Result.load(other)
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InputError, match="Cannot read"):
        Result.load(tmp_path / "latin.json")


def test_every_correction_that_a_game_can_state_is_known():
    from divulge.proof import published, rule

    known = set(record.CORRECTIONS)
    assert set(rule.CORRECTIONS) <= known
    source = Path(published.__file__).read_text()
    assert 'correction="tau" if allowed' in source
    assert "tau" in known


def mutated(data: Any, rng: random.Random) -> Any:
    """The document with one node, anywhere, replaced by something of another kind."""
    data = copy.deepcopy(data)
    nodes: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            nodes.append((value, key))
            if isinstance(value[key], dict | list) and value[key]:
                collect(value[key])

    collect(data)
    kinds = [None, True, "text", "\u202e\x1b[31m", -1, 1e300, [], {}, [[1]], {"a": {"b": [None]}},
             0.5, [None, "x"]]  # fmt: skip
    place, key = rng.choice(nodes)
    place[key] = rng.choice(kinds)
    return data


KINDS = ("membership", "attribute", "synthetic", "retraining", "leakage", "canaries")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_result_is_refused_or_read(kind):
    from divulge.report.terminal import result_text

    data = json.loads(sample(kind).dumps())
    rng = random.Random(kind)
    refused = 0
    for _ in range(16):
        try:
            result = Result.from_json(mutated(data, rng))
        except InputError:
            refused += 1
        else:
            assert "\x1b" not in result_text(result)
    assert 0 < refused < 16


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_result_is_refused_or_drawn(kind):
    from divulge.report import html

    data = json.loads(sample(kind).dumps())
    rng = random.Random(kind)
    drawn = 0
    for _ in range(25):
        try:
            result = Result.from_json(mutated(data, rng))
        except InputError:
            continue
        drawn += html.page(result).startswith("<!")
    assert drawn > 0
