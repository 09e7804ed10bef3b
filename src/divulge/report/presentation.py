"""How one game is shown: its question, its words, its sections, and its lines in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rich.console import Console

from divulge.games import registry
from divulge.report.section import Section
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, LABELS, Advice, Words
from divulge.result import Diagnostics, Result


def nothing_printed(result: Result, console: Console) -> frozenset[str]:
    """A game without lines of its own."""
    return frozenset()


def no_remarks(diagnostics: Diagnostics) -> tuple[str, ...]:
    """A game without a last word."""
    return ()


@dataclass(frozen=True)
class Presentation:
    """One game; a game without its own presentation is shown as this is."""

    question: str = ""
    """What it asks, for a reader who has not met it."""
    words: Words = field(default_factory=Words)
    advice: Advice = field(default_factory=Advice)
    labels: Mapping[str, str] = field(default_factory=lambda: LABELS, repr=False)
    checks: Mapping[str, tuple[str, str]] = field(default_factory=lambda: CHECKS, repr=False)
    """Diagnostics shown as tables, in this order: heading and how to read them."""
    sections: tuple[Section, ...] = ()
    names: Mapping[str, str] = field(
        default_factory=lambda: {
            "gdp_equivalent_epsilon": "gdp equivalent epsilon (if Gaussian; no bound)"
        },
        repr=False,
    )
    """What the terminal calls entries, where it is not the key with its underscores opened."""
    lines: Callable[[Result, Console], frozenset[str]] = nothing_printed
    """Prints what the game says before the measurements; returns those that have been said."""
    remarks: Callable[[Diagnostics], tuple[str, ...]] = no_remarks
    """Its last sentences in the terminal."""


def presentation(game: str) -> Presentation:
    """The presentation of a game by its name."""
    found = registry.presentation(game)
    if isinstance(found, Presentation):
        return found
    return Presentation(sections=shared_sections(Words()))
