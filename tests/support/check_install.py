"""Does what is published install and run? Built twice, checked, installed where nothing else is.

    python tests/support/check_install.py [--extras]

Wheel and source distribution are built twice and must have the same bytes; ``twine check`` reads
what an index would show; the wheel is installed into a clean environment and audits a small table;
the source distribution is installed over it. With ``--extras`` every extra is resolved, with the
newest versions and with the oldest that pyproject.toml allows, which must come as wheels (nothing
heavy is downloaded), and the demo runs with its own. Needs build, twine and uv.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EPOCH = "1704067200"
"""One moment for every build: that of the files plays no part."""
SOURCES = "causaldata"
"""A package, of data alone, that is published as source only."""
SMOKE = """
import csv, random, subprocess, sys
random.seed(0)
with open("scores.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["member", "loss"])
    rows.writerows([k % 2, random.gauss(-3.0 * (k % 2), 1.0)] for k in range(400))
"""


def run(*words: str | Path, cwd: Path, expect: int = 0) -> str:
    """What a command printed; the check ends where it does not end as expected."""
    own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**own, "SOURCE_DATE_EPOCH": EPOCH},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != expect:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout + done.stderr


def built(folder: Path) -> dict[str, str]:
    """The digests of what a build gives, by file name."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(folder.iterdir())}


def environment(folder: Path) -> Path:
    """A new virtual environment without anything in it; its folder of programs."""
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    return folder / "venv" / ("Scripts" if os.name == "nt" else "bin")


def smoke(programs: Path, folder: Path, version: str) -> None:
    """The version, an audit, and an error that names the extra it needs."""
    said = run(programs / "divulge", "--version", cwd=folder)
    assert version in said, said
    run(programs / "python", "-c", SMOKE, cwd=folder)
    audit = (programs / "divulge", "membership", "scores.csv")
    assert "LEAK" in run(*audit, "--out", "result.json", cwd=folder)
    run(programs / "divulge", "check", "result.json", "--claim", "mu=0.1", cwd=folder, expect=1)
    said = run(*audit, "--report", "report.html", cwd=folder, expect=2)
    assert "divulge[report]" in said, said


def main() -> None:
    """Every step, and one line about each."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--extras", action="store_true", help="also resolve every extra")
    extras = asked.parse_args().extras
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        places = [folder / part for part in ("first", "second")]
        for place in places:
            place.mkdir()
        first, second = map(built, places)
        if first != second:
            sys.exit(f"Two builds differ: {first} and {second}.")
        files = [places[0] / file for file in first]
        print(f"same bytes in two builds: {', '.join(first)}")
        run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=folder)
        print("twine check: passed")
        wheel = next(f for f in files if f.suffix == ".whl")
        source = next(f for f in files if f.suffix != ".whl")
        version = wheel.name.split("-")[1]
        programs = environment(folder)
        pip = (programs / "python", "-m", "pip", "--disable-pip-version-check", "--quiet")
        run(*pip, "install", wheel, cwd=folder)
        smoke(programs, folder, version)
        print(f"wheel of {version}: installed alone, and audits")
        run(*pip, "install", "--no-deps", "--force-reinstall", source, cwd=folder)
        assert version in run(programs / "divulge", "--version", cwd=folder)
        print("source distribution: installed")
        if extras:
            resolve(wheel, sorted(project["optional-dependencies"]), folder)
            run(*pip, "install", f"{wheel}[demo]", cwd=folder)
            run(programs / "divulge", "demo", "--report", "demo.html", cwd=folder)
            print("demo: installed with its extra, and runs")


def resolve(wheel: Path, extras: list[str], folder: Path) -> None:
    """Every extra has versions that go together; what is downloaded is what names them."""
    line = (sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--python", folder / "venv")
    wheels = ("--only-binary", ":all:", "--no-binary", SOURCES)
    oldest = ("--resolution", "lowest-direct", "--reinstall", *wheels)
    for extra in extras:
        run(*line, f"divulge[{extra}] @ {wheel.as_uri()}", cwd=folder)
        asked = ("--requirement", ROOT / "pyproject.toml", "--extra", extra)
        run(*line, *oldest, *asked, cwd=folder)
        print(f"extra {extra}: resolves, with the oldest versions too")


if __name__ == "__main__":
    main()
