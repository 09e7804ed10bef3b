"""What every public function of a game shares: its words, what is checked of them, and how it ends.

The same words stand in the same order everywhere: data, columns, model, statistics, seed, work,
output. ``public`` checks those that mean the same in every game, limits the threads, and turns
"nothing can be concluded", wherever it was noticed, into a Result that says so.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

from divulge.data import tables
from divulge.data.renaming import renaming
from divulge.errors import CannotConclude, InputError, require, require_probability, require_seed
from divulge.models.handed import described
from divulge.proof.state import undecided
from divulge.result import Result
from divulge.work.threads import single
from divulge.work.versions import versions
from divulge.work.watching import watched

P = ParamSpec("P")

TABLES = {
    "data": "table",
    "scores": "scores",
    "members": "members",
    "nonmembers": "non-members",
    "generated": "generated records",
    "reference": "reference",
    "heldout": "held-out records",
}
"""Words for tables, and what a table without a file name is called in a result."""
AT_LEAST_ONE = ("repeats", "rows")


def public(
    game: str, *, zero_delta: bool = False
) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """A game's public function; ``zero_delta`` where a delta of 0 means something."""

    def shared(play: Callable[P, Result]) -> Callable[P, Result]:
        limited = single(renaming(play))
        signature = inspect.signature(play)

        @watched()
        @functools.wraps(play)
        def played(*args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError:
                return play(*args, **kwargs)  # which names the function in its own error
            given.apply_defaults()
            check_words(given.arguments, zero_delta=zero_delta)
            try:
                return limited(*args, **kwargs)
            except CannotConclude as reason:
                about = _provenance_of(given.arguments)
                return undecided(game, str(reason), provenance=about)

        return played

    return shared


def check_words(given: Mapping[str, Any], *, zero_delta: bool = False) -> None:
    """InputError for a seed, an error, a delta or a number of times that no game can use."""
    if "seed" in given:
        require_seed(given["seed"])
    if "error" in given:
        require_probability("error", given["error"])
    for delta in given.get("deltas", ()):
        require_probability("delta", delta, zero=zero_delta)
    for word in AT_LEAST_ONE:
        number = given.get(word)
        require(number is None or number >= 1, f"{word} must be at least 1. Found {number!r}.")


def provenance(
    command: str | None,
    seed: int | None,
    inputs: Sequence[Mapping[str, str]],
    model: Mapping[str, str] | None = None,
    **further: Any,
) -> dict[str, Any]:
    """Who computed a result, from what: the same keys in every game."""
    return {
        "command": command,
        **({} if seed is None else {"seed": seed}),
        **further,
        "versions": versions(),
        **({} if model is None else {"model": dict(model)}),
        "inputs": list(inputs),
    }


def _provenance_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance of a call that ended before a game had made its own."""
    inputs = [
        _input(given[word], name) for word, name in TABLES.items() if given.get(word) is not None
    ]
    if isinstance(given.get("plan"), str | os.PathLike):
        inputs.insert(0, tables.fingerprint(given["plan"], None, "plan"))
    model = given.get("model")
    return provenance(
        given.get("command"),
        given.get("seed"),
        [found for found in inputs if found is not None],
        None if model is None else described(model),
    )


def _input(source: Any, name: str) -> dict[str, str] | None:
    try:
        on_disk = isinstance(source, str | os.PathLike)
        return tables.fingerprint(source, None if on_disk else tables.read(source), name)
    except InputError:  # it was not read yet when the reason was found
        return None
