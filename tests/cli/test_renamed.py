"""Options under their old names are understood for one version, and said to be old."""

from __future__ import annotations

import pytest
import small_inputs as small
from commands import run
from hostile import lay_out

from divulge.cli.renamed import current


@pytest.mark.parametrize(
    ("command", "typed", "meant"),
    [
        ("membership", "t.csv --score loss", "t.csv --score loss"),
        ("membership", "t.csv --model m --score loss,rmia", "t.csv --model m --attack loss,rmia"),
        ("membership", "--score=loss --model=m", "--attack=loss --model=m"),
        ("membership", "t.csv --attack learned", "t.csv --combine learned"),
        ("membership", "--model m --attack learned", "--model m --attack learned"),
        ("membership", "--model m --attack scores", "--model m --combine scores"),
        ("membership", "--model m --score loss --attack learned",
         "--model m --attack loss --combine learned"),
        ("membership", "--model m --attack loss", "--model m --attack loss"),
        ("membership", "-- --score --model", "-- --score --model"),
        ("attribute", "--score llr --repetitions 3", "--attack llr --repeats 3"),
        ("leakage", "--out t.csv --result r.json", "--table t.csv --out r.json"),
        ("leakage", "--out r.json", "--out r.json"),
        ("leakage", "--out r.csv --table t.csv", "--out r.csv --table t.csv"),
        ("score", "-o s.csv --attacks loss --rows 9", "--table s.csv --attack loss --chunk 9"),
        ("plan", "--out p.json", "--plan p.json"),
        ("report", "r.json --out p.html", "r.json --report p.html"),
        ("selftest", "--repetitions 9", "--repeats 9"),
        ("retraining", "c.csv --out r.json", "c.csv --out r.json"),
    ],
)  # fmt: skip
def test_old_names_become_todays(command, typed, meant):
    words, notes = current(command, typed.split())
    assert words == meant.split()
    assert bool(notes) == (typed != meant)


def test_an_old_name_works_and_is_said_to_be_old(tmp_path):
    lay_out(small.FILES, tmp_path)
    old = (*small.LEAKAGE_COMMAND, "--out", "old.csv", "--result", "old.json")
    new = (*small.LEAKAGE_COMMAND, "--table", "new.csv", "--out", "new.json")
    first, second = run(*old, cwd=tmp_path), run(*new, cwd=tmp_path)
    assert first.returncode == second.returncode == 0
    assert "divulge: --out is now --table" in first.stderr
    assert "divulge: --result is now --out" in first.stderr
    assert "now" not in second.stderr
    assert first.stdout == second.stdout
    assert (tmp_path / "old.csv").read_bytes() == (tmp_path / "new.csv").read_bytes()


def test_a_bootstrap_of_a_known_propensity_is_refused(tmp_path):
    lay_out(small.FILES, tmp_path)
    words = (*small.MEMBERSHIP_COMMAND, "--propensity", "x", "--bootstrap", "9")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "leave out bootstrap, or propensity" in done.stderr


def test_a_reference_that_no_attack_needs_is_said_not_to_be_opened(tmp_path):
    lay_out(small.FILES, tmp_path)
    done = run(*small.SCORE_COMMAND, "--reference", "nowhere.skops", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "divulge: No attack that was named needs a reference model: 1 not opened." in done.stderr
