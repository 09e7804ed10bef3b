from __future__ import annotations

import json
import subprocess
import sys

import pytest
from commands import run


def divulge(*words: str) -> subprocess.CompletedProcess[str]:
    return run(*words)


def test_it_runs_as_a_module():
    words = [sys.executable, "-m", "divulge", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("divulge ")


COUNTS = ("bound", "--trials", "10000", "--guesses", "200", "--correct", "191")


def test_bound_prints_value_method_theorem_and_assumption():
    done = divulge(*COUNTS)
    assert done.returncode == 0
    for text in ("mu", "0.750", "epsilon at delta 1e-05", "recursion", "Theorem 9", "assumes:"):
        assert text in done.stdout


def test_bound_json_owns_stdout():
    done = divulge(*COUNTS, "--json", "--delta", "0", "--delta", "1e-4", "--error", "0.01")
    data = json.loads(done.stdout)
    assert data["schema"] == 1
    assert [(b["parameter"], b["delta"]) for b in data["bounds"]] == [
        ("mu", None),
        ("epsilon", 0.0),
        ("epsilon", 1e-4),
    ]
    for bound in data["bounds"]:
        assert bound["confidence"] == 0.99
        assert bound["correction"] == "none"
        assert bound["assumptions"]
        assert isinstance(bound["headline"], bool)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bound", "--trials", "10", "--guesses", "20", "--correct", "3"), "guesses must lie"),
        (("bound", "--trials", "10", "--guesses", "5", "--correct", "6"), "correct must lie"),
        ((*COUNTS, "--error", "1.5"), "error must lie"),
        ((*COUNTS, "--delta", "1"), "delta must lie"),
        ((*COUNTS, "--delta", "nan"), "delta must lie"),
        ((*COUNTS, "--method", "magic"), "Unknown method"),
        ((*COUNTS, "--method", "steinke", "--tau", "0.1"), "tau"),
        (("selftest", "--only", "nothing like this"), "No case matches"),
    ],
)
def test_bad_input_is_one_message_and_exit_2(words, message):
    done = divulge(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_selftest_json_and_exit_code():
    done = divulge("selftest", "--only", "binomial | null | m=10", "--repeats", "20", "--json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)["rows"]
    assert rows
    assert {
        "bound",
        "mechanism",
        "claimed_error",
        "rate",
        "rate_low",
        "rate_high",
        "verdict",
    } <= set(rows[0])


def test_selftest_table():
    done = divulge("selftest", "--only", "binomial | null | m=10", "--repeats", "20")
    assert "No bound makes false claims" in done.stdout


def test_version():
    assert divulge("--version").stdout.startswith("divulge ")
