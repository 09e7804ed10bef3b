"""The ledger of the papers: all files and commands that it names exist, every row has a status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import BUILT

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text()
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
FILES = [q for q in QUOTED if re.match(r"(src|experiments|benchmarks|tests|docs|examples)/\S+$", q)]
SCRIPTS = [q for q in QUOTED if re.match(r"python \S+\.py", q)]
COMMANDS = [q for q in QUOTED if q.startswith("divulge ")]
STATUS = ("works", "different on purpose", "smaller", "ours", "not used", "no experiment")


def rows() -> list[list[str]]:
    """Cells of the tables that end with a status."""
    found, wanted = [], False
    for line in PAGE.splitlines():
        if not line.startswith("|"):
            wanted = False
        elif re.search(r"\|\s*status\s*\|$", line):
            wanted = True
        elif wanted and not line.startswith("|---"):
            found.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


@pytest.mark.parametrize("name", FILES)
def test_files_exist(name):
    assert (ROOT / name.split("#")[0]).exists()


@pytest.mark.parametrize("line", SCRIPTS)
def test_scripts_exist_and_know_their_options(line):
    words = line.split()
    script = ROOT / words[1]
    assert script.exists()
    text = "".join(p.read_text() for p in script.parent.glob("*.py"))
    for word in words[2:]:
        if word.startswith("--"):
            assert f'"{word}"' in text, word


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_exist_and_know_their_options(line):
    words = [w for w in line.split()[1:] if w != "..."]
    found = BUILT
    while hasattr(found, "commands") and words and words[0] in found.commands:
        found = found.commands[words.pop(0)]
    assert found is not BUILT or words == ["--help"]
    known = {"--help", *(o for p in found.params for o in (*p.opts, *p.secondary_opts))}
    for word in words:
        if word.startswith("--"):
            assert word.rstrip(",;:") in known, word


def test_every_row_has_a_status():
    assert len(rows()) > 120
    without = [r[0] for r in rows() if not any(word in r[-1] for word in STATUS)]
    assert without == []
