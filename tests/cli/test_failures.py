"""Whatever goes wrong is one line on stderr; exit code 1 is a finding and nothing else."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import run

from divulge.cli import failures
from divulge.errors import MissingExtra

BOUND = ("bound", "--trials", "100", "--guesses", "10", "--correct", "9")
READ = ("check", "r.json", "--claim", "mu=1")


def raising(monkeypatch, error: BaseException) -> None:
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("divulge.result.Result.load", fail)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (TypeError("bad\noperand\x1b[31m"), 4, "unexpected error: TypeError: bad operand⟨U+001B⟩"),
        (KeyError("a"), 4, "unexpected error: KeyError: 'a'"),
        (RecursionError("deep"), 4, "unexpected error: RecursionError"),
        (EOFError("short"), 4, "unexpected error: EOFError"),
        (AssertionError(), 4, "unexpected error: AssertionError"),
        (SystemExit(0), 4, "unexpected error: SystemExit"),
        (SystemExit(1), 4, "unexpected error: SystemExit"),
        (OSError("odd"), 4, "unexpected error: OSError: odd"),
        (MemoryError(), 2, "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (PermissionError(errno.EACCES, "Permission denied", "a.csv"), 2, "denied: a.csv"),
        (KeyboardInterrupt(), 130, "interrupted. Nothing was cached"),
    ],
)
def test_every_error_is_one_line(monkeypatch, error, code, words):
    raising(monkeypatch, error)
    done = run(*READ)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("divulge: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    if code == 4:
        for part in ("please report this line", "--debug", "divulge 0", "outside divulge"):
            assert part in done.stderr or part == "outside divulge"


def test_a_long_message_is_cut(monkeypatch):
    raising(monkeypatch, ValueError("x" * 10_000))
    assert len(run(*READ).stderr) < 1000


@pytest.mark.parametrize("place", [0, 1, 5])
def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch, place):
    raising(monkeypatch, TypeError("bad"))
    words = [*READ]
    words.insert(place, "--debug")
    done = run(*words)
    assert done.returncode == 4
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("divulge: unexpected error: TypeError: bad (")
    monkeypatch.setenv(failures.VARIABLE, "1")
    assert "Traceback" in run(*READ).stderr


def test_the_place_in_our_source_is_named(monkeypatch):
    monkeypatch.setattr("divulge.cli.check.output.say", None)
    monkeypatch.setattr("divulge.result.Result.load", lambda path: 7)
    assert "claims.py:" in run(*READ).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",), ("check", "a"), ("check", "--nope"), ("bound", "--trials", "x"),
        ("membership", "a", "b"), ("canaries", "nonsense"), ("check", "a", "--claim"),
        ("\x1b[31m",), ("check", "--\x1b[31m"), ("bound", "--trials", "\x1b[31m"),
    ],
)  # fmt: skip
def test_a_mistyped_command_is_one_line(words):
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("divulge: ")
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr
    assert "--help" in done.stderr


@pytest.mark.parametrize("words", [(), ("canaries",), ("--help",), ("check", "--help")])
def test_help_is_help(words):
    assert "Usage: divulge" in run(*words).stdout + run(*words).stderr


def test_what_is_kept_is_said_of_the_folder_at_hand(tmp_path):
    kept = tmp_path / "kept"
    said = failures.interrupted({"cache": kept, "no_cache": False})
    assert "Nothing was cached" in said
    assert "--cache" in said
    kept.mkdir()
    (kept / "a.piece").write_text("x")
    said = failures.interrupted({"cache": kept, "no_cache": False})
    assert f"Finished pieces are cached in {kept}; the same command resumes" in said
    assert "Nothing was cached" in failures.interrupted({"cache": kept, "no_cache": True})
    assert "--cache" not in failures.interrupted({})


def test_ctrl_c_in_the_midst_of_work_says_how_to_go_on(tmp_path):
    words = ["selftest", "--only", "binomial", "--repeats", "200000", "--n-jobs", "1",
             "--cache", "kept"]  # fmt: skip
    work = subprocess.Popen(
        [sys.executable, "-m", "divulge", *words], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        for _ in range(3000):
            if any((tmp_path / "kept").glob("*.piece")) or work.poll() is not None:
                break
            time.sleep(0.02)
        work.send_signal(signal.SIGINT)
        out, err = work.communicate(timeout=60)
    finally:
        work.kill()
    assert work.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith(
        "divulge: interrupted. Finished pieces are cached in kept"
    )


def test_nobody_reading_is_no_finding():
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "divulge", *BOUND, "--json"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_exit_code_1_stands_for_findings_only():
    """``Exit(1)``: the self-test convicts, or its ledger does or is not complete."""
    folder = Path(failures.__file__).parent
    found = {
        path.name: path.read_text().count("Exit(1)")
        for path in folder.glob("*.py")
        if "Exit(1)" in path.read_text()
    }
    assert found == {"selftest.py": 2}


def test_a_missing_extra_is_installed_from_an_index_or_from_a_clone(tmp_path, monkeypatch):
    def missing():
        raise MissingExtra("altair", "report")

    monkeypatch.setattr("divulge.report.html.require_charts", missing)
    (tmp_path / "scores.csv").write_text("member,loss\n1,0.5\n0,0.7\n")
    done = run("membership", "scores.csv", "--report", "report.html", cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'divulge[report]'" in done.stderr
    assert done.stderr.endswith("In a clone of the repository: pip install -e '.[report]'\n")
    monkeypatch.setattr(failures, "_SOURCE", tmp_path / "site-packages" / "divulge")
    elsewhere = run("membership", "scores.csv", "--report", "report.html", cwd=tmp_path)
    assert "clone" not in elsewhere.stderr
