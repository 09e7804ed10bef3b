"""How a command line is read: old names are understood, and the help ends with examples."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from divulge.cli import options, output, renamed


class Command(TyperCommand):
    """A command that also understands the names its options once had."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters in the order of their groups: required ones do not go ahead."""
        place = {panel: k for k, panel in enumerate(options.PANELS, start=1)}
        found = super().get_params(ctx)
        return sorted(found, key=lambda p: place.get(getattr(p, "rich_help_panel", ""), 0))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words, after a note about every old name."""
        words, notes = renamed.current(ctx.info_name or "", list(args))
        for note in notes:
            output.say(f"divulge: {note}", err=True)
        return super().parse_args(ctx, words)


def add(
    app: typer.Typer,
    name: str,
    command: Any,
    example: str | tuple[str, ...],
    panel: str | None = None,
) -> None:
    """Give a command to the application, with examples that its help ends with."""
    several = (example,) if isinstance(example, str) else example
    title = "Example:" if len(several) == 1 else "Examples:"
    epilog = "\n\n".join([title, *several]) if any(several) else None
    app.command(name, cls=Command, epilog=epilog, rich_help_panel=panel)(command)
