"""What helpers learn from, and what is recognised as a text: all that concerns them in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from divulge.data import stored, tables
from divulge.data.features import Features, encode
from divulge.data.given import Given
from divulge.data.tables import Frame
from divulge.errors import require
from divulge.games.membership import documents
from divulge.games.membership.pools import Pools
from divulge.models import base
from divulge.models.handed import estimator, open_model
from divulge.models.language import load
from divulge.models.source import Source
from divulge.result.of_helpers import HelpersRecord, TextRecord
from divulge.shift import helper_losses
from divulge.shift import texts as texts_
from divulge.types import Array, Index

AUTO = helper_losses.FEWEST
LOOKED_AT = 200
WORDS_OF_A_TEXT = 8
DIFFERENT = 0.5
TOKEN_WORDS = ("perplexity", "ppl", "nll", "token", "min_k", "mink", "zlib", "bits_per", "bpb")
GIVEN = (
    "their losses came with the table; that none of them learned from an audited record is the "
    "user's word"
)


@dataclass(frozen=True)
class Wishes:
    """What the user asks for beyond scores and features."""

    helpers: int = 0
    learner: str = "auto"
    helper_loss: tuple[str, ...] = ()
    public_model: str | None = None
    document: str | None = None
    training_size: int | None = None
    reference_size: int | None = None

    @classmethod
    def of(
        cls,
        helpers: str | int,
        learner: str,
        helper_loss: str | Sequence[str],
        public_model: Any,
        document: str | None,
        training_size: int | None,
        reference_size: int | None = None,
    ) -> Wishes:
        """The words of the public function, checked."""
        losses = (helper_loss,) if isinstance(helper_loss, str) else tuple(helper_loss)
        number = {"none": 0, "auto": AUTO}.get(str(helpers))
        if number is None:
            spelled = str(helpers)
            require(
                spelled.isdecimal() and int(spelled) >= helper_losses.FEWEST,
                f"helpers must be auto, none or a number of at least {helper_losses.FEWEST}, whose "
                f"mean loss is used. Found {helpers!r}.",
            )
            number = int(spelled)
        require(
            not (number and losses),
            "Helpers are trained (helpers), or their losses are given (helper_loss): not both.",
        )
        require(
            training_size is None or training_size >= 1,
            f"training_size must be at least 1. Found {training_size!r}.",
        )
        require(
            reference_size is None or reference_size >= 1,
            f"reference_size must be at least 1. Found {reference_size!r}.",
        )
        require(
            reference_size is None or training_size is not None,
            "reference_size is compared with the number of records that the target learned from: "
            "give training_size too.",
        )
        require(
            training_size is None or number > 0 or reference_size is not None,
            "training_size is for the ladder, which needs helpers that are trained (helpers), or "
            "for a control (reference_size).",
        )
        place = None if public_model is None else str(getattr(public_model, "where", public_model))
        return cls(number, learner, losses, place, document, training_size, reference_size)


NOTHING = Wishes()


@dataclass(frozen=True)
class Recognised:
    """What a table was recognised as."""

    features: tuple[str, ...]
    text: str | None
    """The column that holds the text."""
    recognised: bool
    """By its looks."""
    about_text: bool
    """Whether the scores are those of a model of texts."""


def recognise(
    source: Given,
    columns: Sequence[str],
    features: Sequence[str],
    text: str | None,
    scores: Sequence[str],
    *,
    asked: Any,
) -> Recognised:
    """Whether the table is about texts: by its words, by its scores' names, or by its columns.

    A feature that is a text is taken as one: as a category it would be folded away. A column that
    is not named is taken only if the scores look like those of a model of texts. A model that is
    ``asked`` reads what it was trained on: nothing is recognised beside it.
    """
    if asked is not None:
        return Recognised(tuple(features), text, False, text is not None)
    tokens = any(word in name.lower() for name in scores for word in TOKEN_WORDS)
    if text is not None:
        return Recognised(tuple(features), text, False, True)
    candidates = columns if tokens else features
    looks = [c for c in candidates if _is_text(source, c)]
    if len(looks) != 1:
        return Recognised(tuple(features), None, False, tokens)
    return Recognised(tuple(f for f in features if f != looks[0]), looks[0], True, True)


def _is_text(source: Given, column: str) -> bool:
    """Strings of several words, most of them different, in the first rows."""
    if isinstance(source.table, stored.Stored):
        kind = str(source.table.kind(column))
        if "string" not in kind and "utf8" not in kind:
            return False
        batch = next(iter(source.table.batches([column])), None)
        values = [] if batch is None else batch.column(0)[:LOOKED_AT].to_pylist()
    else:
        if source.table[column].dtype != nw.String:
            return False
        values = source.table[column][:LOOKED_AT].to_list()
    words = [v for v in values if isinstance(v, str)]
    if len(words) < 2:
        return False
    several = float(np.median([len(v.split()) for v in words])) >= WORDS_OF_A_TEXT
    return several and len(set(words)) > DIFFERENT * len(words)


def text_features(
    frame: Frame, seen: Recognised, wanted: Wishes, encoded: Features, where: str
) -> tuple[Features, TextRecord | None]:
    """The features with those of the text beside them.

    They are made where the text was recognised, where no features are named, and where there is a
    public model to ask.
    """
    made = seen.recognised or wanted.public_model is not None or not seen.features
    if seen.text is None or not made:
        return encoded, None
    values = texts_.texts_of(frame, seen.text, where)
    public = None
    if wanted.public_model is not None:
        public = load(wanted.public_model)
    own = texts_.describe(values, public)
    sees = "words, topics, length and form" + ("" if public is None else ", and a public model")
    by = "was recognised as a text" if seen.recognised else "is a text"
    record = TextRecord(
        column=seen.text,
        recognised=seen.recognised,
        features=len(own.names),
        sees=sees,
        sentence=f"Column {seen.text!r} {by}: {len(own.names)} features were made of it ({sees}).",
    )
    return encoded.beside(own.matrix, own.names), record


def refuse_heldout(
    heldout: tuple[Array, Array] | None, text: TextRecord | None, given: HelpersRecord | None
) -> None:
    """Held-out records have neither the features of a text nor the losses of helpers."""
    require(
        heldout is None or (text is None and given is None),
        "Held-out records are used with named features only: leave out heldout, or text, "
        "public_model and helper_loss.",
    )


def with_lessons(
    pools: Pools,
    frame: Frame,
    seen: Recognised,
    wanted: Wishes,
    *,
    label: str | None,
    features: Sequence[str],
    model: Any,
    where: str,
) -> Pools:
    """The pools with what helpers are to learn from, where helpers are wanted."""
    if not wanted.helpers:
        return pools
    require(
        pools.propensity is None and pools.heldout is None,
        "Helpers describe the records of the audit, so the propensity is fitted on these: leave "
        "out propensity and heldout, or helpers.",
    )
    lessons: helper_losses.Lessons
    if seen.text is not None:
        require(
            wanted.public_model is not None,
            "Helpers for texts are the public model, fine-tuned on known members: name its folder "
            "(public_model).",
        )
        place = str(wanted.public_model)
        lessons = texts_.TextLessons(tuple(texts_.texts_of(frame, seen.text, where)), place)
    else:
        require(
            label is not None,
            "Helpers learn the target's task: name the label that it predicts, or the text that "
            "it reads and a public model.",
        )
        require(
            len(features) > 0, "Helpers predict the label from the features: name the features."
        )
        assert label is not None
        lessons = helper_losses.table_lessons(
            _shown(frame, features, model),
            encode(frame, list(features), where).matrix,
            frame[label].to_list(),
            wanted.learner,
            None if model is None else estimator(model),
        )
    return replace(pools, lessons=lessons, helpers=wanted.helpers)


def _shown(frame: Frame, features: Sequence[str], model: Any) -> Any:
    """The columns as the user's estimator was fitted on them; None where it cannot be asked."""
    if model is None or not features:
        return None
    target = open_model(model, "the model")
    if target.reads != "features":
        return None
    records = frame.select(*features)
    own = getattr(target, "model", None)
    return records.to_pandas() if hasattr(own, "feature_names_in_") else base.matrix(records)


