"""How the canary game is shown."""

from __future__ import annotations

from divulge.report.presentation import Presentation
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, LABELS, Words

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
    hidden="hidden unfairness of the coins",
)

PRESENTATION = Presentation(
    question=(
        "Some records, the canaries, were put into the training data or left out by the flip of a "
        "coin. Can somebody who sees the model tell how the coins fell?"
    ),
    words=WORDS,
    labels={
        **LABELS,
        "counted": "canaries whose guesses were counted",
        "data_sha256": "SHA-256 of the data",
        "fpr": "excluded canaries taken for included",
        "members": "canaries included",
        "nonmembers": "canaries left out",
        "probability": "probability of inclusion",
        "revealed": "canaries bet on",
        "rows_of_other_records": "rows of the scores that are no canaries",
        "strategy": "how the canaries were chosen",
        "tpr": "included canaries recognised",
        "tpr_at_fpr": "included canaries recognised at a share of excluded ones taken for included",
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
