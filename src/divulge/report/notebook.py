"""Progress in a notebook: one line of HTML that is replaced, by any kernel, without widgets."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from typing import Any

from divulge.text.durations import duration
from divulge.text.visible import one_line

OFTEN = 0.2
"""Seconds between two pictures of the same stage."""


class Bar:
    """A bar that changes its title, and goes when the work is done; remarks stay."""

    def __init__(
        self, display: Callable[[Any], Any], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.display, self.clock = display, clock
        self.start = clock()
        self.drawn = -OFTEN
        self.stage: str | None = None
        self.handle: Any = None

    def advance(self, stage: str, done: int, total: int) -> None:
        """Draw how far the work is, unless that was just drawn; a total of 0 is a remark."""
        now = self.clock() - self.start
        if total == 0:
            self.display(Picture(f"<div>{_escaped(stage)}</div>"))
            return
        if stage == self.stage and now - self.drawn < OFTEN and done < total:
            return
        self.stage, self.drawn = stage, now
        self._show(
            f'<div><progress value="{int(done)}" max="{int(total)}"></progress> '
            f"{_escaped(stage)}: {done:,} of {total:,}, {duration(now)}</div>"
        )

    def finish(self) -> None:
        """Leave the time that the work took."""
        if self.handle is not None:
            self._show(f"<div>done in {duration(self.clock() - self.start)}</div>")

    def _show(self, text: str) -> None:
        if self.handle is None:
            self.handle = self.display(Picture(text))
        else:
            self.handle.update(Picture(text))


class Picture:
    """HTML for a notebook, and the same as text for one that shows none."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return html.unescape(re.sub(r"<[^>]*>", "", self.text)).strip()


def bar() -> Bar:
    """A bar in the output of the cell that runs."""
    from IPython.display import display  # type: ignore[import-not-found]

    return Bar(lambda picture: display(picture, display_id=True))


def _escaped(text: str) -> str:
    return html.escape(one_line(text))
