"""Options under their old names, for one version: understood, with a note on stderr.

``--out`` is always the result, ``--report`` the page and ``--table`` a table; ``--score`` is a
column and ``--attack`` an attack. To be removed in the version after 0.1.0.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

TABLES = (".parquet", ".pq", ".csv")

Given = dict[str, str | None]
"""The options that were typed, and what stands behind each; None for nothing."""
Rule = Callable[[str | None, Given], str | None]
"""From what stands behind an old name, and the other options, to the new name; None: it is new."""


def _always(name: str) -> Rule:
    return lambda value, given: name


def _table(value: str | None, given: Given) -> str | None:
    old = value is not None and Path(value).suffix.lower() in TABLES and "--table" not in given
    return "--table" if old else None


def _attack(value: str | None, given: Given) -> str | None:
    return "--attack" if "--model" in given else None


def _combine(value: str | None, given: Given) -> str | None:
    """An attack is named ``learned`` too: with a model, and no ``--score``, it is meant."""
    old = value == "scores" or (value == "learned" and not _attack(None, given))
    return "--combine" if old or (value == "learned" and "--score" in given) else None


RENAMED: dict[str, dict[str, Rule]] = {
    "membership": {"--score": _attack, "--attack": _combine},
    "attribute": {"--score": _always("--attack"), "--repetitions": _always("--repeats")},
    "leakage": {"--result": _always("--out"), "--out": _table},
    "score": {
        "--attacks": _always("--attack"),
        "--out": _always("--table"),
        "-o": _always("--table"),
        "--rows": _always("--chunk"),
    },
    "plan": {"--out": _always("--plan")},
    "report": {"--out": _always("--report"), "-o": _always("--report")},
    "selftest": {"--repetitions": _always("--repeats")},
}
"""By command and old name."""


def current(command: str, words: list[str]) -> tuple[list[str], list[str]]:
    """The words of a command line with today's names, and a note for each that was old."""
    rules = RENAMED.get(command, {})
    end = words.index("--") if "--" in words else len(words)
    given = dict(_option(words, at) for at in range(end) if words[at].startswith("-"))
    found, notes = list(words), []
    for at in range(end):
        name, value = _option(words, at)
        new = rules[name](value, given) if name in rules else None
        if new is not None:
            found[at] = new + words[at].removeprefix(name)
            notes.append(f"{name} is now {new}; the old name is accepted for one more version.")
    return found, list(dict.fromkeys(notes))


def _option(words: list[str], at: int) -> tuple[str, str | None]:
    name, equals, value = words[at].partition("=")
    if equals:
        return name, value
    return name, words[at + 1] if at + 1 < len(words) else None
