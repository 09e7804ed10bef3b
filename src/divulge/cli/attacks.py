"""``divulge attacks``: which attacks there are and what each one needs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from divulge.cli import output


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """List the attacks on membership: what each needs, its sign, and its paper.

    Attacks of other installed packages are listed too (entry points of the group divulge.attacks).
    """
    from divulge.attacks import registry
    from divulge.result import SCHEMA

    added, problems = registry.plug_ins()
    for problem in problems:
        output.say(f"divulge: {problem}", err=True)
    attacks = (*registry.BUILT_IN, *added)
    if as_json:
        listed = [
            {
                "name": attack.name,
                "title": attack.title,
                "paper": attack.paper,
                "lower_is_member": attack.lower_is_member,
                "needs": list(attack.needs),
                "built_in": attack in registry.BUILT_IN,
            }
            for attack in attacks
        ]
        typer.echo(json.dumps({"schema": SCHEMA, "attacks": listed}, indent=2))
        return
    from divulge.report import attacks_text

    attacks_text.print_attacks(attacks)
