"""Who tells real from generated records: classifiers of columns, of texts or of images.

Every kind is shown the same things, as numbers for the columns, token by token, or as an image: the
baseline without the target, the attack with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.bounds.tree_boosting import BoostedClasses, Trees, boosted_classifier
from divulge.errors import InputError, require_choice
from divulge.games.synthetic.seen import Seen
from divulge.types import Array, Index

COLUMNS, TEXT, IMAGE = "columns", "text", "image"
KINDS = (COLUMNS, TEXT, IMAGE)
_CHECKED = 0.15
"""Share of the records on which the text network stops."""


@dataclass(frozen=True)
class Contestant:
    """A classifier that is made from a seed, and what it is shown of the records."""

    make: Callable[[int], Any]
    view: Callable[[Index, bool], Array]
    """Rows, and whether the target is seen."""


def named(attack: str | Sequence[str]) -> tuple[str, ...]:
    """The kinds that a user named; InputError for another."""
    wanted = (attack,) if isinstance(attack, str) else tuple(attack)
    for one in wanted:
        require_choice("attack", one, KINDS)
    if not wanted:
        raise InputError(f"Name at least one attack: {', '.join(KINDS)}.")
    return tuple(dict.fromkeys(wanted))


def guessers(attack: Sequence[str], seen: Seen) -> dict[str, Contestant]:
    """All settings that compete, by name."""
    found: dict[str, Contestant] = {}
    if COLUMNS in attack:
        found |= {name: Contestant(make, seen.view) for name, make in settings().items()}
    if TEXT in attack:
        if seen.spelled is None:
            raise InputError(
                "The attack 'text' reads texts token by token: name their column (--text), a "
                "model, and a public one (--public-model)."
            )
        length = seen.spelled.tokens.shape[1]
        found["text network"] = Contestant(
            lambda seed: TokenReader(length, seed), seen.spelled.view
        )
    if IMAGE in attack:
        if seen.pixels is None:
            raise InputError("The attack 'image' looks at images: the features must be pixels.")
        pixels = seen.pixels.shape[1]
        found["image network"] = Contestant(lambda seed: looking(pixels, seed), seen.image)
    return found


def settings() -> dict[str, Callable[[int], Any]]:
    """Classifiers of columns: boosting for tables, a linear one for embeddings."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def boosting(rate: float, rounds: int, leaves: int) -> Callable[[int], Any]:
        return lambda seed: Boosting(Trees(rounds, rate, leaves, least=20, penalty=1.0))

    def linear(seed: int) -> Any:
        return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))

    return {
        "boosting, small trees": boosting(0.1, 100, 4),
        "boosting, medium trees": boosting(0.05, 120, 12),
        "boosting, large trees": boosting(0.05, 200, 31),
        "logistic regression": linear,
    }


@dataclass
class Boosting:
    """Trees behind the words of scikit-learn; nothing in them is random."""

    trees: Trees
    _model: BoostedClasses | None = field(default=None, init=False, repr=False)

    @property
    def classes_(self) -> Any:
        """The classes it was fitted with."""
        return self._fitted().classes_

    def fit(self, x: Array, y: Any) -> Boosting:
        """Grow them."""
        self._model = boosted_classifier(x, np.asarray(y), None, self.trees)
        return self

    def predict_proba(self, x: Array) -> Array:
        """Probabilities of generated and real."""
        return self._fitted().predict_proba(x)

    def _fitted(self) -> BoostedClasses:
        assert self._model is not None, "fit comes first"
        return self._model


def looking(pixels: int, seed: int) -> Any:
    """A convolutional network over the pixels, with the losses beside its hidden layer."""
    from divulge.models.convolution import ImageClassifier

    return ImageClassifier(pixels, epochs=12, patience=3, seed=seed)


@dataclass
class TokenReader:
    """The text network behind the words of scikit-learn; columns as ``Spelled.view`` has them."""

    length: int
    seed: int
    classes_: Any = field(default=None, init=False, repr=False)
    _network: Any = field(default=None, init=False, repr=False)

    def fit(self, x: Array, y: Any) -> TokenReader:
        """A share of the records says when to stop."""
        from divulge.attacks.text_network import TextNetwork

        truth = np.where(np.asarray(y) > 0, 1.0, -1.0)
        self.classes_ = np.array([False, True])
        order = np.random.default_rng(self.seed).permutation(len(x))
        held, taught = np.split(order, [max(1, round(_CHECKED * len(x)))])
        tokens, losses = self._parts(x)
        self._network = TextNetwork(seed=self.seed).fit(
            tokens[taught], losses[taught], truth[taught], (tokens[held], losses[held], truth[held])
        )
        return self

    def predict_proba(self, x: Array) -> Array:
        """Probabilities of generated and real."""
        from scipy.special import expit

        real = expit(self._network.score(*self._parts(x)))
        return np.column_stack([1.0 - real, real])

    def _parts(self, x: Array) -> tuple[Index, Array]:
        tokens, losses = x[:, : self.length], x[:, self.length :]
        models = losses.shape[1] // (self.length - 1)
        return tokens.astype(np.int64), losses.reshape(len(x), self.length - 1, models)
