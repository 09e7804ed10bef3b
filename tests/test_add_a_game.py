"""CONTRIBUTING.md says how a game is added; here its steps are followed word by word."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
ENTRY = '[project.entry-points."divulge.games"]\ndecoys = "divulge_decoys:GAME"'


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package of the page, as an installer would leave it."""
    folder = tmp_path_factory.mktemp("site")
    for name, code in re.findall(
        r"```python\n# (divulge_decoys/\w+\.py)\n(.*?)```", PAGE, re.DOTALL
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(code)
    assert ENTRY in PAGE
    about = folder / "divulge_decoys-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: divulge-decoys\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[divulge.games]\ndecoys = divulge_decoys:GAME\n")
    rng = np.random.default_rng(0)
    heads = rng.integers(0, 2, 400)
    rows = [f"{h},{x:.6f}" for h, x in zip(heads, rng.normal(-2.0 * heads, 1.0), strict=True)]
    (folder / "decoys.csv").write_text("\n".join(["heads,loss", *rows]) + "\n")
    (folder / "same.csv").write_text("heads,loss\n" + "1,0\n" * 400)
    return folder


def divulge(package, *words):
    path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "divulge", *words],
        cwd=package,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_game_plays_and_is_shown(package):
    pytest.importorskip("altair", reason="altair is in the extra report")
    done = divulge(package, "decoys", "decoys.csv", "--out", "r.json", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    assert "gives away its decoys" in done.stdout
    found = json.loads((package / "r.json").read_text())
    assert found["game"] == "decoys"
    assert found["verdict"]["status"] == "leak"
    assert found["provenance"]["inputs"][0]["name"] == "decoys.csv"
    assert "which decoys it was trained on" in (package / "r.html").read_text()
    checked = divulge(package, "check", "r.json", "--claim", "epsilon=0.1")
    assert checked.returncode == 1, checked.stderr


def test_its_help_and_its_errors_are_those_of_every_game(package):
    shown = divulge(package, "decoys", "--help")
    assert "Example: divulge decoys decoys.csv --out result.json" in " ".join(shown.stdout.split())
    wrong = divulge(package, "decoys", "same.csv")
    assert wrong.returncode == 2
    assert "heads must be 0 or 1" in wrong.stderr
    assert divulge(package, "decoys", "decoys.csv", "--error", "2").returncode == 2
