"""A disk that takes nothing more: one line of error, and neither half a file nor a lost input."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import joblib  # noqa: F401  which tries shared memory when it is imported
import pytest
import small_inputs as small
from commands import run
from hostile import contents, lay_out

COMMANDS = {
    "membership": (*small.MEMBERSHIP_COMMAND, "--out", "found.json"),
    "attribute": (*small.ATTRIBUTE_COMMAND, "--out", "found.json"),
    "retraining": (*small.RETRAINING_COMMAND, "--out", "found.json"),
    "leakage, Parquet": (*small.LEAKAGE_COMMAND, "--table", "found.parquet"),
    "leakage, CSV": (*small.LEAKAGE_COMMAND, "--table", "found.csv"),
    "plan": small.PLAN_COMMAND,
    "audit": (*small.AUDIT_COMMAND, "--out", "found.json"),
    "score, CSV": small.SCORE_COMMAND,
    "score, Parquet": tuple(w.replace("scored.csv", "s.parquet") for w in small.SCORE_COMMAND),
    "score, kept": tuple(w for w in small.SCORE_COMMAND if w != "--no-cache"),
    "report": small.REPORT_COMMAND,
}


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow: what a full disk does, for whoever may write to any folder."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(name, tmp_path):
    lay_out(small.FILES, tmp_path)
    before = contents(tmp_path)
    with full_disk():
        done = run(*COMMANDS[name], cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("divulge: ")]) == 1
    after = {k: v for k, v in contents(tmp_path).items() if k != ".divulge"}
    assert after == before
