"""Whole audits under distribution shift: known and estimated propensities, every correction.

The attack that sees the model only ranks by the score; the one that also sees x ranks by the score
plus the true log-odds, the most that the record alone can say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from divulge.games.corrections import CORRECTIONS
from divulge.games.membership import Pools, audit_pools
from divulge.mechanisms import Shifted
from divulge.selftest.case import Case
from divulge.shift.features import Features

KNOWN_ROWS, ESTIMATED_ROWS = 2000, 4000
KNOWN_SHARE, ESTIMATED_SHARE = 0.5, 0.02
LEAK = 1.0


@dataclass(frozen=True)
class Audit:
    """One membership audit of a shifted table; returns the bound of one correction."""

    table: Shifted
    rows: int
    known: bool
    sees_records: bool
    correction: str
    parameter: str

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        drawn = self.table.sample(self.rows, rng)
        score = drawn.score + drawn.log_odds if self.sees_records else drawn.score
        names = tuple(f"x_{j}" for j in range(drawn.features.shape[1]))
        pools = Pools(
            truth=drawn.truth,
            score=score[:, None],
            features=Features(drawn.features, names),
            reference=None,
            propensity=expit(drawn.log_odds) if self.known else None,
            score_names=("score",),
            inputs=(),
        )
        both = 2.0 * error  # the audit gives half of its error to bets and half to counts
        result = audit_pools(
            pools, error=both, corrections=(self.correction,), seed=int(rng.integers(2**31))
        )
        delta = None if self.parameter == "mu" else 0.0
        return max(
            (b.value for b in result.bounds if b.parameter == self.parameter and b.delta == delta),
            default=0.0,
        )


def cases() -> Iterator[Case]:
    """Known propensities at three sizes of shift; estimated ones on shifts of every kind."""
    for size in (1.0, 2.0, 3.0):
        for correction in CORRECTIONS[1:]:
            for sees in (False, True):
                table = Shifted("linear", size)
                quick = size == 2.0 and sees and correction in ("balanced", "prior")
                yield _case(table, KNOWN_ROWS, True, sees, correction, KNOWN_SHARE, quick)
        for correction in ("balanced", "prior"):
            table = Shifted("linear", size, mu=LEAK)
            yield _case(table, KNOWN_ROWS, True, False, correction, KNOWN_SHARE, False)
    estimated = [
        *(Shifted("linear", size) for size in (1.0, 2.0, 3.0)),
        *(
            Shifted(kind, columns=d)
            for kind in ("variance", "interaction", "cluster", "heavy tail")
            for d in (8, 50, 100)
        ),
        Shifted("linear", 1.0, mu=LEAK),
        Shifted("cluster", columns=50, mu=LEAK),
    ]
    for table in estimated:
        for correction in ("balanced", "prior"):
            sees = False
            yield _case(table, ESTIMATED_ROWS, False, sees, correction, ESTIMATED_SHARE, False)
    for kind in ("linear", "interaction"):
        table = Shifted(kind, 2.0)
        for correction in ("balanced", "prior"):
            yield _case(table, ESTIMATED_ROWS, False, True, correction, ESTIMATED_SHARE, False)


def _case(
    table: Shifted,
    rows: int,
    known: bool,
    sees_records: bool,
    correction: str,
    share: float,
    quick: bool,
) -> Case:
    parameter = "epsilon" if correction == "prior" else "mu"
    nuisance = "known propensities" if known else "estimated"
    attack = "attack sees x" if sees_records else "attack sees the model"
    return Case(
        bound=f"membership, {correction}, {nuisance}",
        parameter=parameter,
        delta=None if parameter == "mu" else 0.0,
        mechanism=table.name,
        setting=f"{rows} rows, {attack}",
        play=Audit(table, rows, known, sees_records, correction, parameter),
        truth=table.curve.mu() if parameter == "mu" else table.curve.epsilon(0.0),
        quick=quick,
        share=share,
    )
