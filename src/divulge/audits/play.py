"""``divulge.audit``: look at what was given, choose the game that fits, and play it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from divulge.audits.which_game import Choice, Overruled, choose
from divulge.data.renaming import renaming
from divulge.games import registry
from divulge.proof.rule import DELTAS
from divulge.result import Result


@renaming
def audit(
    data: Any = None,
    *,
    plan: Any = None,
    members: Any = None,
    nonmembers: Any = None,
    truth: str | None = None,
    score: str | Sequence[str] = (),
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: Any = None,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Audit with whatever there is; the game that fits is chosen, and stands in the result.

    ``members`` and ``nonmembers`` with a ``model``, or ``data`` with scores and a column that says
    who is a member: the membership game. ``members`` and a model alone: generated records stand in
    for non-members. ``data`` with error counts: a posterior of epsilon. A ``plan`` of canaries and
    their scores in ``data`` (or the canaries themselves and a model): what the coins prove. Columns
    are taken for what their names and the model say; ``truth``, ``score``, ``features``, ``label``
    and ``text`` overrule that. ``divulge.audits.choose`` only says what would be played, and why.
    """
    wanted = Overruled(_words(features), label, text, _words(score), truth)
    choice = choose(
        data, members=members, nonmembers=nonmembers, plan=plan, model=model, wanted=wanted
    )
    return play(
        choice,
        deltas=deltas,
        error=error,
        seed=seed,
        n_jobs=n_jobs,
        backend=backend,
        address=address,
        cache=cache,
        command=command,
        progress=progress,
    )


def play(choice: Choice, **options: Any) -> Result:
    """The game with its arguments, and with those of the options that it knows."""
    arguments = _scored(dict(choice.arguments)) if choice.score_first else choice.arguments
    game = registry.find(choice.game)
    assert game is not None
    function = game.load("function")
    known = inspect.signature(function).parameters
    shared = {word: value for word, value in options.items() if word in known}
    result: Result = function(**arguments, **shared)
    return result


def told(choice: Choice) -> tuple[str, ...]:
    """The game, why it fits, and what the columns were taken for."""
    return (f"Game: {choice.game}, because {choice.why}.", *(f"- {note}" for note in choice.notes))


def _scored(arguments: dict[str, Any]) -> dict[str, Any]:
    """The plan's canaries with the loss that the model has on each; line-ups ask it themselves."""
    from divulge.attacks.table import score
    from divulge.games.canaries.plans import load
    from divulge.games.canaries.planting import LineUpPlan

    plan = arguments["plan"]
    made = load(plan) if isinstance(plan, str | os.PathLike) else plan
    if isinstance(made, LineUpPlan):
        return arguments
    about = {k: v for k, v in arguments.items() if k not in ("plan", "scores")}
    table = score(arguments["scores"], attack="loss", keep="*", **about)
    return {"plan": plan, "scores": table, "score": "loss"}


def _words(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
