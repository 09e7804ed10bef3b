"""Scores that compare a target with shadow models, from the records to the bound.

The members were chosen by fair coins, and the shadow models are trained by ``divulge.shadows`` on
the very records that are audited. What they learn must have nothing to do with the coins: of a
target that was trained on other records nothing may be proved, and of one whose answers pass every
coin through randomised response no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.attacks.shadow_table import shadows
from divulge.attacks.table import score
from divulge.games.canaries.play import audit_trials
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.types import Array, Index

RECORDS, OTHERS, COUNT = 200, 100, 6
ATTACKS = ("lira", "lira_offline", "learned")
EPSILON = 1.0
SHARE = 0.1


@dataclass
class Parzen:
    """A classifier that remembers: shares of the classes in the neighbourhood, records included."""

    width: float = 0.1
    prior: float = 0.1
    classes_: Index = field(default_factory=lambda: np.arange(2))
    _x: Array = field(default_factory=lambda: np.zeros((0, 2)), repr=False)
    _y: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False)

    def fit(self, x: Array, y: Index) -> Parzen:
        """Keep the records."""
        self._x, self._y = x, y
        return self

    def predict_proba(self, x: Array) -> Array:
        """Weighted shares, with a part of a record of each class added."""
        squares = ((x[:, None, :] - self._x[None, :, :]) ** 2).sum(axis=2)
        near = np.exp(-0.5 * squares / self.width**2)
        ones = (self.prior + near @ (self._y == 1)) / (2.0 * self.prior + near.sum(axis=1))
        return np.column_stack([1.0 - ones, ones])


def _parzen(seed: int) -> Parzen:
    return Parzen()


def _told(rows: Any) -> Array:
    """The target: what it says of every record stands in the table."""
    p = np.asarray(rows["said"])
    return np.column_stack([1.0 - p, p])


_told.gives = "probabilities"  # type: ignore[attr-defined]


@dataclass(frozen=True)
class ShadowScores:
    """One audit; ``disclosed`` is the epsilon of the target, 0: it saw none of the records."""

    attack: str
    disclosed: float

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        x = rng.standard_normal((RECORDS + OTHERS, 2))
        y = (x[:, 0] + rng.standard_normal(len(x)) > 0.0).astype(np.intp)
        truth = np.where(rng.random(RECORDS) < 0.5, 1.0, -1.0)
        other = Parzen().fit(x[RECORDS:], y[RECORDS:])
        said = other.predict_proba(x[:RECORDS])[:, 1]
        if self.disclosed > 0.0:
            kept = rng.random(RECORDS) < 1.0 / (1.0 + np.exp(-self.disclosed))
            shown = np.where(kept, truth, -truth) * np.where(y[:RECORDS] == 1, 1.0, -1.0)
            odds = np.log(said / (1.0 - said)) + 1.5 * shown
            said = 1.0 / (1.0 + np.exp(-odds))
        table = {"x_0": x[:RECORDS, 0], "x_1": x[:RECORDS, 1], "y": y[:RECORDS], "said": said}
        member = truth > 0.0
        trained = shadows(
            members={name: column[member] for name, column in table.items()},
            nonmembers={name: column[~member] for name, column in table.items()},
            features=("x_0", "x_1"),
            label="y",
            model=_parzen,
            count=COUNT,
            seed=int(rng.integers(2**31)),
        )
        scored = score(table, label="y", model=_told, shadows=trained, attack=self.attack)
        assert scored is not None
        result = audit_trials(
            scored[self.attack].to_numpy(),
            truth,
            deltas=(),
            error=2.0 * error,
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())


def cases() -> Iterator[Case]:
    """A null for every attack with shadow models, and randomised response through one of them."""
    for attack in ATTACKS:
        yield _case(attack, 0.0, "epsilon")
    yield _case("lira", 0.0, "mu")
    yield _case("lira", EPSILON, "epsilon")


def _case(attack: str, disclosed: float, parameter: str) -> Case:
    delta = 0.0 if parameter == "epsilon" else None
    return Case(
        bound=f"shadows {parameter}, {attack}",
        parameter=parameter,
        delta=delta,
        mechanism=f"randomised response {disclosed:g}" if disclosed else "null",
        setting=f"{RECORDS} records, {COUNT} shadow models",
        play=Reading(ShadowScores(attack, disclosed), (parameter, delta)),
        truth=disclosed,
        quick=attack == "lira",
        share=SHARE,
    )
