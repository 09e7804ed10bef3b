"""The bar says the rate and the time left, and nothing at all where nobody watches."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from divulge.report import progress


@pytest.mark.parametrize(
    ("speed", "words"),
    [(None, ""), (0.0, ""), (12.34, "12.3/s"), (1500.0, "1.5e+03/s"), (0.05, "20 s each")],
)
def test_a_rate_in_words(speed, words):
    assert progress.rate(speed) == words


def test_a_terminal_sees_rate_and_time_left(monkeypatch):
    seen, clock = io.StringIO(), [0.0]

    def terminal(**_):
        console = Console(file=seen, force_terminal=True, width=120, legacy_windows=False)
        console.get_time = lambda: clock[0]
        return console

    monkeypatch.setattr(progress, "Console", terminal)
    with progress.stages() as advance:
        for done in range(1, 200):  # many a second: the next stage has a rate of its own
            clock[0] += 0.01
            advance("scores", done, 200)
        for done in range(11):
            clock[0] += 4.0
            advance("bootstrap", done, 100)
    shown = seen.getvalue()
    assert "bootstrap" in shown
    assert "10/100" in shown
    assert "4 s each" in shown
    assert "0:06:00" in shown


def test_nobody_sees_nothing(capfd):
    with progress.bar("self-test") as advance:
        advance(1, 3)
    shown = capfd.readouterr()
    assert shown.out == shown.err == ""
