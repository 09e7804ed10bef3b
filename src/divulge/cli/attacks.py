"""``divulge attacks``: which attacks there are and what each one needs."""

from __future__ import annotations

import json

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge attacks --json",
    "divulge attacks",
)


def command(
    as_json: options.AsJson = False,
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