def with_given(
    encoded: Features, frame: Frame, columns: Sequence[str], where: str
) -> tuple[Features, HelpersRecord | None]:
    """The features with the mean of given helper losses beside them."""
    if not columns:
        return encoded, None
    losses = np.column_stack([tables.numbers(frame, c, where) for c in columns])
    mean = losses.mean(axis=1)
    scale = float(mean.std())
    column = (mean - mean.mean()) / (scale if scale > 0.0 else 1.0)
    record = HelpersRecord(
        trained=False, learner="given losses", count=len(columns), records=None, rule=GIVEN
    )
    return encoded.beside(column, ("mean loss of the helpers",)), record


def by_documents(pools: Pools, frame: Frame, column: str | None) -> Pools:
    """One row per document, where a column says which."""
    if column is None:
        return pools
    require(
        pools.propensity is None and pools.heldout is None,
        "A known propensity, and held-out records, are those of single records: leave them out, or "
        "document.",
    )
    values = np.array([str(v) for v in frame[column].to_list()])
    of: Index = documents.codes(values, pools.truth, column)
    reference: Array | None = None
    if pools.reference is not None:
        reference = documents.means(pools.reference, of)
    truth = np.zeros(int(of.max()) + 1, dtype=pools.truth.dtype)
    truth[of] = pools.truth
    return replace(
        pools,
        truth=truth,
        score=documents.means(pools.score, of),
        features=documents.gathered(pools.features, of),
        reference=reference,
        rows=None,
        document=of,
        documents=documents.described(of, column),
    )


def shown_model(place: str) -> dict[str, str]:
    """What a result says of the public model."""
    return Source(place).described()
