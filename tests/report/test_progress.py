"""The bar says the rate and the time left; where nobody watches, a stage is a line."""

from __future__ import annotations

import io

import pytest

from divulge.report import progress
from divulge.report.console import Screen


@pytest.mark.parametrize(
    ("speed", "words"),
    [(None, ""), (0.0, ""), (12.34, "12.3/s"), (1500.0, "1.5e+03/s"), (0.05, "20 s each")],
)
def test_a_rate_in_words(speed, words):
    assert progress.rate(speed) == words


def test_a_terminal_sees_rate_and_time_left(monkeypatch):
    seen, clock = io.StringIO(), [0.0]

    def terminal(**_):
        console = Screen(file=seen, force_terminal=True, width=120, legacy_windows=False)
        console.get_time = lambda: clock[0]
        return console

    monkeypatch.setattr(progress, "Screen", terminal)
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


def told(*steps: tuple[float, str, int, int]) -> list[str]:
    """What is said of steps (seconds, stage, done, total)."""
    seen, clock = io.StringIO(), [0.0]
    lines = progress.Lines(seen, lambda: clock[0])
    for seconds, stage, done, total in steps:
        clock[0] = seconds
        lines.advance(stage, done, total)
    lines.finish()
    return seen.getvalue().splitlines()


def test_a_stage_is_one_line_with_the_time_elapsed():
    assert told(
        (1.0, "prognostic score", 0, 6),
        (3.0, "propensity", 1, 6),
        (4.0, "bounds", 0, 1),
        *((4.0 + k / 10, "bets", k, 100) for k in range(1, 100)),
    ) == [
        "[    1 s] prognostic score: 0 of 6",
        "[    3 s] propensity: 1 of 6",
        "[    4 s] bounds",
        "[    4 s] bets: 1 of 100",
        "[   14 s] done",
    ]


def test_a_long_stage_is_spoken_of_again_with_an_estimate_of_the_whole():
    steps = [(10.0 + k, "bootstrap", k, 300) for k in range(1, 101)]
    said = told((10.0, "bootstrap", 0, 300), *steps)
    assert said[0] == "[   10 s] bootstrap: 0 of 300"
    assert said[1] == "[   40 s] bootstrap: 30 of 300 (about 5 min in all)"
    assert len(said) == 1 + 3 + 1
    stages = told((0.0, "one", 0, 4), (20.0, "two", 1, 4), (40.0, "three", 2, 4))
    assert stages[1] == "[   20 s] two: 1 of 4 (about 80 s in all)"


def test_the_time_of_earlier_stages_is_part_of_the_whole():
    said = told(
        (0.0, "one", 0, 1), (60.0, "two", 0, 10), (66.0, "two", 1, 10), (96.0, "two", 6, 10)
    )
    assert said[-2] == "[   96 s] two: 6 of 10 (about 2 min in all)"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (99.0, "99 s"), (150.0, "2 min"), (9000.0, "2.5 h")]
)
def test_durations(seconds, words):
    assert progress.duration(seconds) == words


def test_names_do_not_steer_the_terminal(capfd):
    with progress.stages() as advance:
        advance("a\x1b[31m\r[bold]b", 0, 1)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "\x1b" not in shown.err
    assert "\r" not in shown.err


def test_nothing_is_said_before_the_first_stage_nor_after_a_failure(capfd):
    with pytest.raises(ZeroDivisionError), progress.stages():
        raise ZeroDivisionError
    with progress.bar("self-test") as advance:
        advance(1, 3)
    assert capfd.readouterr() == ("", "[    0 s] self-test: 1 of 3\n[    0 s] done\n")
