"""Notes which functions of divulge a process runs, and its children: Python imports this first.

``docs/scripts/ran.py`` puts this folder on the path, and says where to write and what to look at.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType

_FUNCTION = 0x1
"""A flag of code that bodies of modules and classes do not have."""


def _watch(source: str, into: str) -> None:
    known: set[CodeType] = set()

    def entered(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code in known:
            return
        known.add(code)
        if code.co_flags & _FUNCTION and code.co_filename.startswith(source):
            place = code.co_filename[len(source) :].lstrip(os.sep)
            with open(os.path.join(into, str(os.getpid())), "a") as file:
                file.write(f"{place} {code.co_qualname.split('.')[0]}\n")

    sys.settrace(entered)  # type: ignore[arg-type]
    threading.settrace(entered)  # type: ignore[arg-type]


if "DIVULGE_RAN" in os.environ:
    _watch(os.environ["DIVULGE_SOURCE"], os.environ["DIVULGE_RAN"])
