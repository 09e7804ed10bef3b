"""One page for whoever has to sign: the claim, the assumption, the confidence, what to do."""

from __future__ import annotations

from divulge.report import html, wording
from divulge.report.meaning import meaning
from divulge.report.presentation import presentation
from divulge.report.terminal import parameter_name, status, value_text
from divulge.result import Result
from divulge.text import rounding

_MOST = 8
"""Assumptions and reasons on one page; more of them are in the report."""


def page(result: Result) -> str:
    """The summary as one HTML document without scripts."""
    shown = presentation(result.game)
    stated = sorted(result.headline(), key=lambda b: b.parameter != "epsilon")
    assumed = list(dict.fromkeys(a for b in stated for a in b.assumptions))
    reasons = list(result.verdict.reasons)
    return (
        html.environment()
        .get_template("summary.html")
        .render(
            title=f"{result.game[:1].upper()}{result.game[1:]} audit",
            question=shown.question,
            status=status(result),
            status_class=wording.STATUS_CLASSES.get(result.verdict.status, "open"),
            sentence=result.verdict.sentence,
            meaning=meaning(result, shown.words, shown.advice),
            bounds=[
                (parameter_name(b), value_text(b.value), rounding.percent(b.confidence), b.standing)
                for b in stated
            ],
            assumptions=assumed[:_MOST],
            reasons=reasons[:_MOST],
            left_out=max(0, len(assumed) - _MOST) + max(0, len(reasons) - _MOST),
            about=html.about(result),
        )
    )
