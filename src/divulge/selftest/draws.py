"""Whole membership audits from a table: several draws combined, and subsets of rows by content.

Scores that take few values make many rows equal; most of them get a small number of their own. The
subset is then chosen among records that stand in the table once and records that stand in it very
often, and the truths of equal rows must keep their odds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.games.membership.play import membership
from divulge.mechanisms import GaussianMechanism, Mechanism, Null, RandomisedResponse
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name

ROWS, SEEDS = 400, 5
_TINY, _ALONE = 1e-6, 0.93


@dataclass(frozen=True)
class Tabled:
    """An audit of a table of scores, by some seeds or of some of the rows."""

    mechanism: Mechanism
    seeds: int = 1
    of: int | None = None
    """Rows of the table, if not all are used."""

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        trials = self.mechanism.sample(self.of or ROWS, rng)
        alone = rng.random(len(trials)) < _ALONE
        score = trials.score + np.where(alone, _TINY * rng.random(len(trials)), 0.0)
        result = membership(
            {"member": trials.truth > 0.0, "score": score},
            score="score",
            corrections=("balanced", "prior"),
            deltas=(),
            error=2.0 * error,  # half of it is for the bets, half for the counts
            rows=None if self.of is None else ROWS,
            seed=int(rng.integers(2**31)),
            seeds=self.seeds,
        )
        return by_name(result.headline())


def cases() -> Iterator[Case]:
    """Nothing leaks; randomised response at its own epsilon; for mu the Gaussian mechanism."""
    leaking: dict[str, Mechanism] = {
        "epsilon": RandomisedResponse(1.0),
        "mu": GaussianMechanism(1.0),
    }
    for parameter, delta in (("epsilon", 0.0), ("mu", None)):
        for mechanism in (Null(), leaking[parameter], RandomisedResponse(0.5)):
            curve = mechanism.curve
            for seeds, of in ((SEEDS, None), (1, 3 * ROWS)):
                drawn = f"{seeds} seeds combined" if of is None else f"{ROWS} of {of} rows"
                yield Case(
                    bound=f"membership table, {drawn}, {parameter}",
                    parameter=parameter,
                    delta=delta,
                    mechanism=mechanism.name,
                    setting=f"{ROWS} rows, many of them equal",
                    play=Reading(Tabled(mechanism, seeds, of), (parameter, delta)),
                    truth=curve.mu() if delta is None else curve.epsilon(delta),
                    quick=mechanism is leaking["epsilon"],
                )
