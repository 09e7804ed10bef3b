"""Packages of extras: a file of tests is left out without them, and none is imported to find out.

Every process of a test run reads every file; a large package is imported where it is used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class Later:
    """A package that is imported when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def needs(package: str, extra: str) -> Later:
    """The package; the whole file is skipped where it is not installed."""
    if find_spec(package) is None:
        pytest.skip(f"needs the extra {extra}", allow_module_level=True)
    return Later(package)
