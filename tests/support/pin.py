"""Write pinned results anew, where a change of numbers is meant: all of them, or those named."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from commands import run
from pinned_runs import RUNS, Run, write_canary_scores, write_tables

RESULTS = Path(__file__).parents[1] / "pinned" / "results"
VOLATILE = ("provenance", "schema")
"""Who ran it, when and with which versions: different every time."""


def result(run_: Run, folder: Path) -> dict:
    """What the command writes, and how it ends, without what is different every time."""
    if run_.before:
        done = run(*run_.before, "--overwrite", cwd=folder)
        assert done.returncode == 0, done.stderr
        write_canary_scores(folder)
    out = folder / f"{run_.name}.json"
    done = run(*run_.words, "--out", out.name, cwd=folder)
    found = json.loads(out.read_text()) if out.exists() else {"stderr": done.stderr}
    return {"exit": done.returncode} | {k: v for k, v in found.items() if k not in VOLATILE}


def _short(value: Any) -> Any:
    """Ten digits of every number."""
    if isinstance(value, dict):
        return {key: _short(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_short(own) for own in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def main() -> None:
    """Pin the runs named on the command line, or all."""
    names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path.insert(0, str(folder))
        for one in RUNS:
            if not names or one.name in names:
                found = result(one, folder)
                lines = (f"{json.dumps(k)}: {json.dumps(_short(v))}" for k, v in found.items())
                text = "{\n" + ",\n".join(lines) + "\n}\n"
                (RESULTS / f"{one.name}.json").write_text(text)
                said = found.get("verdict", found)
                print(
                    one.name,
                    found["exit"],
                    said.get("status"),
                    said.get("robust"),
                    said.get("stderr"),
                )


if __name__ == "__main__":
    main()
