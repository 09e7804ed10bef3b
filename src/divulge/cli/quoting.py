"""No message of the command line repeats the query string of an address that was typed."""

from __future__ import annotations

import sys
from typing import Any

import typer.core

from divulge import addresses


def safe(text: str) -> str:
    """A message without the queries of the addresses on this command line, or of any other."""
    for word in sys.argv[1:]:
        secret = addresses.query(word)
        for form in (secret, repr(secret)[1:-1]):
            if len(form) > 1:
                text = text.replace(form, "")
    return addresses.without_queries(text)


class Commands(typer.core.TyperGroup):
    """The group of all commands; a usage error quotes what was typed, so it is made safe first."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options of the group itself."""
        try:
            return super().make_context(*args, **kwargs)
        except Exception as error:
            _clean(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Read the options of a command, and run it."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            _clean(error)
            raise


def _clean(error: Exception) -> None:
    message = getattr(error, "message", None)
    if isinstance(message, str):
        error.message = safe(message)  # type: ignore[attr-defined]
