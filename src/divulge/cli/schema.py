"""``divulge schema``: the JSON Schema of a result."""

from __future__ import annotations

import json

import typer

EXAMPLE = "divulge schema"


def command() -> None:
    """Print the JSON Schema of a result, as --out and --json write it."""
    from divulge.result import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
