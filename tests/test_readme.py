"""The code blocks of README.md and docs run as they stand, and print what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        pattern = rf"```{language}\n(.*?)```"
        for k, match in enumerate(re.finditer(pattern, page.read_text(), re.DOTALL)):
            found.append((f"{page.name}-{language}-{k}", match.group(1)))
    return found


@pytest.mark.parametrize(
    ("name", "code"), blocks("python"), ids=lambda x: x if "-" in x[:40] else ""
)
def test_python_blocks_run(name, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(("name", "text"), [pytest.param(*b, id=b[0]) for b in blocks("console")])
def test_console_blocks_print_what_they_say(name, text):
    """Lines after `$ divulge ...` are its output, word for word."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        words = shlex.split(command)
        assert words[0] == "divulge"
        done = subprocess.run(
            [sys.executable, "-m", "divulge", *words[1:]],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "100"},
        )
        assert [line.rstrip() for line in done.stdout.splitlines()] == [
            line.rstrip() for line in expected.splitlines()
        ]
