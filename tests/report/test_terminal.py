from __future__ import annotations

from dataclasses import replace

import pytest
from sample import HOSTILE, SAMPLES, hostile, pinned, sample

from divulge.report.presentation import presentation
from divulge.report.terminal import print_bounds, result_text
from divulge.report.wording import STANDINGS
from divulge.result import Result


@pytest.mark.parametrize("game", SAMPLES)
@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_game_fits_its_window(game: str, width: int) -> None:
    lines = result_text(sample(game), width).splitlines()
    assert max(map(len, lines)) <= width
    joined = " ".join(" ".join(lines).split())
    assert sample(game).verdict.status.upper() in joined
    assert ("Measured" in joined) == (game != "leakage")


@pytest.mark.parametrize("game", SAMPLES)
def test_hostile_text_stays_one_visible_line(game: str) -> None:
    said = result_text(hostile(game), 300)
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert HOSTILE[0] in said


def test_the_standing_is_said_once_or_in_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    bounds = [replace(b, standing="proved") for b in sample("canaries").bounds]
    print_bounds(bounds, heading="Bounds")
    said = capsys.readouterr().out
    assert f"proved: {STANDINGS['proved']}" in said
    assert "standing" not in said
    others = [replace(bound, standing="estimated") for bound in bounds[1:]]
    print_bounds([bounds[0], *others], heading="Bounds")
    said = " ".join(capsys.readouterr().out.split())
    assert "standing" in said
    assert f"proved: {STANDINGS['proved']} estimated:" in said


def test_attribute_has_the_last_word_on_its_draws() -> None:
    given = sample("attribute")
    held = given.diagnostics.repetitions
    assert held is not None
    last = " ".join(result_text(given, 300).splitlines()[-2:])
    assert "these trials carry no information." in last
    assert f"{held.count} draws combined: " in last
    silent = replace(held, combined_epsilon=None, combined_mu=float("nan"))
    other = replace(given, diagnostics=replace(given.diagnostics, repetitions=silent))
    assert "combined:" not in result_text(other, 300)
    assert "draws combined" not in result_text(sample("membership"))


def test_synthetic_says_its_figures_once() -> None:
    said = result_text(pinned("synthetic-control"), 200)
    for phrase in (
        "What the record alone gives away (c_lb)",
        "With the model as well ({c + epsilon}_lb)",
        "epsilon~ is a measurement, not a bound",
        "Other audits beside it, in epsilon",
    ):
        assert said.count(phrase) == 1
    assert "c plus epsilon lb" not in said
    spread = result_text(sample("synthetic"), 200)
    assert "Spread over 3 repeats" in spread
    assert "Mean and 95% t-interval: a spread, not a bound." in spread


def test_leakage_shows_each_figure_once() -> None:
    said = result_text(sample("leakage"), 100)
    for phrase in ("Over the records", "power at FPR 0.01", "Most exposed", "retains"):
        assert said.count(phrase) == 1
    far = {"median": 1.0, "p90": 2.0, "p99": 3.0, "largest": None}
    held = {"epsilon_at_1e-05": far, "exact_epsilon_at_1e-05": {**far, "largest": "infinite"}}
    said = result_text(Result("leakage", sample("leakage").verdict, (), held), 200)
    assert "beyond 600" in said
    assert "infinite" in said


def test_a_posterior_is_called_what_it_is() -> None:
    said = result_text(pinned("retraining-options"), 120)
    assert "Posterior under the priors" in said
    assert said.count("if every attack were the strongest") == 2
    assert "They are not confidence bounds." in said
    assert presentation("retraining").question
