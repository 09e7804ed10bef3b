"""Whole audits under distribution shift: known and estimated propensities, every correction.

The attack that sees the model only ranks by the score; the one that also sees x ranks by the score
plus the true log-odds, the most that the record alone can say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from divulge.data.features import Features
from divulge.games.membership.play import Pools, audit_pools
from divulge.mechanisms import Shifted
from divulge.proof.rule import CORRECTIONS, Rule
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name

KNOWN_ROWS, ESTIMATED_ROWS, FEW_ROWS = 2000, 4000, 400
KNOWN_SHARE, ESTIMATED_SHARE = 1.0, 0.1
LEAK = 1.0
DELTA = 1e-5
ESTIMATED = ("balanced", "prior")


@dataclass(frozen=True)
class Audit:
    """One membership audit of a shifted table: every bound of every correction."""

    table: Shifted
    rows: int
    known: bool
    sees_records: bool
    corrections: tuple[str, ...]

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
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
            pools,
            Rule((DELTA,), both, self.corrections, brief=True),
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.bounds, correction=True)


def cases() -> Iterator[Case]:
    """Known propensities at three sizes of shift; estimated ones on shifts of every kind."""
    for size in (1.0, 2.0, 3.0):
        for correction in CORRECTIONS[1:]:
            for sees in (False, True):
                table = Shifted("linear", size)
                quick = size == 2.0 and sees and correction in ("balanced", "prior")
                yield _case(table, KNOWN_ROWS, True, sees, correction, KNOWN_SHARE, quick)
        leaking = Shifted("linear", size, mu=LEAK)
        for correction in ESTIMATED:
            yield _case(leaking, KNOWN_ROWS, True, False, correction, KNOWN_SHARE, False)
        for table, sees in ((Shifted("linear", size), True), (leaking, False)):
            yield _case(
                table, KNOWN_ROWS, True, sees, "balanced", KNOWN_SHARE, False, ("epsilon", DELTA)
            )
    for (
        correction
    ) in ESTIMATED:  # no shift, and not so many records: here priors that are off weigh most
        table = Shifted("none")
        yield _case(table, FEW_ROWS, True, False, correction, KNOWN_SHARE, True)
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
        for correction in ESTIMATED:
            sees = False
            yield _case(table, ESTIMATED_ROWS, False, sees, correction, ESTIMATED_SHARE, False)
    for kind in ("linear", "variance", "interaction", "cluster", "heavy tail"):
        for correction in ESTIMATED:
            yield _case(Shifted(kind), FEW_ROWS, False, False, correction, ESTIMATED_SHARE, False)
    for kind in ("linear", "interaction"):
        table = Shifted(kind, 2.0)
        for correction in ESTIMATED:
            yield _case(table, ESTIMATED_ROWS, False, True, correction, ESTIMATED_SHARE, False)


def _case(
    table: Shifted,
    rows: int,
    known: bool,
    sees_records: bool,
    correction: str,
    share: float,
    quick: bool,
    proved: tuple[str, float | None] | None = None,
) -> Case:
    """A row; ``proved`` is what it looks at, by default mu, or epsilon at delta 0 for bets."""
    parameter, delta = proved or (("epsilon", 0.0) if correction == "prior" else ("mu", None))
    at = f" at {delta:g}" if delta else ""
    nuisance = "known propensities" if known else "estimated"
    attack = "attack sees x" if sees_records else "attack sees the model"
    return Case(
        bound=f"membership, {correction}{at}, {nuisance}",
        parameter=parameter,
        delta=delta,
        mechanism=table.name,
        setting=f"{rows} rows, {attack}",
        play=Reading(
            Audit(table, rows, known, sees_records, CORRECTIONS[1:] if known else ESTIMATED),
            (correction, parameter, delta),
        ),
        truth=table.curve.mu() if delta is None else table.curve.epsilon(delta),
        quick=quick,
        share=share,
    )
