"""How the canary game is shown."""

from __future__ import annotations

from divulge.report.presentation import Presentation
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, LABELS, Advice, Words

WORDS = Words(
    yes="included canaries",
    no="excluded canaries",
    each="a canary",
    one="an included one",
    taken="taken for included",
    happened="a canary was used",
    tell_apart="tell included canaries from excluded ones",
    judgement="coin",
    doubt="the coins were not fair",
    hidden="bias of the coins",
)

PRESENTATION = Presentation(
    advice=Advice(
        by_design=True,
        quiet="Before relying on it, score the canaries with a stronger attack, or plan more of "
        "them for the next training run.",
    ),
    question=(
        "Some records, the canaries, were put into the training data or left out by the flip of "
        "a coin. Can an observer of the model tell how the coins fell?"
    ),
    words=WORDS,
    labels={
        **LABELS,
        "counted": "canaries whose guesses were counted",
        "data_sha256": "SHA-256 of the data",
        "members": "canaries included",
        "nonmembers": "canaries excluded",
        "probability": "probability of inclusion",
        "revealed": "canaries bet on",
        "rows_of_other_records": "rows of the scores that are not canaries",
        "strategy": "how the canaries were chosen",
    },
    checks={
        "plan": (
            "How were the canaries planned?",
            "The plan was written before training and fixes which records are canaries and how "
            "each coin fell. The coins depend on nothing else, so nothing but the model can give "
            "them away.",
        ),
        **CHECKS,
    },
    sections=shared_sections(WORDS),
)
