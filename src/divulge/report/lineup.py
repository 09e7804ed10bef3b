"""How line-ups are shown: the ranks of the true values against chance."""

from __future__ import annotations

from typing import Any

from divulge.report.drawing import Drawing, Row, axis, bars, dotted, finish, known, layered
from divulge.report.lazy import alt
from divulge.report.presentation import Presentation
from divulge.report.section import Panel, Section
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, LABELS, Advice, Words
from divulge.result import Diagnostics
from divulge.result.of_lineup import Ranks

WORDS = Words(
    yes="true values",
    no="alternatives",
    each="a candidate",
    one="the true value",
    taken="taken for true",
    happened="a value was in the training data",
    tell_apart="tell true values from alternatives",
    judgement="draw of the alternatives",
    doubt="the alternatives were drawn wrongly",
    hidden="hidden difference between true values and alternatives",
)


TITLE = "rank of the true value (1: the surest)"
_LABELS = 8


def ranks(diagnostics: Diagnostics) -> Drawing | None:
    """How many true values have which rank, and how many would by chance."""
    given = diagnostics.ranks
    edges = [e - 0.5 for e in known(given.edges)] if given else []  # a bar stands on its rank
    if given is None or len(edges) != len(given.records) + 1 or not given.records:
        return None
    rows: list[Row] = [
        {"from": low, "to": high, "count": count, "base": 0}
        for low, high, count in zip(edges[:-1], edges[1:], given.records, strict=True)
    ]
    chance = known(given.by_chance)
    top = 1.2 * max(1.0, *given.records, *chance)
    across = alt.Scale(domain=[edges[0], edges[-1]], nice=False)
    up = alt.Scale(domain=[0, top])
    steps: list[Row] = []
    for low, high, level in zip(edges[:-1], edges[1:], chance, strict=False):
        steps += [{"x": low, "y": level}, {"x": high, "y": level}]
    line = dotted(steps, alt.X("x:Q"), alt.Y("y:Q"))
    drawn = bars(rows, TITLE, "line-ups", across, up, "~s")
    drawn = drawn.encode(x=alt.X("from:Q", title=TITLE, scale=across, axis=_ticks(given)))
    return finish(layered(drawn, line), "Histogram of the ranks of the true values.")


def _ticks(given: Ranks) -> Any:
    """Whole ranks only, the first among them."""
    step = max(1, round(given.candidates / _LABELS))
    return axis("d", values=[1, *range(max(step, 2), given.candidates + 1, step)])


def _note(given: Any) -> str:
    if not isinstance(given, Ranks):
        return ""
    return f"Each line-up has {given.candidates} candidates."


PRESENTATION = Presentation(
    advice=Advice(by_design=True),
    question=(
        "Some values in the training data were drawn at random. Can somebody who sees the model "
        "tell the true value of a record from others drawn just as it was?"
    ),
    words=WORDS,
    labels={
        **LABELS,
        "audited": "line-ups whose guesses may be counted",
        "by_chance": "line-ups expected by chance",
        "canaries": "canaries",
        "column": "column of the drawn value",
        "data_sha256": "SHA-256 of the data",
        "draw": "how it was drawn",
        "rows_of_other_records": "rows of the scores that are not of the plan",
        "copies": "training records that the value stands in",
        "correct_guesses": "true values guessed, of all that were counted",
        "counted": "line-ups that were counted",
        "exposure_max": "largest exposure (log2 of the candidates less log2 of the rank)",
        "exposure_mean": "mean exposure (log2 of the candidates less log2 of the rank)",
        "guesses": "guesses, where all that were counted are guessed",
        "learned_from": "line-ups that taught the guesses",
        "lineups": "line-ups",
        "mean_rank": "mean rank of the true value",
        "mean_rank_by_chance": "mean rank by chance",
        "mean_reciprocal_rank": "mean of one over the rank",
        "most_copies": "training records that one value stands in, at most",
        "records": "records",
        "revealed": "line-ups bet on",
        "top_1": "share of the true values that rank first",
        "top_5_percent": "share of the true values among the first 5% of their candidates",
    },
    checks={
        "planted": (
            "How were the canaries planted?",
            "The plan was written before training. It drew the candidates of every canary, and "
            "then which of them the canary holds, so that nothing but the model can give it away.",
        ),
        **CHECKS,
    },
    sections=shared_sections(
        WORDS,
        groups=(
            Section(
                "ranks",
                "How do the true values rank among their alternatives?",
                "Across: the rank of the true value in its line-up, 1 where the model is surest of "
                "it. Up: how many line-ups have it. Dotted: what chance would give. Bars above "
                "the dotted line on the left are values that the model knows.",
                (Panel("ranks", ranks),),
                note=_note,
            ),
        ),
    ),
)
