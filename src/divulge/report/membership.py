"""How the membership game is shown."""

from __future__ import annotations

from divulge.report.presentation import Presentation
from divulge.report.sections import shared_sections
from divulge.report.wording import Words

PRESENTATION = Presentation(
    question="Can an observer of the model tell whether a record was used to train it?",
    sections=shared_sections(Words()),
)
