"""From leakage per record to a Result: distribution, most exposed, defences, similar records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from divulge.exposure import scores
from divulge.exposure.covariance import Covariance
from divulge.exposure.records import shared_rows
from divulge.exposure.scores import Release
from divulge.games.provenance import versions
from divulge.result import Result, Verdict

if TYPE_CHECKING:
    from divulge.games.leakage import Measured, Tables, Wanted

Array = npt.NDArray[np.float64]

STATUS = "computed"
SHOWN = 20
"""Most exposed records in the result."""
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
class Setting:
    """What was asked, and what was solved."""

    mechanism: str
    release: Release
    model: Covariance
    wanted: Wanted
    defences: dict[str, Any]
    similar: Similar


def percentile(values: Array, percent: float) -> float:
    """The largest value once the share above it is left out: one of the values themselves."""
    return float(np.percentile(values, percent, method="inverted_cdf"))


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
    held = scores.Misspecified(
        lengths[nearest] / release.size, products[np.arange(chosen.size), nearest] / release.size
    )
    return Similar(chosen, leakage[chosen], held.effective, int(others.shape[0]))


def _spread_over_ranks(order: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    first = order[:SHOWN]
    rest = order[SHOWN:]
    if rest.size > COMPARED - SHOWN:
        rest = rest[np.linspace(0, rest.size - 1, COMPARED - SHOWN).astype(np.intp)]
    return np.concatenate([first, rest])


def result(read: Tables, measured: Measured, setting: Setting, *, command: str | None) -> Result:
    """The distribution, the most exposed records by id, and what would bring them down."""
    release, model = setting.release, setting.model
    same = shared_rows(read.reference.matrix, read.data.matrix)
    return Result(
        game="leakage",
        verdict=verdict(read, measured, setting, same),
        bounds=(),
        measurements={
            "leakage": _summary(measured.leakage),
            **{name: _summary(values) for name, values in measured.columns.items()},
        },
        trials={
            "records": int(measured.leakage.size),
            "size": release.size,
            "behind": release.behind,
            "reference": model.references,
            "columns": model.dimension,
        },
        diagnostics={
            "exposure": _histogram(measured.columns["advantage"], setting),
            "power": _power(measured.leakage, release.rate),
            "most_exposed": _most_exposed(read, measured, setting),
            "defences": setting.defences,
            "similar": _similar(setting.similar, release.rate),
            "mechanism": {
                "mechanism": setting.mechanism,
                "noise": release.noise,
                "rate": release.rate,
            },
            "covariance": _covariance(read, measured.leakage, setting, same),
        },
        provenance={"command": command, "versions": versions(), "inputs": list(read.inputs)},
    )


def _covariance(read: Tables, leakage: Array, setting: Setting, same: int) -> dict[str, Any]:
    model, release = setting.model, setting.release
    out = {
        "covariance": model.kind,
        "shrinkage": model.shrinkage,
        "correlated": model.correlated,
        "shared_with_reference": same,
        "dropped_columns": list(read.dropped),
    }
    if release.noise == 0.0:
        out["distance_ratio"] = float(leakage.mean() * release.size / model.dimension)
    return out


def verdict(read: Tables, measured: Measured, setting: Setting, same: int) -> Verdict:
    """One sentence with the figures, and what they rest on."""
    values = measured.columns["advantage"]
    top = int(measured.order[0])
    goal = setting.defences
    sentence = (
        f"Through this {_named(setting)} the most exposed of {values.size:,} records "
        f"(id {read.ids[top].as_py()}) can be told in or out with an advantage of up to "
        f"{values[top]:.3g}; the {goal['percentile']:g}th percentile is {goal['now']:.3g}, the "
        f"median {percentile(values, 50.0):.3g}. {_remedy(goal)}"
    )
    reasons = [MODEL, PLUG_IN]
    if same:
        reasons.append(
            f"{same} of the records also stand in the reference: give reference records that are "
            "not in the data."
        )
    return Verdict(STATUS, False, sentence, tuple(reasons))


def _named(setting: Setting) -> str:
    release = setting.release
    parts = [f"mean of {release.behind:,.0f} records"]
    if release.rate < 1.0:
        parts.append(f"sampled from {release.size:,}")
    if release.noise > 0.0:
        parts.append(f"with noise of standard deviation {release.noise:g}")
    return " ".join(parts)


def _remedy(goal: dict[str, Any]) -> str:
    level = f"the {goal['percentile']:g}th percentile to {goal['advantage']:g}"
    if goal["now"] <= goal["advantage"]:
        return f"No further noise or sampling is needed to bring {level}."
    rate = f"a sampling rate of {_down(goal['rate'])}" if goal["rate"] > 0.0 else "no sampling rate"
    return (
        f"Noise of standard deviation {_up(goal['noise'])} on the mean, or {rate}, would bring "
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


def _summary(values: Array) -> dict[str, float]:
    return {name: percentile(values, percent) for name, percent in QUANTILES}


def _histogram(values: Array, setting: Setting) -> dict[str, Any]:
    top = float(values.max())
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, top if top > 0.0 else 1.0))
    return {
        "edges": edges.tolist(),
        "records": counts.tolist(),
        "percentile": setting.wanted.percentile,
        "now": setting.defences["now"],
        "wanted": setting.wanted.advantage,
    }


def _power(leakage: Array, rate: float) -> dict[str, Any]:
    fpr = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 80)])
    named = {name: percentile(leakage, percent) for name, percent in QUANTILES if name != "p90"}
    return {
        "fpr": fpr.tolist(),
        **{name: scores.power(m, fpr, rate).tolist() for name, m in named.items()},
    }


def _most_exposed(read: Tables, measured: Measured, setting: Setting) -> list[dict[str, Any]]:
    shown = []
    for place, row in enumerate(measured.order[:SHOWN]):
        held = float(setting.similar.effective[place])
        shown.append(
            {
                "id": str(read.ids[int(row)].as_py()),
                "leakage": float(measured.leakage[row]),
                **{name: float(values[row]) for name, values in measured.columns.items()},
                "advantage_by_similar": float(scores.advantage(held, setting.release.rate)),
            }
        )
    return shown


def _similar(found: Similar, rate: float) -> dict[str, Any]:
    some = found.own > 0.0
    share = found.effective[some] / found.own[some]
    return {
        "compared": int(found.rows.size),
        "searched": found.searched,
        "median_share": percentile(share, 50.0) if share.size else 0.0,
        "largest_share": float(share.max()) if share.size else 0.0,
        "own": scores.advantage(found.own, rate).tolist(),
        "by_similar": scores.advantage(found.effective, rate).tolist(),
    }
