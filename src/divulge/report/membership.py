"""How the membership game is shown."""

from __future__ import annotations

from typing import Any

from divulge.report.drawing import COLOURS, Drawing, Row, axis, chart, finish, layered, tooltip
from divulge.report.lazy import alt
from divulge.report.presentation import Presentation
from divulge.report.section import Panel, Section
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, Advice, Words
from divulge.result import Diagnostics
from divulge.result.of_helpers import LadderRecord


def ladder(diagnostics: Diagnostics) -> Drawing | None:
    """The bias of one doubling against the size of the helpers, with its upper limit."""
    rows = ladder_rows(diagnostics.ladder)
    if not rows:
        return None
    base = chart(rows).encode(
        x=alt.X(
            "records:Q",
            title="records that the helpers in the role of the target learned from",
            scale=alt.Scale(type="log", nice=True),
            axis=axis(",d"),
        ),
        tooltip=tooltip(
            **{"records": "records:Q", "epsilon found": "bias:Q", "at most": "upper:Q"}
        ),
    )
    y = alt.Y("bias:Q", title="epsilon found where nothing can leak")
    spans = base.mark_rule(color=COLOURS["first"], strokeWidth=2).encode(y=y, y2="upper:Q")
    limits = base.mark_tick(color=COLOURS["first"], thickness=2).encode(y="upper:Q")
    points = base.mark_point(color=COLOURS["first"], filled=True, size=60).encode(y=y)
    text = "Bias of one doubling against the size of the helpers."
    return finish(layered(spans, limits, points), text)


def ladder_rows(given: LadderRecord | None) -> list[Row]:
    """The rungs of the epsilon at the smallest delta."""
    rungs = [r for r in (given.rungs if given else ()) if r.parameter == "epsilon"]
    least = min((r.delta or 0.0 for r in rungs), default=0.0)
    return [
        {"records": r.records, "helpers": r.helpers, "bias": r.bias, "upper": r.upper}
        for r in rungs
        if (r.delta or 0.0) == least and r.bias is not None and r.upper is not None
    ]


def _facts(given: LadderRecord) -> dict[str, Any]:
    """What stands beside the drawing."""
    return {
        "can be extrapolated": given.extrapolable,
        "helpers of the audit learned from": given.helpers,
        "the target learned from": given.training_size,
        "doublings": given.doublings,
        "adjusted epsilon, if the ladder holds": given.adjusted_epsilon,
    }


LADDER = Section(
    "ladder",
    "May knowledge of the population explain the finding?",
    "Helpers that never saw the audited records play the target, with helpers of half their size "
    "as features: whatever is found is bias, not a leak. Across: how many records they learned "
    "from. Up: the epsilon found before any allowance (dot) and its upper confidence limit (bar), "
    "the bias of one doubling. Deducted for every doubling up to the target's size it gives "
    "the adjusted epsilon, if the ladder holds: a sensitivity analysis, not a lower bound.",
    (Panel("ladder", ladder),),
    note=lambda given: given.sentence,
    facts=_facts,
    numbers=ladder_rows,
)

OWN_CHECKS = {
    "helpers": (
        "Who are the helpers?",
        "Small models of the target's task that learned from other members. Their mean loss is a "
        "feature of the record: what knowledge of the population alone makes of it.",
    ),
    "text": ("What was made of the text?", ""),
    "documents": ("What is a trial?", ""),
}


def remarks(diagnostics: Diagnostics) -> tuple[str, ...]:
    """Text, documents and the ladder, in the terminal."""
    found = (diagnostics.text, diagnostics.documents, diagnostics.ladder)
    return tuple(record.sentence for record in found if record is not None)


PRESENTATION = Presentation(
    advice=Advice(
        explained=True,
        settle="bring the score of a model that never saw these members (--reference-score, with "
        "--training-size and --reference-size), or plan canaries for the next training run",
        settling="negative_control_epsilon",
        further="the reasons above say what the control lacks (it must have learned from about as "
        "many records of the same population, and --training-size and --reference-size must say "
        "so); or plan canaries for the next training run",
        quiet="Before relying on it, try a stronger attack (divulge shadows, then divulge score "
        "--attack all) and more records of both kinds; canaries in the next training run prove "
        "the most.",
        open="Bring non-members that are more like the members (from the same source and time), "
        "more records, or a control model; or plan canaries before the next training run, which "
        "need no comparison at all.",
    ),
    question="Can an observer of the model tell whether a record was used to train it?",
    sections=shared_sections(Words(), doubts=(LADDER,)),
    checks={**CHECKS, **OWN_CHECKS},
    remarks=remarks,
)
