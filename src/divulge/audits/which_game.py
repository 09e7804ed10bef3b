"""Which game fits what was given, with which arguments, and why.

A choice is a call of one game's public function and nothing else: whoever knows that function gets
the same result from it. It is made from the names and the first rows of the tables, never from a
score or a truth beyond these.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from divulge.audits import roles
from divulge.audits.roles import Looked
from divulge.bounds.checks import COLUMNS as COUNTS
from divulge.data import tables
from divulge.data.given import look_at
from divulge.data.views import origin
from divulge.errors import InputError, require
from divulge.games.retraining.read import near
from divulge.models import columns as model_columns
from divulge.models.base import Model
from divulge.models.handed import open_model

_SHOWN = 8


@dataclass(frozen=True)
class Overruled:
    """What somebody named; None or empty is left to the choice."""

    features: tuple[str, ...] = ()
    label: str | None = None
    text: str | None = None
    score: tuple[str, ...] = ()
    truth: str | None = None


NOTHING_NAMED = Overruled()


@dataclass(frozen=True)
class Choice:
    """A game, the arguments of its function, and the reasons in plain words."""

    game: str
    arguments: Mapping[str, Any] = field(repr=False)
    why: str
    notes: tuple[str, ...] = ()
    """What the columns were taken for."""
    score_first: bool = False
    """Whether the model is to be asked about the canaries before the plan is audited."""


def choose(
    data: Any = None,
    *,
    members: Any = None,
    nonmembers: Any = None,
    plan: Any = None,
    model: Any = None,
    wanted: Overruled = NOTHING_NAMED,
) -> Choice:
    """The game for what was given; InputError that says what is missing."""
    if plan is not None:
        return _canaries(plan, data, members, nonmembers, model, wanted)
    if data is not None:
        require(
            members is None and nonmembers is None,
            "Give one table, or members and nonmembers separately; not both.",
        )
        return _one_table(data, model, wanted)
    if members is not None and nonmembers is not None:
        apart = {"members": members, "nonmembers": nonmembers}
        return _membership(apart, model, wanted, "there are members and non-members")
    if members is not None:
        return _members_alone(members, model, wanted)
    raise InputError(
        "There is nothing to audit. Give members and nonmembers (and a model), a table of scores "
        "with a column 'member', a table of error counts, or the plan of canaries."
    )


def _canaries(
    plan: Any, data: Any, members: Any, nonmembers: Any, model: Any, wanted: Overruled
) -> Choice:
    require(
        data is not None and members is None and nonmembers is None,
        "With a plan of canaries, give one table: the scores of all canaries, or the canaries and "
        "a model.",
    )
    why = "there is a plan of canaries: their coins were flipped before training"
    arguments: dict[str, Any] = {"plan": plan, "scores": data}
    seen = roles.look(look_at("the table", data))
    if model is None:
        found = list(wanted.score) or roles.scores_of(seen, seen.columns)
        require(len(found) > 0, f"No column looks like a score. {_name('score', seen.columns)}")
        return Choice("canaries", {**arguments, "score": found}, why, (_said("score", found),))
    target = open_model(model, "the model")
    about, notes = _asked(target, seen, seen.columns, wanted)
    return Choice("canaries", {**arguments, "model": model, **about}, why, notes, True)


def _one_table(data: Any, model: Any, wanted: Overruled) -> Choice:
    seen = roles.look(look_at("the table", data))
    truth = wanted.truth or roles.truth_of(seen)
    if truth is None and model is None and all(near(seen.columns, c) for c in COUNTS):
        why = "the table holds the error counts of attacks on models with and without a record"
        return Choice("retraining", {"data": data}, why)
    if truth is None:
        raise InputError(
            "The table does not say who is a member: no column is called member, is_member or the "
            f"like with two values. Name it with truth, or give members and nonmembers as two "
            f"tables. {_listed(seen.columns)}"
        )
    tables.require_columns(seen.first, [truth], "the table")
    why = f"column {truth!r} says who is a member"
    return _membership({"data": data, "truth": truth}, model, wanted, why)


def _membership(given: Mapping[str, Any], model: Any, wanted: Overruled, why: str) -> Choice:
    sources = [look_at(name, given[name]) for name in given if name != "truth"]
    seen = roles.look(sources[0])
    shared = [c for c in seen.columns if all(c in s.columns for s in sources)]
    require(len(shared) > 0, "The members and the non-members have no column in common.")
    free = [c for c in shared if c != given.get("truth")]
    if model is not None:
        about, notes = _asked(open_model(model, "the model"), seen, free, wanted)
        return Choice("membership", {**given, "model": model, **about}, why, notes)
    found = list(wanted.score) or roles.scores_of(seen, free)
    require(
        len(found) > 0,
        "There is neither a model nor a column that looks like a score of one. Give the model, or "
        f"{_name('score', free, start='name')}",
    )
    features, notes = _features(seen, free, wanted, also=found)
    arguments = {**given, "score": found, "features": features}
    if wanted.text is not None:
        arguments["text"] = wanted.text
    return Choice("membership", arguments, why, (_said("score", found), *notes))


def _members_alone(members: Any, model: Any, wanted: Overruled) -> Choice:
    require(
        model is not None,
        "There are members and nothing to compare them with. Give nonmembers, or the model: then "
        "records are generated to stand in for non-members.",
    )
    seen = roles.look(look_at("the members", members))
    about, notes = _asked(open_model(model, "the model"), seen, seen.columns, wanted)
    require(
        about.get("text") is None,
        "Members alone: texts have to be generated first (see the page on synthetic audits). Give "
        "nonmembers, such as texts that appeared later.",
    )
    why = (
        "there are members and no non-members: generated records stand in for these. Real "
        "non-members would prove more"
    )
    return Choice("synthetic", {"members": members, "model": model, **about}, why, notes)


def _asked(
    target: Model, seen: Looked, columns: Sequence[str], wanted: Overruled
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The columns that a model is shown, and the label it is asked about."""
    require(not wanted.score, "With a model the scores are its own: leave out score.")
    if target.reads == "text":
        text = wanted.text or roles.text_of(seen, columns)
        require(text is not None, f"{target.name} reads text. {_name('text', columns)}")
        return {"text": text}, (f"text: {text}",)
    label = wanted.label or roles.named_like(columns, roles.LABELS)
    read = model_columns.stored(target)
    if read is not None and not wanted.features:
        tables.require_columns(seen.first, read, f"{target.name} was trained on other columns: it")
        features = list(read)
        notes: tuple[str, ...] = (f"features, as the model stores them: {_some(read)}",)
        if label is None:
            rest = [c for c in columns if c not in read and c not in roles.ids_of(seen, columns)]
            label = rest[0] if len(rest) == 1 else None
    else:
        features, notes = _features(seen, columns, wanted, also=[] if label is None else [label])
    if label in features:
        features = [c for c in features if c != label]
    if target.gives == "probabilities" and label is None:
        raise InputError(
            f"{target.name} predicts a label, and none of the columns is called "
            f"{', '.join(roles.LABELS[:4])}. {_name('label', columns)}"
        )
    about: dict[str, Any] = {"features": features}
    if label is not None and target.gives == "probabilities":
        about["label"] = label
        notes = (f"label: {label}", *notes)
    return about, notes


