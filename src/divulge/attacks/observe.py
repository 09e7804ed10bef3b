"""From models and a table of records to what the attacks may look at: every model asked once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.attacks.base import Mask, Observed
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import base
from divulge.models.base import Answers, Model
from divulge.models.handed import open_model
from divulge.models.hub import CausalModel

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Question:
    """Which models are asked, and which columns of the records they are shown.

    A model is handed over in any way that ``models/handed.py`` takes.
    ``shadow_columns[k]`` names the column that says which records shadow model k trained on.
    """

    target: Any
    features: tuple[str, ...] = ()
    label: str | None = None
    text: str | None = None
    references: tuple[Any, ...] = ()
    shadows: tuple[Any, ...] = ()
    shadow_columns: tuple[str, ...] = ()

    def check(self, frame: Frame, where: str, *, outside: bool = False) -> None:
        """InputError for a column that the table does not have."""
        require(
            len(self.shadows) == len(self.shadow_columns),
            "Every shadow model needs the column that says which records it was trained on.",
        )
        named = [self.label, self.text, *(() if outside else self.shadow_columns)]
        tables.require_columns(frame, [c for c in named if c is not None], where)
        tables.expand(frame, list(self.features), where)


def observe(
    question: Question,
    frame: Frame,
    needs: Collection[str],
    *,
    where: str = "the table",
    population: Observed | None = None,
    outside: bool = False,
    progress: Progress | None = None,
) -> Observed:
    """Ask every model about the records, for what the attacks need and nothing else.

    With ``outside`` no model trained on any of them, as is the case for a population sample.
    """
    question.check(frame, where, outside=outside)
    target = _spared(open_model(question.target, "the model"), needs)
    answers = _asked(question, target, frame, where, progress)
    labels = None
    if answers.log_probabilities is not None and question.label is not None:
        labels = base.codes(target, answers, frame[question.label], question.label)
    references = question.references if "reference" in needs else ()
    shadows = question.shadows if {"shadows in", "shadows out"} & set(needs) else ()
    lowered = None
    if "lowered" in needs and question.text is not None and answers.tokens is not None:
        small = frame.with_columns(nw.col(question.text).str.to_lowercase())
        lowered = _asked(question, target, small, where, None)

    def beside(model: Any, role: str) -> Answers:
        wanted = needs if role == "shadow" else ()  # a shadow model may play the target
        return _beside(question, target, model, role, frame, where, wanted)

    return Observed(
        target=answers,
        labels=labels,
        texts=_texts(question, [frame]),
        lowered=lowered,
        references=tuple(beside(model, "reference") for model in references),
        shadows=tuple(beside(model, "shadow") for model in shadows),
        inside=_inside(frame, question, where, outside) if shadows else None,
        population=population,
        features=_numbers(question, frame, where) if "features" in needs else None,
    )


def _spared(model: Model, needs: Collection[str]) -> Model:
    """A language model that does not compute what no attack needs."""
    if isinstance(model, CausalModel) and model.vocabulary and "vocabulary" not in needs:
        return replace(model, vocabulary=False)
    return model


def _asked(
    question: Question, model: Model, frame: Frame, where: str, progress: Progress | None
) -> Answers:
    records = base.shown(model, frame, question.features, question.text, where)
    return base.ask(model, records, progress=progress)


def _beside(
    question: Question,
    target: Model,
    given: Any,
    role: str,
    frame: Frame,
    where: str,
    needs: Collection[str],
) -> Answers:
    """The answers of a further model, its classes in the order of the target's."""
    model = _spared(open_model(given, f"the {role} model"), needs)
    if model.gives != target.gives:
        raise InputError(
            f"The {role} model gives {model.gives}, the target {target.gives}: they must give "
            "the same kind of output."
        )
    answers = _asked(question, model, frame, where, None)
    if answers.log_probabilities is None or target.classes is None or model.classes is None:
        return answers
    order = _order(target.classes, model.classes, role)
    return Answers(log_probabilities=answers.log_probabilities[:, order])


def _order(wanted: Sequence[Any], given: Sequence[Any], role: str) -> list[int]:
    place = {str(c): j for j, c in enumerate(given)}
    lacking = [c for c in wanted if str(c) not in place]
    require(
        not lacking and len(wanted) == len(given),
        f"The {role} model must know the target's classes. It lacks {lacking[:5]}."
        if lacking
        else f"The {role} model knows {len(given)} classes, the target {len(wanted)}.",
    )
    return [place[str(c)] for c in wanted]


def _texts(question: Question, frames: Sequence[Frame]) -> list[str] | None:
    if question.text is None:
        return None
    return [str(t) for frame in frames for t in frame[question.text].to_list()]


def _numbers(question: Question, frame: Frame, where: str) -> npt.NDArray[np.float64] | None:
    """The feature columns as numbers, or None where they are not."""
    names = tables.expand(frame, list(question.features), where)
    if not names or not all(frame[c].dtype.is_numeric() for c in names):
        return None
    return base.matrix(frame.select(*names), where)


def _inside(frame: Frame, question: Question, where: str, outside: bool) -> Mask:
    if outside:
        return np.zeros((len(frame), len(question.shadows)), dtype=bool)
    return np.column_stack([tables.truths(frame, c, where) > 0 for c in question.shadow_columns])


def packed(observed: Observed) -> dict[str, npt.NDArray[Any]]:
    """Everything but the texts and the population as named arrays, to be kept on disk."""
    groups = {"target": observed.target, "lowered": observed.lowered}
    groups |= {f"reference{k}": a for k, a in enumerate(observed.references)}
    groups |= {f"shadow{k}": a for k, a in enumerate(observed.shadows)}
    found = {
        f"{group}.{f.name}": getattr(answers, f.name)
        for group, answers in groups.items()
        if answers is not None
        for f in fields(answers)
    }
    found |= {k: getattr(observed, k) for k in ("labels", "inside", "features")}
    return {name: np.asarray(v) for name, v in found.items() if v is not None}


def unpacked(
    parts: Sequence[Mapping[str, npt.NDArray[Any]]], question: Question, frames: Sequence[Frame]
) -> Observed:
    """The inverse of ``packed`` for chunks of records, joined."""

    def answers(group: str) -> Answers | None:
        each = [
            Answers(**{f.name: part.get(f"{group}.{f.name}") for f in fields(Answers)})
            for part in parts
        ]
        return Answers.joined(each) if len(each[0]) else None

    def several(group: str) -> tuple[Answers, ...]:
        found = (answers(f"{group}{k}") for k in range(len(parts[0])))
        return tuple(a for a in found if a is not None)

    def column(name: str) -> Any:
        return np.concatenate([p[name] for p in parts]) if name in parts[0] else None

    target = answers("target")
    assert target is not None
    return Observed(
        target=target,
        labels=column("labels"),
        texts=_texts(question, frames),
        lowered=answers("lowered"),
        references=several("reference"),
        shadows=several("shadow"),
        inside=column("inside"),
        features=column("features"),
    )
