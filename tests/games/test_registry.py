"""One registry of games: every place it names exists, and other packages can add to it."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint

import pytest
from sample import sample

import divulge
from divulge.errors import InputError
from divulge.games import registry
from divulge.games.registry import Game
from divulge.report.presentation import Presentation, presentation
from divulge.report.terminal import result_text
from divulge.result import Result
from divulge.work import plugins


def offer(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    """Other packages that offer games: what stands under each name of a module."""
    module = types.ModuleType("other_games")
    for name, value in values.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "other_games", module)
    entries = tuple(EntryPoint(n, f"other_games:{n}", registry.GROUP) for n in values)
    monkeypatch.setattr(plugins, "entry_points", lambda group: entries)


@pytest.mark.parametrize("game", registry.BUILT_IN, ids=lambda game: game.name)
def test_every_place_exists(game: Game) -> None:
    assert callable(game.load("function"))
    assert game.load("command") is not None
    shown = game.load("presentation")
    assert isinstance(shown, Presentation)
    assert shown.question
    assert presentation(game.name) is shown


def test_the_package_offers_every_game() -> None:
    assert {game.name for game in registry.BUILT_IN} <= set(divulge.__all__)


def test_another_package_adds_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Presentation(question="Who is it?", remarks=lambda held: ("The last word.",))
    game = Game("toy", "other_games:toy", presentation="other_games:shown")
    offer(monkeypatch, toy=game)
    monkeypatch.setattr(sys.modules["other_games"], "shown", shown, raising=False)
    assert registry.games()[-1] is game
    assert presentation("toy") is shown
    held = sample("membership")
    said = result_text(Result("toy", held.verdict, held.bounds))
    assert "The last word." in said


def test_a_broken_package_is_one_warning_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, odd=3, other=Game("another", ""), membership=Game("membership", ""))
    with pytest.warns(UserWarning, match="game") as said:
        assert registry.games() == registry.BUILT_IN
    text = [str(w.message) for w in said]
    assert len(text) == 3
    assert "the game 'odd'" in text[1]
    assert "not a Game but int" in text[1]
    assert "calls itself 'another'" in text[2]
    assert "another game has that name" in text[0]


def test_a_game_whose_presentation_fails_is_shown_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, toy=Game("toy", "", presentation="no_such_module:shown"))
    with pytest.warns(UserWarning, match="Cannot load the presentation of the game 'toy'"):
        assert presentation("toy").question == ""
    with pytest.raises(InputError, match="no_such_module"):
        registry.games()[-1].load("presentation")
