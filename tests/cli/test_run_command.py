from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from divulge.cli import app
from divulge.cli.run_file import described, typed
from divulge.errors import InputError

RUNNER = CliRunner()
ROOT = typer.main.get_command(app)


@pytest.fixture
def scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    member = np.arange(600) % 2
    loss = rng.normal(size=600) - 1.5 * member
    lines = [f"{m},{x:.6f}" for m, x in zip(member, loss, strict=True)]
    (tmp_path / "scores.csv").write_text("\n".join(["member,loss", *lines]) + "\n")
    return tmp_path


def test_a_file_repeats_what_a_result_says_of_itself(scores, monkeypatch):
    words = ["membership", "scores.csv", "--delta", "1e-4", "--delta", "1e-5", "--seed", "3"]
    monkeypatch.setattr("sys.argv", ["divulge", *words, "--out", "a.json"])
    assert RUNNER.invoke(app, [*words, "--out", "a.json"]).exit_code == 0
    assert RUNNER.invoke(app, ["run", "a.json", "--save", "audit.toml"]).exit_code == 0
    file = (scores / "audit.toml").read_text()
    found = tomllib.loads(file)
    assert found == {
        "command": "membership", "data": "scores.csv", "delta": [1e-4, 1e-5], "seed": 3,
        "out": "a.json",
    }  # fmt: skip
    (scores / "audit.toml").write_text(file.replace("a.json", "b.json"))
    assert RUNNER.invoke(app, ["run", "audit.toml"]).exit_code == 0
    first, second = (json.loads((scores / f"{n}.json").read_text()) for n in "ab")
    assert first["bounds"] == second["bounds"]
    assert first["provenance"]["seed"] == second["provenance"]["seed"] == 3


def test_words_and_files_are_inverse():
    for line in (
        ["canaries", "audit", "plan.json", "scores.csv", "--score", "a,b"],
        ["retraining", 'a "b".csv', "--correlated"],
        ["membership", "--members", "a", "--nonmembers", "b", "--higher-is-member", "--json"],
    ):
        given = tomllib.loads(described(line, ROOT))
        again = described(typed(given, "x", ROOT), ROOT)
        assert tomllib.loads(again) == given


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "must say which command"),
        ({"command": "membershp"}, "Do you mean 'membership'"),
        ({"command": "canaries"}, "group of commands"),
        ({"command": "membership", "scor": "loss"}, "Do you mean 'score'"),
        ({"command": "membership", "json": 3}, "no option 'json'|true or false"),
        ({"command": "membership", "quick": 3}, "true or false"),
        ({"command": "membership", "seed": {"a": 1}}, "text or a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(given, said):
    with pytest.raises(InputError, match=said):
        typed(given, "audit.toml", ROOT)


def test_bad_files_end_with_an_input_error(tmp_path):
    missing = RUNNER.invoke(app, ["run", str(tmp_path / "no.toml")])
    assert isinstance(missing.exception, InputError)
    (tmp_path / "bad.toml").write_text("command = ")
    bad = RUNNER.invoke(app, ["run", str(tmp_path / "bad.toml")])
    assert isinstance(bad.exception, InputError)
    (tmp_path / "again.toml").write_text('command = "run"\nfile = "x.toml"\n')
    again = RUNNER.invoke(app, ["run", str(tmp_path / "again.toml")])
    assert isinstance(again.exception, InputError)
