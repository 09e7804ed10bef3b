"""Whole attribute audits, with proxies that are right, wrong by a known amount, or just wrong.

Where the prior is estimated and nothing leaks, a game is an audit as a user runs it: any headline
bound above 0 is a false claim, at the stated error of all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.data.features import Features
from divulge.games.attribute.compared import ValueAttack
from divulge.games.attribute.play import PUBLISHED, VALUES, audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.rule import Rule
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.shift.pooling import log_probabilities

TAUS = (0.001, 0.01, 0.05, 0.1)
PLAIN_RECORDS, FITTED_RECORDS = 1000, 2000
FITTED_SHARE = 0.1
ALL = "epsilon and mu"
"""Every headline bound of an audit; the largest of them is the claim."""
DRAWS = 5
DELTA = 1e-5


@dataclass(frozen=True)
class LabelAudit:
    """One audit: its headline bounds."""

    table: NoisyLabels
    records: int
    how: str
    """exact, tau, blind or held-out; coins for the published form with an exact proxy."""
    every: bool = False
    """Whether all bounds share the error, as a user's do; otherwise each has all of it."""
    score: str = "llr"
    draws: int = 1

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        both = 2 if self.how == "held-out" else 1
        drawn = self.table.sample(both * self.records, rng, trained=self.records)
        names = tuple(f"x_{j}" for j in range(drawn.features.shape[1]))
        records = Records(
            codes=drawn.codes,
            classes=tuple(str(k) for k in range(self.table.classes)),
            training=self.records,
            features=Features(drawn.features, names),
            log_target=log_probabilities(drawn.target),
            log_proxy=log_probabilities(drawn.proxy),
            proxy=drawn.proxy,
            heldout_target=both == 2,
        )
        result = audit_records(
            records,
            Rule(
                (DELTA,),
                error if self.every else 2.0 * error,  # half of it goes to bets, half to counts
                repetitions=self.draws,
                tau=self.table.tau if self.how == "tau" else None,
            ),
            ValueAttack(self.score),
            form=PUBLISHED if self.how in ("tau", "coins") else VALUES,
            proxy_exact=self.how in ("exact", "coins"),
            seed=int(rng.integers(2**31)),
            compare=False,
        )
        found = by_name(result.headline())
        return {**found, ALL: max(found.values())} if found else {}


def cases() -> Iterator[Case]:
    """Every way to treat the proxy, on records that leak nothing and on noisy labels."""
    plain = (
        NoisyLabels("uniform"),
        NoisyLabels("uniform", 1.0),
        NoisyLabels("uniform", 2.0, classes=5),
        NoisyLabels("gaussian"),
        NoisyLabels("gaussian", 2.0),
    )
    for table in plain:
        for parameter, delta in (("epsilon", 0.0), ("mu", None), ("epsilon", DELTA)):
            quick = table.kind == "uniform" and table.classes == 2
            yield _case(table, PLAIN_RECORDS, "exact", parameter, delta, quick=quick)
        yield _case(table, PLAIN_RECORDS, "exact", "epsilon", 0.0, score="published")
        yield _case(table, PLAIN_RECORDS, "exact", "mu", None, draws=DRAWS)
        yield _case(table, PLAIN_RECORDS, "coins", "epsilon", 0.0, score="published")
        yield _case(table, PLAIN_RECORDS, "coins", "mu", None, draws=DRAWS)
    yield _case(NoisyLabels("uniform", 1.0), 50, "exact", "epsilon", 0.0, quick=True)
    for tau in TAUS:
        for table in (NoisyLabels("gaussian", tau=tau), NoisyLabels("gaussian", 1.0, tau=tau)):
            for parameter, delta in (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA)):
                quick = tau == TAUS[0] and delta is None
                yield _case(table, PLAIN_RECORDS, "tau", parameter, delta, quick=quick)
    for tau in (0.0, *TAUS):
        for table in (NoisyLabels("gaussian", tau=tau), NoisyLabels("gaussian", 1.0, tau=tau)):
            yield _fitted(table, "blind")
    for how in ("blind", "held-out"):
        yield _fitted(NoisyLabels("curved"), how)
    outside = (
        NoisyLabels("gaussian", tau=0.1),
        NoisyLabels("gaussian", sharp=3.0),
        NoisyLabels("curved", sharp=3.0),
        NoisyLabels("gaussian", 1.0, tau=0.05),
        NoisyLabels("gaussian", 2.0, tau=0.05),
    )
    for table in outside:
        yield _fitted(table, "held-out")


def _fitted(table: NoisyLabels, how: str) -> Case:
    """The prior is estimated: nothing may be claimed of a null, of a leak no more than is there."""
    parameter = "epsilon" if table.epsilon else ALL
    return _case(table, FITTED_RECORDS, how, parameter, 0.0, share=FITTED_SHARE)


def _case(
    table: NoisyLabels,
    records: int,
    how: str,
    parameter: str,
    delta: float | None,
    *,
    score: str = "llr",
    draws: int = 1,
    quick: bool = False,
    share: float = 1.0,
) -> Case:
    shown = {"exact": "proxy exact", "tau": "tau stated", "coins": "published, proxy exact"}
    many = f"{draws} draws" if draws > 1 else "one draw"
    at = f" at {delta:g}" if delta else ""
    also = ", published score" if score == "published" else ""
    return Case(
        bound=f"attribute {parameter}{at}, {shown.get(how, how)}",
        parameter="epsilon" if parameter == ALL else parameter,
        delta=delta,
        mechanism=table.name,
        setting=f"{records} records, {many}{also}",
        play=Reading(
            LabelAudit(table, records, how, parameter == ALL, score, draws),
            ALL if parameter == ALL else (parameter, delta),
        ),
        truth=_truth(table, delta, how),
        quick=quick,
        share=share,
    )


def _truth(table: NoisyLabels, delta: float | None, how: str) -> float:
    """Epsilon itself; a guess of the label reaches less in the published game, at delta 0.

    For mu and epsilon at delta the guarantee of the noisy labels.
    """
    if delta == 0.0:
        return table.reach if how in ("tau", "coins") else table.epsilon
    from divulge.mechanisms.labels import randomised_response_curve

    if table.epsilon == 0.0:
        return 0.0
    curve = randomised_response_curve(table.epsilon, table.classes)
    return curve.mu() if delta is None else curve.epsilon(delta)
