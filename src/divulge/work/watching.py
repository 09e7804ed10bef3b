"""Who watches long work that Python called? A notebook, unless it is told not to.

``progress=True`` and ``progress=False`` decide for a call, the variable ``DIVULGE_PROGRESS`` (1 or
0) for a process. A function of one's own is called with the stage, what is done and the total.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "DIVULGE_PROGRESS"
_inside: ContextVar[bool] = ContextVar("watched", default=False)


def watched(title: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Show how far a function is; ``title`` names its work where that has one stage only."""

    def shared(function: Callable[P, R]) -> Callable[P, R]:
        plain = cast(Callable[..., R], function)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            given = kwargs.get("progress")
            if not wanted(given):
                own = {"progress": None} if isinstance(given, bool) else {}
                return plain(*args, **{**kwargs, **own})
            from divulge.report import progress

            shown: Any = progress.stages() if title is None else progress.bar(title)
            before = _inside.set(True)
            try:
                with shown as advance:
                    return plain(*args, **{**kwargs, "progress": advance})
            finally:
                _inside.reset(before)

        return called

    return shared


def wanted(given: Any) -> bool:
    """Whether a call is to show a bar of ours; one inside of a call that does shows none."""
    if _inside.get() or (given is not None and not isinstance(given, bool)):
        return False
    if given is not None:
        return given
    said = os.environ.get(VARIABLE, "").strip().lower()
    return said not in ("0", "false", "no", "off") if said else in_notebook()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "ipykernel" in sys.modules and getattr(shell, "kernel", None) is not None
