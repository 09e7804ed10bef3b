"""The code blocks of README.md and docs run as they stand, and print what they say."""

from __future__ import annotations

import re
import shlex

import pages
import pytest
from commands import run

SHOWN = {b.page for b in pages.blocks("console")}
"""Pages that show what a command prints: their blocks run one after the other, in one folder."""
SLOW = {"docs/start.md"}


def name(page):
    return str(page.relative_to(pages.ROOT))


def play(block):
    exec(compile(block.text, block.name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize(
    "block", [b for b in pages.blocks("python") if b.page not in SHOWN], ids=lambda b: b.name
)
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play(block)


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] * (name(p) in SLOW)) for p in sorted(SHOWN)],
    ids=name,
)
def test_pages_print_what_they_say(page, tmp_path, monkeypatch):
    """Lines after `$ divulge ...` are its output, word for word; `...` stands for any lines."""
    monkeypatch.chdir(tmp_path)
    for block in pages.blocks("python", "console", pages=[page]):
        if block.language == "python":
            play(block)
            continue
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, expected = re.sub(r"\\\n\s*", "", part).partition("\n")
            words = shlex.split(command)
            assert words[0] == "divulge"
            printed = run(*words[1:], columns=100).stdout
            pieces = [re.escape(p) for p in re.split(r"^\.\.\.\n", clean(expected), flags=re.M)]
            assert re.fullmatch("(?s:.*)".join(pieces), clean(printed)), f"{command}\n{printed}"


def clean(text):
    """Without spaces at the ends of lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
