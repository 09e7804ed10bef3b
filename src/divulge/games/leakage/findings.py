"""From leakage per record to a Result: distribution, most exposed, defences, similar records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from divulge.exposure import binary, exposed
from divulge.exposure.covariance import Covariance
from divulge.exposure.exposed import Release
from divulge.exposure.normality import LEAST_COUNT, MOST_SKEWED, doubts
from divulge.exposure.records import shared_rows
from divulge.games.public import provenance
from divulge.result import Diagnostics, Result, Verdict, of_leakage
from divulge.text.rounding import short
from divulge.types import Array

if TYPE_CHECKING:
    from divulge.games.leakage.play import Exposures, Tables, Wanted


STATUS = "computed"
SHOWN = 20
"""Most exposed records in the result."""
INFINITE = "infinite"
NAMED = 5
"""Columns named in a reason."""
COMPARED = 200
"""Records compared with similar ones: the most exposed, and others spread over the ranks."""
SEARCHED = 20_000
"""Reference records among which the nearest is looked for."""
BINS = 40
QUANTILES = (("median", 50.0), ("p90", 90.0), ("p99", 99.0), ("largest", 100.0))
MODEL = (
    "Computed, not proved: no attack was run. The figures are what the best attack on each record "
    "would reach if the released mean is close to normal (many records behind it, no record that "
    "dominates) and if the reference records are drawn like the others behind the mean."
)
EXACT_MODEL = (
    "Computed, not proved: no attack was run. Every column holds zeros and ones, so the advantages "
    "above are exact: those of counts, not of a normal mean. They take the columns to be "
    "independent and the reference records to be drawn like the others behind the mean."
)
PLUG_IN = (
    "Mean and covariance are estimated from the reference records: with few of them per column the "
    "figures are rough."
)


@dataclass(frozen=True)
class Similar:
    """What the nearest reference record reveals about a record."""

    rows: npt.NDArray[np.intp] = field(repr=False)
    own: Array = field(repr=False)
    """Leakage of the record itself."""
    effective: Array = field(repr=False)
    """Leakage to somebody who holds the nearest reference record instead."""
    searched: int


@dataclass(frozen=True)
class LeakageSetting:
    """What was asked, and what was solved."""

    mechanism: str
    release: Release
    model: Covariance
    wanted: Wanted
    defences: of_leakage.Defences
    similar: Similar
    ids: bool = False
    """Whether records are named."""


def percentile(values: Array, percent: float) -> float:
    """The largest value once the share above it is left out: one of the values themselves."""
    known = values[~np.isnan(values)]
    return float(np.percentile(known, percent, method="inverted_cdf"))


def similar(
    rows: Array,
    reference: Array,
    model: Covariance,
    release: Release,
    leakage: Array,
    order: npt.NDArray[np.intp],
) -> Similar:
    """Theorem 4.5 of 004 for the nearest reference record, in the metric of the leakage."""
    chosen = _spread_over_ranks(order)
    step = max(1, -(-reference.shape[0] // SEARCHED))
    others = reference[::step]
    metric = release.covariance(model)
    z = rows[chosen] - metric.mean
    lengths = metric.mahalanobis(others)
    # |z - r|^2 = |z|^2 + |r|^2 - 2 z'C^-1 r, and |z|^2 is the same for every r
    products = metric.solve(z) @ (others - metric.mean).T
    nearest = np.argmin(lengths - 2.0 * products, axis=1)
    held = exposed.Misspecified(
        lengths[nearest] / release.size, products[np.arange(chosen.size), nearest] / release.size
    )
    return Similar(chosen, leakage[chosen], held.effective, int(others.shape[0]))


def _spread_over_ranks(order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    first = order[:SHOWN]
    rest = order[SHOWN:]
    if rest.size > COMPARED - SHOWN:
        rest = rest[np.linspace(0, rest.size - 1, COMPARED - SHOWN).astype(np.intp)]
    return np.concatenate([first, rest])


def result(
    read: Tables, measured: Exposures, setting: LeakageSetting, *, command: str | None
) -> Result:
    """The distribution, the most exposed records, and what would bring them down."""
    release, model = setting.release, setting.model
    same = shared_rows(read.reference.matrix, read.data.matrix)
    return Result(
        game="leakage",
        verdict=verdict(read, measured, setting, same),
        bounds=(),
        measurements={
            "leakage": _summary(measured.leakage),
            **{name: _summary(values, name) for name, values in measured.columns.items()},
        },
        trials={
            "records": int(measured.leakage.size),
            "size": release.size,
            "behind": release.behind,
            "reference": model.references,
            "columns": model.dimension,
        },
        diagnostics=Diagnostics(
            exposure=_histogram(measured.advantage, setting),
            power=_power(read, measured, setting),
            most_exposed=_most_exposed(read, measured, setting),
            defences=setting.defences,
            similar=_similar(setting.similar, release.rate),
            mechanism=of_leakage.MechanismRecord(
                mechanism=setting.mechanism,
                noise=None if isinstance(release.noise, tuple) else release.noise,
                rate=release.rate,
                noise_by_column=release.noise if isinstance(release.noise, tuple) else (),
            ),
            covariance=_covariance(read, measured.leakage, setting, same),
            normality=_normality(read, release) or None,
        ),
        provenance=provenance(command, None, read.inputs),
    )


def _covariance(
    read: Tables, leakage: Array, setting: LeakageSetting, same: int
) -> of_leakage.Distances:
    model, release = setting.model, setting.release
    ratio = float(leakage.mean() * release.size / model.dimension)
    return of_leakage.Distances(
        covariance=model.kind,
        shrinkage=model.shrinkage,
        correlated=model.correlated,
        shared_with_reference=same,
        dropped_columns=tuple(read.dropped),
        distance_ratio=None if release.noisy else ratio,
    )


def verdict(read: Tables, measured: Exposures, setting: LeakageSetting, same: int) -> Verdict:
    """One sentence with the figures, and what they rest on."""
    values = measured.advantage
    top = int(measured.order[0])
    goal = setting.defences
    sentence = (
        f"Through this {_named(setting)} the most exposed of {values.size:,} records can be told "
        f"in or out with an advantage of up to {short(values[top])}; the "
        f"{goal.percentile:g}th percentile is {short(goal.now)}, "
        f"the median {short(percentile(values, 50.0))}. {_remedy(goal)}"
    )
    reasons = [EXACT_MODEL if measured.is_exact else MODEL, PLUG_IN]
    reasons += _not_normal(read, measured, setting)
    if same:
        reasons.append(
            f"{same} of the records are also in the reference: give reference records that are "
            "not in the data."
        )
    return Verdict(STATUS, False, sentence, tuple(reasons))


def _not_normal(read: Tables, measured: Exposures, setting: LeakageSetting) -> list[str]:
    """Where the normal form is doubtful, and whom the release may exclude for certain."""
    odd = doubts(read.reference.matrix, read.reference.names, setting.release)
    if not measured.is_exact:
        if not odd:
            return []
        named = ", ".join(repr(d.column) for d in odd[:NAMED]) + (", ..." if odd[NAMED:] else "")
        return [
            f"The mean of {len(odd)} of {setting.model.dimension} columns is not close to normal "
            f"(skewness over the root of the records above {MOST_SKEWED:g}, or fewer than "
            f"{LEAST_COUNT:g} expected records with the rarer value): {named}. The figures may "
            "understate what the record leaks."
        ]
    normal = float(measured.columns["advantage"][measured.order[0]])
    reasons = [
        f"As if the mean were normal, with the correlations of the columns, the most exposed "
        f"record's advantage would be {normal:.3g}."
    ]
    for delta in setting.wanted.deltas:
        found = measured.columns[f"exact_epsilon_at_{delta:g}"]
        endless, computed = int(np.isinf(found).sum()), int((~np.isnan(found)).sum())
        if endless:
            reasons.append(
                f"epsilon at delta {delta:g} is infinite for {endless:,} of {computed:,} records: "
                "a count of 0, or of all, shows with a larger probability than delta that such a "
                "record is not behind the mean."
            )
    return reasons


def _normality(read: Tables, release: Release) -> tuple[of_leakage.NotNormal, ...]:
    """The columns whose mean is not close to normal, for the report."""
    odd = doubts(read.reference.matrix, read.reference.names, release)
    return tuple(
        of_leakage.NotNormal(
            column=d.column, skewness_over_root=d.skewness, expected_count=d.expected
        )
        for d in odd[:SHOWN]
    )


def _named(setting: LeakageSetting) -> str:
    release = setting.release
    parts = [f"mean of {release.behind:,.0f} records"]
    if release.rate < 1.0:
        parts.append(f"sampled from {release.size:,}")
    if isinstance(release.noise, tuple):
        span = f"{min(release.noise):g} to {max(release.noise):g}"
        parts.append(f"with noise of standard deviation {span}, one for each column")
    elif release.noise > 0.0:
        parts.append(f"with noise of standard deviation {release.noise:g}")
    return " ".join(parts)


def _remedy(goal: of_leakage.Defences) -> str:
    level = f"the {goal.percentile:g}th percentile to {goal.advantage:g}"
    if goal.now <= goal.advantage:
        return f"No further noise or sampling is needed to bring {level}."
    rate = f"a sampling rate of {_down(goal.rate)}" if goal.rate > 0.0 else "no sampling rate"
    return (
        f"Noise of standard deviation {_up(goal.noise)} on the mean, or {rate}, would bring "
        f"{level}."
    )


def _up(value: float, digits: int = 4) -> str:
    """Four digits, rounded away from zero: a noise is never stated too small."""
    text = f"{value:.{digits}g}"
    return text if float(text) >= value else f"{value * (1.0 + 10.0 ** (1 - digits)):.{digits}g}"


def _down(value: float, digits: int = 4) -> str:
    """Four digits, rounded towards zero: a rate is never stated too large."""
    text = f"{value:.{digits}g}"
    return text if float(text) <= value else f"{value * (1.0 - 10.0 ** (1 - digits)):.{digits}g}"


def _summary(values: Array, column: str = "") -> dict[str, float | str]:
    return {name: _stated(percentile(values, percent), column) for name, percent in QUANTILES}


def _stated(value: float, column: str) -> float | str:
    """An exact figure that is infinite is said to be; a normal one is only beyond what is told."""
    return INFINITE if np.isinf(value) and column.startswith("exact_") else value


def _histogram(advantage: Array, setting: LeakageSetting) -> of_leakage.Exposure:
    values = advantage[~np.isnan(advantage)]
    top = float(values.max())
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, top if top > 0.0 else 1.0))
    return of_leakage.Exposure(
        edges=edges.tolist(),
        records=counts.tolist(),
        percentile=setting.wanted.percentile,
        now=setting.defences.now,
        wanted=setting.wanted.advantage,
    )


def _power(read: Tables, measured: Exposures, setting: LeakageSetting) -> of_leakage.Power:
    """Power against false-positive rate of three records, exact where the columns are 0 and 1."""
    fpr = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 80)])
    named = {n: percentile(measured.leakage, q) for n, q in QUANTILES if n != "p90"}
    if not measured.is_exact:
        curves = [exposed.power(m, fpr, setting.release.rate) for m in named.values()]
    else:
        rows = [int(np.argmax(measured.leakage == m)) for m in named.values()]
        found = binary.exact(
            read.data.matrix[rows], setting.model.mean, setting.release, fprs=fpr.tolist()
        )
        curves = list(np.column_stack(found.power))
    series = {name: curve.tolist() for name, curve in zip(named, curves, strict=True)}
    return of_leakage.Power(fpr=fpr.tolist(), **series)


def _most_exposed(
    read: Tables, measured: Exposures, setting: LeakageSetting
) -> tuple[of_leakage.Exposed, ...]:
    shown: list[of_leakage.Exposed] = []
    for place, row in enumerate(measured.order[:SHOWN]):
        held = float(setting.similar.effective[place])
        shown.append(
            {
                **({"id": str(read.ids[int(row)].as_py())} if setting.ids else {}),
                "leakage": float(measured.leakage[row]),
                **{n: _stated(float(v[row]), n) for n, v in measured.columns.items()},
                "advantage_by_similar": float(exposed.advantage(held, setting.release.rate)),
            }
        )
    return tuple(shown)


def _similar(found: Similar, rate: float) -> of_leakage.SimilarRecord:
    some = found.own > 0.0
    share = found.effective[some] / found.own[some]
    return of_leakage.SimilarRecord(
        compared=int(found.rows.size),
        searched=found.searched,
        median_share=percentile(share, 50.0) if share.size else 0.0,
        largest_share=float(share.max()) if share.size else 0.0,
        own=exposed.advantage(found.own, rate).tolist(),
        by_similar=exposed.advantage(found.effective, rate).tolist(),
    )
