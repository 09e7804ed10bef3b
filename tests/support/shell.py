"""Commands that pages show, held against the real command line: nothing is run."""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

from commands import BUILT

ROOT = Path(__file__).parents[2]
OUTSIDERS = {"cd", "dask", "git", "mlflow", "pip", "ray", "sha256sum"}
"""Programs of others."""


def lines(text: str) -> list[str]:
    """The commands of a block: continued lines joined, comments and prompts left out."""
    joined = re.sub(r"\\\n\s*", " ", text)
    parts = []
    for line in joined.splitlines():
        words = shlex.split(line, comments=True)
        while "&&" in words:
            cut = words.index("&&")
            parts.append(shlex.join(words[:cut]))
            words = words[cut + 1 :]
        if words:
            parts.append(shlex.join(words))
    return parts


def check(line: str, *, whole: bool = True) -> None:
    """Fail unless the command exists and understands these words.

    Words in a sentence (``whole=False``) need not be a complete command.
    """
    if " && " in line:
        for part in line.split(" && "):
            check(part, whole=whole)
        return
    words = [w for w in shlex.split(line) if w not in ("...", "$")]
    while words and re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    first = words.pop(0).removeprefix(".venv/bin/").removeprefix(".venv-peers/bin/")
    if first == "divulge":
        _divulge(words, whole)
    elif first == "python" and words and words[0].endswith(".py"):
        _script(words)
    elif first == "make":
        unknown = {w for w in words if not re.match(r"-|[A-Z]+=", w)} - targets()
        assert not unknown, f"make has no target {unknown}"
    elif first == "pip":
        for given in re.findall(r"\[([\w,]+)\]", " ".join(words)):
            assert set(given.split(",")) <= extras(), given
    else:
        assert first in OUTSIDERS or (ROOT / first).exists(), f"{first!r} is not known"


def _divulge(words: list[str], whole: bool) -> None:
    found, path = BUILT, "divulge"
    while hasattr(found, "commands") and words and words[0] in found.commands:
        path += f" {words[0]}"
        found = found.commands[words.pop(0)]
    if hasattr(found, "commands") and not whole and not words:
        return
    known = {"--help", "--debug", *(o for p in found.params for o in (*p.opts, *p.secondary_opts))}
    unknown = {w.split("=")[0].rstrip(",;:") for w in words if re.match(r"--\w", w)} - known
    assert not unknown, f"{path} has no option {unknown}"
    if not whole or "--help" in words:
        return
    context = found.context_class(found, info_name=path)
    given, rest, _ = found.make_parser(context).parse_args([w for w in words if w != "--debug"])
    assert not rest, f"{path}: too many words {rest}"
    for p in found.params:
        p.handle_parse_result(context, given, rest)  # missing, or of the wrong type: an error


def _script(words: list[str]) -> None:
    script = ROOT / words[0]
    assert script.exists(), f"{words[0]} does not exist"
    text = "".join(p.read_text() for p in script.parent.glob("*.py"))
    for word in words[1:]:
        if word.startswith("--"):
            assert f'"{word.split("=")[0]}"' in text, f"{words[0]} has no option {word}"


@cache
def options() -> frozenset[str]:
    """Every option of every command, old names too, and of the scripts."""
    found, todo = {"--help"}, [BUILT]
    while todo:
        command = todo.pop()
        todo += getattr(command, "commands", {}).values()
        found |= {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    for place in ("benchmarks/*.py", "experiments/*.py", "src/divulge/cli/renamed.py"):
        for script in ROOT.glob(place):
            found |= set(re.findall(r'"(--[\w-]+)"', script.read_text()))
    return frozenset(found)


@cache
def targets() -> frozenset[str]:
    """What make can make."""
    return frozenset(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def extras() -> frozenset[str]:
    """The extras of the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return frozenset(project["optional-dependencies"])
