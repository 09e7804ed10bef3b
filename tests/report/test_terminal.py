from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sample import attribute, leak

from divulge.report import wording
from divulge.report.terminal import result_text


def test_the_terminal_says_two_lines_more() -> None:
    lines = result_text(attribute(), 200).splitlines()
    assert lines[-2:] == [
        "In 62% of the records the drawn value would equal the true one; these trials carry no "
        "information.",
        "100 replays of the coin flips combined: epsilon at least 1.734 and mu at least 1.2. A "
        "mean over replays is not a bound.",
    ]
    assert "replays" not in result_text(leak())
    odd = replace(attribute(), diagnostics={"proxy": "text", "repetitions": [1]})
    assert "carry no information" not in result_text(odd)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"combined_mu": 0.5}, "All replays of the coin flips combined: mu at least 0.5."),
        ({"combined_mu": 0.5, "count": "[bold]"}, "All replays of"),
        ({"combined_mu": float("nan"), "combined_epsilon": None}, ""),
        ({}, ""),
        (None, ""),
        ("text", ""),
    ],
)
def test_replays_in_words(given: Any, said: str) -> None:
    assert wording.replays(given).startswith(said)
    assert bool(wording.replays(given)) == bool(said)
