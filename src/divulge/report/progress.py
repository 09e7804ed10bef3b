"""Progress on stderr: a bar with rate and time left, or a few lines where nobody watches.

In a notebook it is a bar in the output of the cell (``notebook.py``).

Where stderr is not a terminal each stage is one line with the time elapsed, a long stage one more
every half a minute; once the whole looks longer than that, an estimate of it stands beside.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

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

from divulge.report import notebook
from divulge.report.console import Screen, escape
from divulge.text.durations import duration
from divulge.text.visible import one_line
from divulge.work.watching import in_notebook

PATIENCE = 30.0
"""Seconds after which a stage is spoken of again, and a whole that is worth an estimate."""
Advance = Callable[[str, int, int], None]


class Rate(ProgressColumn):
    """How many per second, or how many seconds each where they are slow."""

    def render(self, task: Task) -> Text:
        return Text(rate(task.finished_speed or task.speed), style="progress.data.speed")


def rate(speed: float | None) -> str:
    """A speed in words; nothing while it is unknown."""
    if not speed:
        return ""
    return f"{speed:.3g}/s" if speed >= 1.0 else f"{1.0 / speed:.3g} s each"


class Lines:
    """One line per stage, and one more every ``PATIENCE`` seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.clock = stream, clock
        self.start = self.spoke = self.since = clock()
        self.stage: str | None = None
        self.done, self.total = 0, 0

    def advance(self, stage: str, done: int, total: int) -> None:
        """Note how far the work is, and say it if it is time; a total of 0 is a remark."""
        now = self.clock()
        if total == 0:
            self._say(now, one_line(stage))
            return
        if total != self.total or done < self.done or self.stage is None:
            self.since = now  # another count: the estimate starts from here
        new = stage != self.stage
        self.stage, self.done, self.total = stage, done, total
        if new or now - self.spoke >= PATIENCE:
            count = f": {done} of {total}" if total > 1 else ""
            self._say(now, f"{one_line(stage)}{count}{self._whole(now)}")

    def finish(self) -> None:
        """The time of the whole, if there was anything to say."""
        if self.stage is not None:
            self._say(self.clock(), "done")

    def _whole(self, now: float) -> str:
        """How long everything takes, by the rate of the present count; empty if not long."""
        if not 0 < self.done < self.total:
            return ""
        whole = self.since - self.start + (now - self.since) * self.total / self.done
        return f" (about {duration(whole)} in all)" if whole > PATIENCE else ""

    def _say(self, now: float, words: str) -> None:
        self.spoke = now
        print(f"[{duration(now - self.start):>7}] {words}", file=self.stream, flush=True)


@contextmanager
def stages(first: str = "reading") -> Iterator[Advance]:
    """Yield ``advance(stage, done, total)``; one bar that changes its title, or lines."""
    if in_notebook():
        shown_there = notebook.bar()
        yield shown_there.advance
        shown_there.finish()
        return
    console = Screen(stderr=True)
    if not console.is_terminal:
        lines = Lines(sys.stderr)
        yield lines.advance
        lines.finish()
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    ) as shown:
        task = shown.add_task(first, total=None)
        now = first

        def advance(stage: str, done: int, total: int) -> None:
            nonlocal now
            if total == 0:  # a remark, which stays
                shown.console.print(escape(one_line(stage)))
                return
            if stage != now:  # another stage has a rate of its own
                now = stage
                shown.reset(task, description=escape(stage))
            shown.update(task, completed=done, total=total)

        yield advance


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Yield ``advance(done, total)``."""
    with stages(title) as advance:
        yield lambda done, total: advance(title, done, total)