def _features(
    seen: Looked, columns: Sequence[str], wanted: Overruled, also: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """All that the record shows: every column that is nothing else."""
    if wanted.features:
        found = tables.expand(seen.first, list(wanted.features), "the table")
        return found, (_said("features", found),)
    names = roles.ids_of(seen, columns)
    made = [c for c in columns if roles.of_others(c)]
    found = [c for c in columns if c not in (*names, *made, *also)]
    left = [*names, *made]
    notes = [_said("features", found)] if found else []
    if left:
        notes.append(f"not used: {_some(left)}")
    return found, tuple(notes)


def _said(word: str, names: Sequence[str]) -> str:
    return f"{word}: {_some(names)}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _listed(columns: Sequence[str]) -> str:
    return f"Columns: {_some(columns)}."


def _name(option: str, columns: Sequence[str], start: str = "Name") -> str:
    return f"{start} one with {option}. {_listed(columns)}"


def as_options(choice: Choice) -> list[str]:
    """The same call on the command line, word by word; tables and models must be on disk."""
    places = {"data": "", "plan": "", "scores": ""}
    words = ["divulge", *(["canaries", "audit"] if choice.game == "canaries" else [choice.game])]
    for name, value in choice.arguments.items():
        if name == "truth" and value == "member":
            continue
        if name == "features" and not value:
            continue
        shown = ",".join(value) if isinstance(value, list) else _place(value)
        words += [shown] if name in places else [f"--{name.replace('_', '-')}", shown]
    return words


def _place(value: Any) -> str:
    from divulge.models.source import Source

    if isinstance(value, Source):
        return value.shown
    place = origin(value)
    return os.fspath(place) if isinstance(place, str | os.PathLike) else str(place)
