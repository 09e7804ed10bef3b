"""The help of every command: options in groups, readable anywhere, and examples that run."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
import small_inputs as small
from commands import BUILT, run
from hostile import csv, lay_out
from pinned_runs import _labels

from divulge.cli import options

GROUP = "canaries"
COMMANDS = {
    **{name: (name,) for name in BUILT.commands if name != GROUP},
    **{f"{GROUP} {name}": (GROUP, name) for name in BUILT.commands[GROUP].commands},
}
RNG = np.random.default_rng(5)
NETWORKS = b"import torch\n\n\ndef small(seed):\n    return torch.nn.Linear(2, 2)\n"


def examples(name: str) -> list[list[str]]:
    command = BUILT
    for word in COMMANDS[name]:
        command = command.commands[word]
    title, *lines = command.epilog.split("\n\n")
    assert title == ("Examples:" if len(lines) > 1 else "Example:")
    assert all(line.startswith("divulge ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


SLOW = {
    *(("demo", 0), ("demo", 1), ("membership", 1), ("synthetic", 1), ("canaries rehearse", 1)),
    *(("audit", 0), ("audit", 1), ("selftest", 1)),  # test_journeys.py has audits
}
EXAMPLES = [(name, k) for name in COMMANDS for k in range(len(examples(name)))]


def _table(rows: int, **columns: np.ndarray) -> bytes:
    x = {f"x_{j}": RNG.normal(size=rows).round(4) for j in range(2)}
    return csv({**x, **columns})


def files(name: str) -> dict[str, bytes]:
    """The inputs that an example names, as small as they may be."""
    if name == "membership":
        member = np.repeat([1, 0], 300)
        apart = {t: _table(300, y=np.arange(300) % 2) for t in ("train.csv", "test.csv")}
        scores = _table(600, member=member, loss=RNG.normal(-member).round(4))
        return {"scores.csv": scores, **apart}
    if name == "attribute":
        return {"train.csv": csv(_labels(RNG, 120, 3.0))}
    if name == "synthetic":
        tables = ("members.csv", "generated.csv")
        return {t: _table(460, loss=RNG.normal(size=460).round(4)) for t in tables}
    if name in ("leakage", "canaries plan"):
        return {f"{n}.csv": _table(250, key=np.arange(250)) for n in ("data", "ref")}
    if name == "canaries rehearse":
        return {"data.csv": _table(250, y=np.arange(250) % 2), "networks.py": NETWORKS}
    if name == "lineup":
        return {"scores.csv": csv({f"s_{k}": RNG.normal(size=60).tolist() for k in range(4)})}
    if name == "audit":
        return files("membership")
    if name == "run":
        made = {**small.RESULT, "provenance": {"command": "divulge retraining counts.csv"}}
        again = {"audit.toml": b'command = "retraining"\ndata = "counts.csv"\n'}
        return {**small.FILES, **again, "result.json": json.dumps(made).encode()}
    if name in ("score", "shadows"):
        return {"records.csv": _table(100, y=np.arange(100) % 2)}
    if name == "compare":
        return dict.fromkeys(("last.json", "result.json"), small.FILES["result.json"])
    if name in ("retraining", "canaries audit", "check", "report"):
        return small.FILES
    return {}


@pytest.mark.parametrize("columns", [60, pytest.param(100, marks=pytest.mark.slow), 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_is_in_groups_and_ends_with_the_example(name, columns):
    done = run(*COMMANDS[name], "--help", columns=columns)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= columns
    shown = [p for line in lines for p in options.PANELS if line.startswith(f"╭─ {p} ")]
    assert shown == [p for p in options.PANELS if p in shown]
    assert shown or name == "schema"  # which has no option
    words = " ".join(done.stdout.split())
    assert words.endswith(" ".join(" ".join(["divulge", *_shown(e)]) for e in examples(name)))
    assert len(examples(name)) == 2 or name == "schema"  # there is nothing else to say
    narrowest = [line for line in lines if line.startswith("│")]
    assert all(line.endswith("│") for line in narrowest)


def _shown(words: list[str]) -> list[str]:
    """An example as it is shown: its quotes are part of it."""
    return [repr(w) if "*" in w or " " in w else w for w in words]


@pytest.mark.parametrize(
    ("name", "place"),
    [pytest.param(*e, marks=[pytest.mark.slow] * (e in SLOW)) for e in EXAMPLES],
)
def test_the_examples_run(name, place, tmp_path):
    words = examples(name)[place]
    lay_out(files(name), tmp_path)
    if name == "canaries rehearse":
        pytest.importorskip("torch")
    if name in ("score", "shadows"):
        _save_model(tmp_path / "target.skops")
    if "model.skops" in words:
        _save_model(tmp_path / "model.skops")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == (1 if (name, place) == ("check", 1) else 0), done.stderr
    for option in ("--out", "--report", "--table", "--plan", "--records", "--save", "--card"):
        if option in words:
            assert (tmp_path / words[words.index(option) + 1]).exists()


def _save_model(path):
    skops = pytest.importorskip("skops.io")
    from sklearn.linear_model import LogisticRegression

    x = RNG.normal(size=(100, 2))
    skops.dump(LogisticRegression().fit(x, np.arange(100) % 2), path)
