"""What every attack on membership shares: what it may look at, and how it is described.

An attack is a frozen description and a pure function of what was observed. It sees no truth about
the records it scores; shadow models, whose training sets the auditor drew, say who was in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require
from divulge.models.base import Answers
from divulge.types import Array

Mask = npt.NDArray[np.bool_]
Need = Literal[
    "losses", "label", "probabilities", "tokens", "vocabulary", "top", "texts", "lowered",
    "reference", "features", "population", "shadows out", "shadows in",
]  # fmt: skip
"""What an attack needs; see ``NEEDS`` for the words a person reads."""

NEEDS: dict[str, str] = {
    "losses": "the model's loss on each record",
    "label": "the label column that the model predicts",
    "probabilities": "a model that gives a probability per class",
    "tokens": "a language model that gives the log-probability of every token",
    "vocabulary": "a language model that gives its whole distribution at every token",
    "top": "a language model that gives its most likely token at every place",
    "texts": "the text of each record",
    "lowered": "the language model's answers to the text in lower case",
    "reference": "a reference model that never saw the records (--reference)",
    "features": "the feature columns of each record",
    "population": "population records, which no model was trained on (--population)",
    "shadows out": "shadow models that did not train on the record (--shadow)",
    "shadows in": "shadow models that trained on the record (--shadow)",
}


@dataclass(frozen=True)
class Observed:
    """What an attack may look at, one row per record; what is not known is None.

    ``labels`` are columns of the models' probabilities. ``references`` are answers of models that
    never saw the records. ``shadows`` are answers of models trained by the auditor, and
    ``inside[i, k]`` says whether record i was in the training set of shadow k. ``features`` are the
    records themselves as numbers. ``population`` is the same for further records that neither the
    target nor any reference saw.
    """

    target: Answers
    labels: npt.NDArray[np.intp] | None = field(default=None, repr=False)
    texts: Sequence[str] | None = field(default=None, repr=False)
    lowered: Answers | None = field(default=None, repr=False)
    references: tuple[Answers, ...] = ()
    shadows: tuple[Answers, ...] = ()
    inside: Mask | None = field(default=None, repr=False)
    population: Observed | None = None
    features: Array | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.target)

    def has(self, need: str) -> bool:
        """Whether something an attack needs was observed."""
        target, mask = self.target, self.inside
        return {
            "losses": target.losses is not None
            or target.tokens is not None
            or (target.log_probabilities is not None and self.labels is not None),
            "label": self.labels is not None,
            "probabilities": target.log_probabilities is not None,
            "tokens": target.tokens is not None,
            "vocabulary": target.means is not None and target.deviations is not None,
            "top": target.best is not None,
            "texts": self.texts is not None,
            "lowered": self.lowered is not None,
            "reference": len(self.references) > 0,
            "features": self.features is not None,
            "population": self.population is not None,
            "shadows out": bool(self.shadows) and mask is not None and bool((~mask).any(1).all()),
            "shadows in": bool(self.shadows) and mask is not None and bool(mask.any(1).all()),
        }[need]


@dataclass(frozen=True)
class Attack:
    """One attack: its name, where it comes from, what it needs, and its score."""

    name: str
    title: str
    paper: str
    """Authors, year, and where in the paper the score is defined."""
    lower_is_member: bool
    """The sign: whether small values speak for membership."""
    needs: tuple[Need, ...]
    score: Callable[[Observed], Array] = field(repr=False)
    pooled: bool = False
    """Whether a record's score depends on the other records beside it."""

    def missing(self, observed: Observed) -> tuple[str, ...]:
        """What it needs and was not observed."""
        return tuple(need for need in self.needs if not observed.has(need))

    def check(self, observed: Observed) -> None:
        """InputError that says what is missing."""
        lacking = self.missing(observed)
        if lacking:
            listed = "; ".join(NEEDS[need] for need in lacking)
            unlabelled = observed.target.log_probabilities is not None and observed.labels is None
            hint = " Name the label column that the model predicts." if unlabelled else ""
            raise InputError(f"The attack {self.name!r} also needs: {listed}.{hint}")

    def __call__(self, observed: Observed) -> Array:
        """The score of every record, in its own sign."""
        self.check(observed)
        found = np.asarray(self.score(observed), dtype=float)
        require(
            found.shape == (len(observed),),
            f"The attack {self.name!r} must give one score per record: {len(observed)}. "
            f"Found an array of shape {found.shape}.",
        )
        return found


def label_log_probabilities(answers: Answers, labels: npt.NDArray[np.intp]) -> Array:
    """Log-probability of the true label."""
    logs = answers.log_probabilities
    assert logs is not None
    width = logs.shape[1]
    known = labels.min(initial=0) >= 0 and labels.max(initial=0) < width
    require(bool(known), f"A label must be a column of the probabilities, 0 to {width - 1}.")
    starts = np.arange(0, logs.size, width)  # one index is half the time of two
    return np.asarray(logs.reshape(-1)[starts + labels])


def losses(answers: Answers, labels: npt.NDArray[np.intp] | None) -> Array:
    """The loss of a model on every record: as given, per token, or at the true label."""
    if answers.losses is not None:
        return answers.losses
    if answers.tokens is not None:
        return np.asarray(-np.nanmean(answers.tokens, axis=1))
    assert labels is not None
    return -label_log_probabilities(answers, labels)
