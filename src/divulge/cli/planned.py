"""What a command says of the plan that it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from divulge.cli import output

if TYPE_CHECKING:
    from divulge.games.canaries import LineUpPlan, Plan


def say(made: Plan | LineUpPlan, plan: Path, records: Path, canaries: Path | None) -> None:
    """What was planned, what to do with it, and the digest to publish beforehand."""
    from divulge.data.tables import file_sha256
    from divulge.games.canaries import LineUpPlan

    if isinstance(made, LineUpPlan):
        output.say(f"{len(made)} canaries, each with one of {made.candidates} candidates.")
        output.say(f"Train on {records}. Afterwards score every row of {canaries}, by 'version'.")
    else:
        output.say(
            f"{len(made)} canaries ({made.strategy}), {sum(made.included)} of them included."
        )
        given = "Insert the gradients of" if made.details.get("parameters") else "Train on"
        output.say(f"{given} {records}. Afterwards score every canary, by {made.key!r}.")
    output.say(
        f"{plan} holds the truths: keep it, and the seed, secret from whoever computes the scores."
    )
    output.say(f"sha256 of {plan.name}: {file_sha256(plan)}")
