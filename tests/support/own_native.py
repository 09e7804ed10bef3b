"""What a native library may do to a process that opens a damaged file."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np


class Tried:
    def __init__(self, what: str) -> None:
        self.what = what

    def try_out(self) -> None:
        if self.what == "ask":
            raise RuntimeError("first line\nsecond line")


def open_file(place: Path) -> Tried:
    what = place.read_text()
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "loop":
        time.sleep(600)
    if what == "swell":
        np.ones(1 << 40)
    return Tried(what)
