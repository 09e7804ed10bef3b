"""Names and values from files never steer the terminal, whichever command shows them."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

from divulge.text.visible import json_text, one_line, visible

EVIL = "x\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202egnp\u2028[bold red]"
TURNS = "\u202e\u2066\u2028"


def harmless(text: str) -> bool:
    seen = [c for c in text if unicodedata.category(c) == "Cc" or c in TURNS]
    return set(seen) <= {"\n"}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    member = np.arange(400) % 2
    loss = rng.normal(size=400) - 3.0 * member
    pd.DataFrame({"member": member, EVIL: loss, "loss": loss}).to_parquet(folder / "t.parquet")
    table = pd.DataFrame({"id": [f"{EVIL}{k}" for k in range(60)], "a": rng.normal(size=60)})
    table.to_parquet(folder / "l.parquet")
    done = run("membership", "t.parquet", "--score", EVIL, "--higher-is-member", "--out", "r.json",
               "--no-cache", cwd=folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert harmless(done.stdout + done.stderr)
    assert "⟨U+001B⟩" in done.stdout
    data = json.loads((folder / "r.json").read_text())
    data["verdict"] |= {"status": "cannot conclude", "robust": False, "sentence": EVIL}
    data["game"] = EVIL
    data["bounds"][0]["method"] = EVIL
    data["measurements"][EVIL] = EVIL
    (folder / "open.json").write_text(json.dumps(data))
    data["schema"] = EVIL
    (folder / "bad.json").write_text(json.dumps(data))
    (folder / "no\x1b[31m.json").write_text("[]")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("membership", "t.parquet", "--score", "los"),
        ("membership", "t.parquet", "--score", EVIL + "*"),
        ("membership", "t.parquet", "--score", EVIL, "--higher-is-member", "--json", "--no-cache"),
        ("membership", EVIL),
        ("leakage", "l.parquet", "--reference", "l.parquet", "--features", "a", "--id", "id"),
        ("leakage", "l.parquet", "--reference", "t.parquet"),
        ("retraining", "t.parquet"),
        ("attribute", "t.parquet", "--label", "y"),
        ("synthetic", "--members", "t.parquet", "--target-loss", "y"),
        ("canaries", "plan", "t.parquet", "--records", "out.csv", "--id", EVIL),
        ("canaries", "audit", "open.json", "t.parquet"),
        ("score", "--model", EVIL, "--data", "t.parquet", "--table", "s.csv"),
        ("check", "open.json", "--claim", "mu=1"),
        ("check", "bad.json", "--claim", "mu=1"),
        ("check", "no\x1b[31m.json", "--claim", "mu=1"),
        ("check", "open.json", "--claim", EVIL),
        ("report", "open.json", "--report", "page\x1b[31m.html"),
        ("selftest", "--only", EVIL),
        ("bound", "--trials", "9", "--guesses", "9", "--correct", "9", "--method", EVIL),
    ],
)
def test_nothing_but_line_feeds_reaches_the_terminal(made, words):
    done = run(*words, cwd=made)
    assert done.stdout + done.stderr
    assert harmless(done.stdout), repr(done.stdout)
    assert harmless(done.stderr), repr(done.stderr)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 2, 3)


def test_a_name_cannot_forge_a_line(made):
    from divulge.report.terminal import result_text
    from divulge.result import Result, Verdict

    forged = Result("membership", Verdict("leak", True, "a\nNO EVIDENCE: b"), (),
                    measurements={"x\nLEAK": "y\nz"})  # fmt: skip
    assert not [n for n in result_text(forged).splitlines() if n.startswith(("NO", "LEAK ", "z"))]


def test_json_holds_the_same_text_without_the_characters():
    text = json.dumps({EVIL: EVIL}, ensure_ascii=False)
    assert json.loads(json_text(text)) == {EVIL: EVIL}
    assert harmless(json_text(text))


def test_ordinary_text_is_left_alone():
    for text in ("naïve café", "العمر", "日本語", "a b", "👩\u200d🔬"):
        assert visible(text) == one_line(text) == text
