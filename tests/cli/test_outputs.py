"""Over all commands: no input is written to, nothing is replaced unasked, all is said at once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

COUNTS = "false_positives,negatives,false_negatives,positives\n5,60,9,60\n8,60,3,60\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Inputs of every command, small."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    n = 400
    x = rng.normal(size=(n, 2))
    table = pd.DataFrame(x, columns=["x_0", "x_1"]).assign(
        member=np.arange(n) % 2, key=np.arange(n), y=(x[:, 0] > 0).astype(int)
    )
    table["loss"] = rng.normal(size=n) - 3.0 * table["member"]
    table["p_1"], table["q_1"] = 0.6, 0.5
    table["p_0"], table["q_0"] = 0.4, 0.5
    table.to_csv(folder / "t.csv", index=False)
    table.iloc[: n // 2].to_parquet(folder / "a.parquet")
    table.iloc[n // 2 :].to_parquet(folder / "b.parquet")
    (folder / "counts.csv").write_text(COUNTS)
    done = run("retraining", "counts.csv", "--out", "r.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    plan = ("canaries", "plan", "t.csv", "--id", "key", "--records", "kept.csv", "--count", "200")
    assert run(*plan, "--features", "x_*", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch) -> Path:
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "membership": (("membership", "t.csv"), ("t.csv",), ("--out", "--report")),
    "membership of two": (
        ("membership", "--members", "a.parquet", "--nonmembers", "b.parquet", "--heldout", "t.csv"),
        ("a.parquet", "b.parquet", "t.csv"), ("--out", "--report"),
    ),
    "attribute": (
        ("attribute", "t.csv", "--label", "y", "--heldout", "a.parquet"),
        ("t.csv", "a.parquet"), ("--out", "--report"),
    ),
    "synthetic": (
        ("synthetic", "--members", "a.parquet", "--nonmembers", "b.parquet", "--target-loss",
         "loss"),
        ("a.parquet", "b.parquet"), ("--out", "--report"),
    ),
    "retraining": (("retraining", "counts.csv"), ("counts.csv",), ("--out", "--report")),
    "leakage": (
        ("leakage", "a.parquet", "--reference", "b.parquet", "--features", "x_*"),
        ("a.parquet", "b.parquet"), ("--table", "--out", "--report"),
    ),
    "canaries audit": (
        ("canaries", "audit", "plan.json", "t.csv"), ("plan.json", "t.csv"), ("--out", "--report"),
    ),
    "canaries plan": (
        ("canaries", "plan", "t.csv", "--id", "key", "--features", "x_*", "--reference",
         "a.parquet", "--overwrite"),
        ("t.csv", "a.parquet"), ("--plan", "--records", "--canaries"),
    ),
    "score": (
        ("score", "--model", "nothing:here", "--members", "a.parquet", "--nonmembers", "b.parquet"),
        ("a.parquet", "b.parquet"), ("--table",),
    ),
    "report": (("report", "r.json"), ("r.json",), ("--report",)),
    "demo": (("demo",), (), ("--out", "--report")),
}  # fmt: skip
SUFFIX = {"--report": ".html", "--records": ".csv", "--canaries": ".csv"}


def place(command: str, option: str, stem: str = "new") -> str:
    table = command in ("score", "leakage") and option == "--table"
    page = command == "report"
    return stem + (".csv" if table else ".html" if page else SUFFIX.get(option, ".json"))


def needed(command: str, *but: str) -> list[str]:
    """Outputs that a command cannot do without."""
    always = {"canaries plan": ("--records",), "leakage": ("--table",)}.get(command, ())
    return [word for o in always if o not in but for word in (o, place(command, o, "else"))]


def content(folder: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in folder.rglob("*")
        if not p.is_fifo()
    }


def refused(folder: Path, *words: str) -> str:
    before = content(folder)
    done = run(*words, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert content(folder) == before
    return done.stderr


EACH = [(name, option) for name, (_, _, options) in COMMANDS.items() for option in options]


@pytest.mark.parametrize(("name", "option"), EACH)
def test_no_input_is_overwritten(folder, name, option):
    words, inputs, _ = COMMANDS[name]
    force = [] if "--overwrite" in words else ["--overwrite"]
    for given in inputs:
        spelled = f"./{given}"
        said = refused(folder, *words, *needed(name, option), option, spelled, *force)
        assert "never written to" in said


@pytest.mark.parametrize(("name", "option"), EACH)
def test_links_devices_and_folders_are_never_replaced(folder, name, option):
    words = COMMANDS[name][0]
    force = [] if "--overwrite" in words else ["--overwrite"]
    link, pipe = place(name, option, "link"), place(name, option, "pipe")
    (folder / "target").write_text("kept")
    (folder / link).symlink_to(folder / "target")
    os.mkfifo(folder / pipe)
    (folder / place(name, option, "sub")).mkdir()
    for where in (link, pipe, place(name, option, "sub")):
        said = refused(folder, *words, *needed(name, option), option, where, *force)
        assert "never replaced" in said
    assert (folder / "target").read_text() == "kept"
    assert (folder / pipe).is_fifo()


@pytest.mark.parametrize(("name", "option"), EACH)
def test_a_file_of_another_kind_needs_to_be_given_up(folder, name, option):
    words = [word for word in COMMANDS[name][0] if word != "--overwrite"]
    there = place(name, option, "mine")
    (folder / there).write_text("a,b\n1,2\n")
    (folder / "plan.json").rename(folder / "other.json")
    typed = ["other.json" if word == "plan.json" else word for word in words]
    assert "--overwrite" in refused(folder, *typed, *needed(name, option), option, there)


@pytest.mark.parametrize(("name", "option"), EACH)
def test_a_place_that_cannot_be_written_is_said_before_the_work(folder, name, option):
    words = COMMANDS[name][0]
    said = refused(folder, *words, *needed(name, option), option, "no/" + place(name, option))
    assert "There is no folder no" in said


@pytest.mark.parametrize("name", [n for n, (_, _, options) in COMMANDS.items() if len(options) > 1])
def test_two_outputs_cannot_share_a_path(folder, name):
    words, _, options = COMMANDS[name]
    (folder / "here").symlink_to(folder)
    same = place(name, options[0])
    said = refused(folder, *words, options[0], same, options[1], f"here/{same}")
    assert "name the same file" in said


@pytest.mark.slow
def test_earlier_results_are_written_over_and_others_when_told(folder):
    audit = ("retraining", "counts.csv", "--out", "out.json", "--report", "out.html")
    for _ in range(2):
        done = run(*audit, cwd=folder)
        assert done.returncode == 0, done.stderr
    (folder / "out.html").write_text("<p>my notes</p>")
    refused(folder, *audit)
    assert run(*audit, "--overwrite", cwd=folder).returncode == 0
    assert "divulge privacy report" in (folder / "out.html").read_text()
    table = ("leakage", "a.parquet", "--reference", "b.parquet", "--features", "x_*", "--table")
    for _ in range(2):
        assert run(*table, "l.parquet", cwd=folder).returncode == 0
    assert next(iter(pd.read_parquet(folder / "l.parquet"))) == "id"


def test_the_json_is_there_even_if_the_page_fails(folder, monkeypatch):
    def fail(*_, **__):
        raise TypeError("no page")

    monkeypatch.setattr("divulge.report.html.write", fail)
    done = run("retraining", "counts.csv", "--out", "out.json", "--report", "p.html", cwd=folder)
    assert done.returncode == 4
    assert json.loads((folder / "out.json").read_text())["game"] == "retraining"
    assert not (folder / "p.html").exists()
    assert "Wrote out.json" in done.stderr


def test_an_output_inside_a_folder_of_inputs_is_refused(folder):
    (folder / "parts").mkdir()
    (folder / "t.csv").rename(folder / "parts" / "t.csv")
    said = refused(folder, "membership", "parts", "--out", "parts/r.json")
    assert "in the folder parts, which is an input" in said
