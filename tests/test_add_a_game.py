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

import divulge

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


TYPED = (
    ("decoys", "decoys.csv", "--out", "r.json", "--report", "r.html"),
    ("check", "r.json", "--claim", "epsilon=0.1"),
    ("decoys", "--help"),
    ("decoys", "same.csv"),
    ("decoys", "decoys.csv", "--error", "2"),
)
TYPE = """
import json, sys
from commands import run
done = [run(*words) for words in json.load(sys.stdin)]
json.dump([(one.returncode, one.stdout, one.stderr) for one in done], sys.stdout)
"""


@pytest.fixture(scope="module")
def done(package):
    """What the commands ended with and printed, in one process that finds the package installed."""
    pytest.importorskip("altair", reason="altair is in the extra report")
    source = Path(divulge.__file__).parents[1]
    path = os.pathsep.join(map(str, (package, Path(__file__).parent / "support", source)))
    ended = subprocess.run(
        [sys.executable, "-c", TYPE],
        cwd=package,
        env={**os.environ, "PYTHONPATH": path},
        input=json.dumps(TYPED),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return dict(zip(TYPED, json.loads(ended.stdout), strict=True))


def test_the_game_plays_and_is_shown(package, done):
    code, out, err = done[TYPED[0]]
    assert code == 0, err
    assert "gives away its decoys" in out
    found = json.loads((package / "r.json").read_text())
    assert found["game"] == "decoys"
    assert found["verdict"]["status"] == "leak"
    assert found["provenance"]["inputs"][0]["name"] == "decoys.csv"
    assert "which decoys it was trained on" in (package / "r.html").read_text()
    assert done[TYPED[1]][0] == 1, done[TYPED[1]]


def test_its_help_and_its_errors_are_those_of_every_game(done):
    _, shown, _ = done["decoys", "--help"]
    assert "Example: divulge decoys decoys.csv --out result.json" in " ".join(shown.split())
    code, _, err = done["decoys", "same.csv"]
    assert code == 2
    assert "heads must be 0 or 1" in err
    assert done[TYPED[4]][0] == 2
