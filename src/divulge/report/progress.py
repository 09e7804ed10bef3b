"""A progress bar on stderr with rate and time left; silent where stderr is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Rate(ProgressColumn):
    """How many per second, or how many seconds each where they are slow."""

    def render(self, task: Task) -> Text:
        return Text(rate(task.finished_speed or task.speed), style="progress.data.speed")


def rate(speed: float | None) -> str:
    """A speed in words; nothing while it is unknown."""
    if not speed:
        return ""
    return f"{speed:.3g}/s" if speed >= 1.0 else f"{1.0 / speed:.3g} s each"


@contextmanager
def stages(first: str = "reading") -> Iterator[Callable[[str, int, int], None]]:
    """Yield ``advance(stage, done, total)``; one bar that changes its title."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as shown:
        task = shown.add_task(first, total=None)
        now = first

        def advance(stage: str, done: int, total: int) -> None:
            nonlocal now
            if stage != now:  # another stage has a rate of its own
                now = stage
                shown.reset(task, description=stage)
            shown.update(task, completed=done, total=total)

        yield advance


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Yield ``advance(done, total)``."""
    with stages(title) as advance:
        yield lambda done, total: advance(title, done, total)
