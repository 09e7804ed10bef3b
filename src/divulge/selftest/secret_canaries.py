"""Planted line-ups, from the plan to the bound: the plan draws, a mechanism shows, the audit says.

In the null the scores know every candidate by heart, and prefer those that come early in the
alphabet; only which one was drawn they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.games.canaries.planting import plan_line_ups
from divulge.games.canaries.play import audit
from divulge.selftest.case import Case
from divulge.selftest.lineup import Shown
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.types import Array

CANARIES, CANDIDATES = 120, 8
DELTA = 1e-5
TEMPLATE = "the code of {name} is {secret:digits:6}"
_PARAMETERS = (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA))


@dataclass(frozen=True)
class PlantedGame:
    """One plan and one audit; ``column``: records of a table instead of texts."""

    shown: Shown
    copies: int
    column: bool

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        words: dict[str, Any] = {"copies": self.copies, "candidates": CANDIDATES, "count": CANARIES}
        seed = int(rng.integers(2**62))
        if self.column:
            values = rng.integers(0, CANDIDATES, 2 * CANARIES)
            values[:CANDIDATES] = np.arange(CANDIDATES)
            data = {"x": np.arange(2.0 * CANARIES), "arm": values}
            made = plan_line_ups(data, column="arm", seed=seed, **words)
        else:
            made = plan_line_ups(None, template=TEMPLATE, seed=seed, **words)
        score = self._scores(np.array(made.places), rng)
        result = audit(
            made,
            {"version": list(made.ids), "score": score.ravel()},
            score="score",
            deltas=(DELTA,),
            error=2.0 * error,  # half of it goes to the bets, half to the counts
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())

    def _scores(self, places: np.ndarray, rng: np.random.Generator) -> Array:
        """A row per canary, in the order of its candidates."""
        if self.shown.size == 0.0:
            return rng.normal(size=(CANARIES, CANDIDATES)) - np.arange(CANDIDATES)
        size = self.copies * self.shown.size
        own_first = self.shown.sample(CANARIES, CANDIDATES, size, rng)
        score = np.empty_like(own_first)
        at = (places[:, None] + np.arange(CANDIDATES)) % CANDIDATES
        np.put_along_axis(score, at, own_first, axis=1)
        return score


def cases() -> Iterator[Case]:
    """Texts and columns; a null, randomised response, and values that stand in two records."""
    null, response = Shown("normal", 0.0), Shown("response", 1.0)
    for shown, copies, column in (
        (null, 1, False),
        (null, 1, True),
        (response, 1, False),
        (response, 1, True),
        (Shown("response", 0.5), 2, False),
    ):
        for parameter, delta in _PARAMETERS:
            if parameter == "mu" and copies > 1:
                continue  # a mu of the group is not one of its records'
            name = "null, prefers early candidates" if shown is null else shown.name
            where = "a column" if column else "texts"
            group = "" if copies == 1 else f", {copies} copies"
            yield Case(
                bound=f"canaries, planted, {parameter}"
                + ("" if delta is None else f" at {delta:g}"),
                parameter=parameter,
                delta=delta,
                mechanism=name,
                setting=f"{CANARIES} in {where}, {CANDIDATES} candidates{group}",
                play=Reading(PlantedGame(shown, copies, column), (parameter, delta)),
                truth=shown.size if copies > 1 else shown.truth(CANDIDATES, delta),
                quick=parameter == "epsilon" and delta == 0.0 and not column,
            )
