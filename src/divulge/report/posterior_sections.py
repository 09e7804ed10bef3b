"""What the page shows of a posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from divulge.report import posterior_charts
from divulge.report.section import Panel, Section, scalars


def posterior_sections() -> tuple[Section, ...]:
    """Region, joint posterior, marginals, priors and the sampler."""
    return (
        Section(
            "region",
            "Where do the attacks lie?",
            "Each point is one attack: how often it accused models trained without the record, and "
            "how often it missed models trained with it. An algorithm with a given epsilon allows "
            "no attack below its line. The dotted line is guessing. The line of the weakest attack "
            "is where, by the median strength, the attacks' own spread ends.",
            (Panel("region", posterior_charts.region),),
            numbers=_no_table,
        ),
        Section(
            "joint",
            "Which epsilon and strength go together?",
            "The darker, the more probable. Strong attacks need no more epsilon than they show; "
            "weak ones leave room for more. The frame is the highest-density region.",
            (Panel("joint", posterior_charts.joint),),
            facts=_joint_facts,
            numbers=_no_table,
        ),
        Section(
            "marginals",
            "What is probable for each alone?",
            "Where the posterior follows the prior, the counts say little.",
            (
                Panel("density-epsilon", posterior_charts.epsilon, "epsilon"),
                Panel("density-strength", posterior_charts.strength, "strength"),
            ),
            numbers=_no_table,
        ),
        Section(
            "priors",
            "What if the priors were others?",
            "The same counts under other priors: the bar is the 90% interval of epsilon, the dot "
            "its median. The first line is the one that was used.",
            (Panel("priors", posterior_charts.priors),),
            numbers=posterior_charts.prior_rows,
            names=True,
        ),
        Section(
            "sampler",
            "Does the published sampler agree?",
            "Left: epsilon along its chain; it should wander quickly through its whole range. "
            "Right: how long the chain remembers; the slower the fall, the fewer draws count.",
            (
                Panel("trace", posterior_charts.trace, "Trace"),
                Panel("autocorrelation", posterior_charts.autocorrelation, "Autocorrelation"),
            ),
            numbers=_no_table,
        ),
    )


def _no_table(value: Any) -> None:
    """The series are too long to be read as a table."""


def _joint_facts(value: Any) -> dict[str, Any]:
    level = value.get("level") if isinstance(value, Mapping) else None
    return {"probability of the framed region": level} if level is not None else scalars(value)
