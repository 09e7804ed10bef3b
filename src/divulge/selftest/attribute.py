"""Whole attribute audits, with proxies that are right, wrong by a known amount, or just wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.data.features import Features
from divulge.games.attribute.compared import ValueAttack
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.rule import Rule
from divulge.selftest.case import Case
from divulge.shift.pooling import log_probabilities

TAUS = (0.001, 0.01, 0.05, 0.1)
PLAIN_RECORDS, FITTED_RECORDS = 1000, 2000
FITTED_SHARE, PLAIN_SHARE = 0.02, 0.5
REPLAYS = 10
DELTA = 1e-5


@dataclass(frozen=True)
class LabelAudit:
    """One audit; returns the headline bound of one parameter."""

    table: NoisyLabels
    records: int
    how: str
    """exact, tau, blind or held-out."""
    parameter: str
    delta: float | None
    score: str = "llr"
    replays: int = REPLAYS

    def __call__(self, error: float, rng: np.random.Generator) -> float:
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
                2.0 * error,  # the audit gives half of its error to bets and half to counts
                repetitions=self.replays,
                tau=self.table.tau if self.how == "tau" else None,
            ),
            ValueAttack(self.score),
            proxy_exact=self.how == "exact",
            seed=int(rng.integers(2**31)),
            compare=False,
        )
        return max(
            (
                b.value
                for b in result.headline()
                if b.parameter == self.parameter and b.delta == self.delta
            ),
            default=0.0,
        )


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
        yield _case(table, PLAIN_RECORDS, "exact", "epsilon", 0.0, replays=1)
        yield _case(table, PLAIN_RECORDS, "exact", "mu", None, replays=1)
    yield _case(NoisyLabels("uniform", 1.0), 50, "exact", "epsilon", 0.0, quick=True)
    for tau in TAUS:
        for table in (NoisyLabels("gaussian", tau=tau), NoisyLabels("gaussian", 1.0, tau=tau)):
            for parameter, delta in (("mu", None), ("epsilon", 0.0), ("epsilon", DELTA)):
                quick = tau == TAUS[0] and delta is None
                yield _case(table, PLAIN_RECORDS, "tau", parameter, delta, quick=quick)
    for tau in (0.0, *TAUS):
        for table in (NoisyLabels("gaussian", tau=tau), NoisyLabels("gaussian", 1.0, tau=tau)):
            for parameter, delta in (("epsilon", 0.0), ("mu", None)):
                yield _case(table, FITTED_RECORDS, "blind", parameter, delta, share=FITTED_SHARE)
    for how in ("blind", "held-out"):
        for parameter, delta in (("epsilon", 0.0), ("mu", None)):
            table = NoisyLabels("curved")
            yield _case(table, FITTED_RECORDS, how, parameter, delta, share=FITTED_SHARE)
    outside = (
        NoisyLabels("gaussian", tau=0.1),
        NoisyLabels("gaussian", sharp=3.0),
        NoisyLabels("curved", sharp=3.0),
        NoisyLabels("gaussian", 1.0, tau=0.05),
    )
    for table in outside:
        for parameter, delta in (("epsilon", 0.0), ("mu", None)):
            yield _case(table, FITTED_RECORDS, "held-out", parameter, delta, share=FITTED_SHARE)


def _case(
    table: NoisyLabels,
    records: int,
    how: str,
    parameter: str,
    delta: float | None,
    *,
    score: str = "llr",
    replays: int = REPLAYS,
    quick: bool = False,
    share: float = PLAIN_SHARE,
) -> Case:
    shown = {"exact": "proxy exact", "tau": "tau stated", "blind": "blind", "held-out": "held-out"}
    many = f"{replays} replays" if replays > 1 else "one replay"
    at = f" at {delta:g}" if delta else ""
    also = ", published score" if score == "published" else ""
    return Case(
        bound=f"attribute {parameter}{at}, {shown[how]}",
        parameter=parameter,
        delta=delta,
        mechanism=table.name,
        setting=f"{records} records, {many}{also}",
        play=LabelAudit(table, records, how, parameter, delta, score, replays),
        truth=_truth(table, delta),
        quick=quick,
        share=share,
    )


def _truth(table: NoisyLabels, delta: float | None) -> float:
    """Exact for pure epsilon; for mu and epsilon at delta the guarantee of the noisy labels."""
    if delta == 0.0:
        return table.reach
    from divulge.mechanisms.labels import randomised_response_curve

    if table.epsilon == 0.0:
        return 0.0
    curve = randomised_response_curve(table.epsilon, table.classes)
    return curve.mu() if delta is None else curve.epsilon(delta)
