"""What target and helpers say of the records that are played; all that is slow is a piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.attacks import scoring
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import require
from divulge.games.synthetic import guessers, reading
from divulge.games.synthetic.helper_models import Teach
from divulge.generators.base import Training
from divulge.models.source import Source
from divulge.types import Array
from divulge.work.pieces import Pieces, digest

FIRST = 32
"""Records asked about anew in every run: what the target answers is part of a piece's name."""


@dataclass(frozen=True)
class Work(Training):
    """How the long work of the game is done, and what its pieces are named by."""

    keys: dict[str, Any]
    """Fingerprints of the members and, if it has one, of the model."""
    seed: int = 0

    def say(self, stage: str) -> None:
        """A stage begins."""
        self.tell(stage)(0, 1)

    def asked(self) -> Pieces:
        """Where answers of the model are kept: nowhere if the model has no fingerprint."""
        return self.pieces if "model" in self.keys else Pieces()


@dataclass(frozen=True)
class RecordColumns:
    """Which columns are what."""

    features: tuple[str, ...]
    label: str | None
    target: tuple[str, ...]
    """Columns with losses of the target, where no model is asked."""
    helper: tuple[str, ...]
    text: str | None = None
    """The column of the text, where records are texts."""

    @property
    def record(self) -> tuple[str, ...]:
        """All that makes up a record: the features, the label and the text."""
        return (*self.features, *(c for c in (self.label, self.text) if c is not None))

    @property
    def all(self) -> tuple[str, ...]:
        """The record and the losses that came with it."""
        return (*self.record, *self.target, *self.helper)


def target(
    model: Any, played: Frame, columns: RecordColumns, work: Work, attack: Sequence[str]
) -> tuple[Array, Array | None]:
    """The target's losses, and those of its tokens where the text network is to see them."""
    if model is None:
        return loss_columns(played, columns.target), None
    work.say("querying the target")
    by_token = columns.text is not None and guessers.TEXT in attack

    def ask(some: Frame) -> dict[str, Array]:
        if by_token:
            assert columns.text is not None
            return {"tokens": reading.token_losses(model, some, columns.text)}
        own = columns.features, columns.label, "the records", columns.text
        return {"loss": scoring.losses(model, some, *own)}

    pieces, inputs = work.asked(), _asked(work, played, columns)
    if pieces.folder is not None:  # code may have changed where no name tells it
        inputs["first"] = digest(*ask(played[:FIRST]).values())
    kept = pieces.arrays("target", {**inputs, "by token": by_token}, lambda: ask(played))
    spoken = kept.get("tokens")
    loss = kept["loss"] if spoken is None else np.nanmean(spoken, axis=1)
    return _checked(loss, "of the target")[:, None], spoken


def pixels(played: Frame, columns: RecordColumns) -> Array:
    """The features as images: numbers, or one column of lists."""
    from divulge.generators.images import pixels_of
    from divulge.models.convolution import side_of

    found, _ = pixels_of(played.select(*columns.features), None)
    side_of(len(found))
    return np.column_stack([column.floats() for column in found])


def _asked(work: Work, played: Frame, columns: RecordColumns) -> dict[str, Any]:
    return {
        "model": work.keys.get("model"),
        "records": tables.fingerprint(None, played, "played")["sha256"],
        "features": columns.features,
        "label": columns.label,
        "text": columns.text,
    }


def helpers(
    teach: Teach, columns: RecordColumns, work: Work, progress: Callable[[int, int], None]
) -> Array:
    """The losses of every helper, a column each; they are taught at the same time."""
    asked = _asked(work, teach.played, columns)
    digests = [tables.fingerprint(None, one, "lessons")["sha256"] for one in teach.training_records]

    def inputs(number: int) -> dict[str, Any]:
        return {
            **asked,
            "lessons": digests[number],
            "helper": repr(teach.fresh),
            "seed": work.seed,
        }

    keep = work.asked().tasks("helper", inputs)
    found = work.engine.run(teach, range(len(digests)), keep=keep, progress=progress)
    return np.column_stack([_checked(kept["loss"], "of a helper") for kept in found])


def reading_helpers(
    reader: reading.Reader,
    lessons: tuple[Frame, Frame],
    played: Frame,
    columns: RecordColumns,
    work: Work,
    name: str,
) -> Array:
    """Losses of the helpers of texts, token by token: records, places, helpers."""
    stage = f"training two helpers ({name})"
    work.say(stage)
    assert reader.place is not None
    own = tuple(tuple(frame[reader.column].to_list()) for frame in lessons)
    shown = tuple(played[reader.column].to_list())
    teach = reading.TeachTexts(own, shown, reader.place, work.seed)
    public = Source(reader.place).fingerprint()
    asked = {"played": digest(np.array(shown)), "public": public, "seed": work.seed}

    def inputs(number: int) -> dict[str, Any]:
        return {**asked, "lessons": digest(np.array(own[number]))}

    keep = work.pieces.tasks("helper", inputs)
    found = work.engine.run(teach, range(len(own)), keep=keep, progress=work.tell(stage))
    return np.stack([kept["tokens"] for kept in found], axis=2)


def loss_columns(played: Frame, names: Sequence[str]) -> Array:
    """Losses that came with the records."""
    return np.column_stack([tables.numbers(played, n, "the records") for n in names])


def _checked(loss: Array, whose: str) -> Array:
    bad = ~np.isfinite(loss)
    first = int(np.argmax(bad))
    require(
        not bad.any(),
        f"{int(bad.sum())} losses {whose} are not finite (first: record {first}).",
    )
    return np.asarray(loss, dtype=float)
