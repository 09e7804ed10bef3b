"""Targets that know the members' population: nothing leaks, and every member looks remembered.

The label is a function of the record that is long to learn, and it has drifted: that of the
non-members is only in part the same. The target learned from many *other* records of the members'
population. So it is better on members than on non-members, and better than whoever learned from
fewer such records, though it saw none of the audited ones. With ``seen`` it learned from the
members themselves, and leaks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.types import Array
from divulge.work.threads import Sized

KINDS = ("trees", "waves", "parity")
_DEPTH = 6
_LEAST_HIT = 1e-4


@dataclass(frozen=True)
class KnownPopulation:
    """Records, labels, truths, and what the target makes of them."""

    x: Array = field(repr=False)
    label: npt.NDArray[np.int64] = field(repr=False)
    truth: Array = field(repr=False)
    loss: Array = field(repr=False)


@dataclass(frozen=True)
class Knowing:
    """A population, and boosting that learned from ``target`` other records of it."""

    kind: str = "trees"
    target: int = 60_000
    columns: int = 10
    trees: int = 40
    shift: float = 0.6
    sharpness: float = 4.0
    drift: float = 0.5
    """Share of the function's variance that is another one for non-members."""
    seen: bool = False
    """Whether the members are among what it learned from."""

    @property
    def name(self) -> str:
        """For tables."""
        what = "its members and others" if self.seen else "others"
        return f"knowing target ({self.kind}, {self.target} {what})"

    def sample(self, members: int, nonmembers: int, rng: np.random.Generator) -> KnownPopulation:
        """One world: the function of the label is drawn anew, too."""
        others = self.target
        size = members + nonmembers + others
        x = rng.standard_normal((size, self.columns))
        inside = np.ones(size, dtype=bool)
        inside[members : members + nonmembers] = False
        x[inside, :3] += self.shift
        function, other = self._function(x, rng), self._function(x, rng, second=True)
        drifted = np.sqrt(1.0 - self.drift) * function + np.sqrt(self.drift) * other
        log_odds = self.sharpness * np.where(inside, function, drifted)
        label = (rng.random(size) < 1.0 / (1.0 + np.exp(-log_odds))).astype(np.int64)
        played = slice(0, members + nonmembers)
        taught = np.arange(members + nonmembers, size)
        if self.seen:
            taught = np.concatenate([np.arange(members), taught])
        model = Sized(boosting(int(rng.integers(2**31)))).fit(x[taught], label[taught])
        known = np.asarray(model.predict_proba(x[played]))
        hit = known[np.arange(members + nonmembers), label[played]]
        return KnownPopulation(
            x=x[played],
            label=label[played],
            truth=np.where(inside[played], 1.0, -1.0),
            loss=-np.log(np.clip(hit, _LEAST_HIT, 1.0)),
        )

    def _function(self, x: Array, rng: np.random.Generator, *, second: bool = False) -> Array:
        """Of about variance 1; a second one is independent of the first."""
        if self.kind == "waves":
            u, v = (x[:, 2], x[:, 3]) if second else (x[:, 0], x[:, 1])
            return np.asarray(1.4 * np.sin(3.0 * u + 2.5 * v))
        if self.kind == "parity":
            chosen = slice(6, 9) if second else slice(3, 6)
            return np.asarray(np.prod(np.sign(x[:, chosen]), axis=1))
        total = np.zeros(len(x))
        for _ in range(self.trees):
            node = np.zeros(len(x), dtype=np.intp)
            for level in range(_DEPTH):
                columns = rng.integers(self.columns, size=2**level)
                cuts = rng.normal(0.3, 1.0, size=2**level)
                node = 2 * node + (x[np.arange(len(x)), columns[node]] > cuts[node])
            total += rng.standard_normal(2**_DEPTH)[node]
        return np.asarray(total / np.sqrt(self.trees))


def boosting(seed: int) -> Any:
    """The learner of the target, which is that of the helpers by default."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=150, max_features=0.5, early_stopping=False, random_state=seed
    )
