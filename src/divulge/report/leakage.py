"""How the leakage of single records is shown: distribution, power, similar records."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from divulge.report.console import escape
from divulge.report.drawing import (
    COLOURS,
    Drawing,
    Row,
    axis,
    bars,
    chart,
    dotted,
    finish,
    known,
    layered,
    lines,
    marker,
    pairs,
    tooltip,
)
from divulge.report.lazy import alt
from divulge.report.presentation import Presentation
from divulge.report.section import Panel, Section
from divulge.report.wording import CHECKS, LABELS, Words, number
from divulge.result import Diagnostics, Result, plain

SHOWN = ("leakage", "advantage", "exact_advantage", "advantage_by_similar")
MOST = 10
"""Most exposed records in the terminal."""
OWN = {
    "advantage_by_similar": "advantage of an attacker who holds the nearest reference record",
    "behind": "records behind the mean",
    "by_similar": "advantage with the nearest reference record",
    "columns": "columns of the mean",
    "compared": "records compared",
    "correlated": "reference records behind the correlations",
    "distance_ratio": "mean squared distance of the records over its expectation (1 is best)",
    "dropped_columns": "columns left out because they are constant",
    "exact_advantage": "advantage, exact",
    "expected_count": "records behind the mean expected to have the rarer value",
    "largest_share": "largest share of the leakage retained",
    "leakage": "leakage (m*)",
    "median_share": "median share of the leakage retained",
    "noise": "noise on every column of the mean (standard deviation)",
    "noise_by_column": "noise on each column of the mean (standard deviation)",
    "noise_over_spread": "the same over the spread of the mean itself (median column)",
    "now": "advantage at this percentile now",
    "own": "advantage with the record itself",
    "percentile": "percentile of the records",
    "rate": "share of the records that is sampled",
    "records": "records",
    "reference": "reference records",
    "searched": "reference records searched",
    "shared_with_reference": "records that are also in the reference (0 is best)",
    "shrinkage": "shrinkage towards independent columns (0: none, 1: full)",
    "size": "records in the table",
    "skewness_over_root": "skewness over the root of the records behind the mean",
    "wanted": "target advantage",
}
"""Labels on top of those that every game shares."""
EXPOSURE = "How exposed are the records?"
EXPOSURE_CAPTION = (
    "Across: the advantage of the best attack on a record, that is its true-positive rate less "
    "its false-positive rate; 0 is guessing, 1 is certainty. Up: how many records have it, on "
    "an axis that also shows single ones. One line marks the percentile looked at, the other "
    "the target advantage."
)
POWER = "How often would the best attack be right?"
POWER_CAPTION = (
    "Up: the true-positive rate (power), how often the record is recognised when it is in the "
    "mean. Across: the false-positive rate, how often it is said to be in when it is not. "
    "Dotted: guessing. One line for a record in the middle, one at the 99th percentile, one for "
    "the most exposed."
)
SIMILAR = "How much does a similar record still reveal?"
SIMILAR_CAPTION = (
    "An attacker may not hold the record itself but a similar one. Each point is a record: "
    "across, the advantage with the record itself; up, with the nearest reference record in its "
    "place. On the dotted line nothing is lost."
)
OWN_CHECKS = {
    "most_exposed": (
        "Which records are most exposed?",
        "Most exposed first. Which they are stands in the table of all records that --table "
        "writes, and here with --ids.",
    ),
    "defences": (
        "What would reduce the exposure?",
        "Each solved separately: the least noise, with the sampling unchanged, and the largest "
        "sampling rate, with the noise unchanged, at which the percentile is no higher than the "
        "target advantage. A rate of 0 means that no rate suffices.",
    ),
    "normality": (
        "Which columns have a mean that is not close to normal?",
        "Most skewed first. Beyond 0.3, or with fewer than five expected records of the rarer "
        "value, the normal form may be far off. Where every column holds zeros and ones and no "
        "noise is added, the exact figures stand beside the normal ones.",
    ),
    "mechanism": ("What is released?", ""),
    "covariance": (
        "How were distances measured?",
        "In the covariance of the reference records. A ratio far from 1 means that the records are "
        "not like the reference, or that the covariance is not known well enough.",
    ),
}
EXACT = "exact_"
"""How figures that need no normal mean begin."""
SERIES = ("median record", "99th percentile", "most exposed record")
"""The records whose power is drawn."""
QUANTILES = (("median", "median"), ("p90", "90%"), ("p99", "99%"), ("largest", "largest"))
"""The columns of the terminal's table."""


def figure(key: str) -> str:
    """``leakage``, ``advantage``, ``power at FPR 0.01``, ``epsilon at delta 1e-05``."""
    if key.startswith(EXACT):
        return f"{figure(key.removeprefix(EXACT))}, exact"
    for start, words in (("tpr_at_", "power at FPR "), ("epsilon_at_", "epsilon at delta ")):
        if key.startswith(start):
            return words + key.removeprefix(start)
    return OWN.get(key, key)


def exposure(diagnostics: Diagnostics) -> Drawing | None:
    """How many records have which advantage, the percentile and what was asked for."""
    given = diagnostics.exposure
    edges = known(given.edges) if given else []
    if given is None or len(edges) != len(given.records) + 1 or not given.records:
        return None
    rows: list[Row] = [
        {"from": low, "to": high, "count": count, "base": 0}
        for low, high, count in zip(edges[:-1], edges[1:], given.records, strict=True)
    ]
    low, high = edges[0], max(edges[-1], given.now, given.wanted)
    top = max(given.records)
    across = alt.Scale(domain=[low, high])
    up = alt.Scale(type="symlog", domain=[0, max(3.0 * top, 1.0)])
    layers: list[Drawing] = [bars(rows, "advantage", "records", across, up, ",d")]
    layers.append(marker(given.now, f"{given.percentile:g}th percentile", low, high, line=0))
    layers.append(marker(given.wanted, "target", low, high, line=1))
    return finish(layered(*layers), "Histogram of the advantage over the records.")


def power(diagnostics: Diagnostics) -> Drawing | None:
    """True against false positives for three records, on logarithmic axes."""
    given = diagnostics.power
    if given is None:
        return None
    rows: list[Row] = []
    for name, series in zip(SERIES, (given.median, given.p99, given.largest), strict=True):
        points = [(x, y) for x, y in pairs(given.fpr, series) if x > 0.0 and y > 0.0]
        rows += [
            {"fpr": x, "tpr": y, "series": name, "place": i} for i, (x, y) in enumerate(points)
        ]
    if not rows:
        return None
    names = [name for name in SERIES if any(row["series"] == name for row in rows)]
    least = min(row["fpr"] for row in rows)
    x = alt.X("fpr:Q", title="false-positive rate", axis=axis("~g"))
    y = alt.Y("tpr:Q", title="true-positive rate", axis=axis("~g"))
    x = x.scale(type="log", domain=[least, 1])
    y = y.scale(type="log", domain=[min(least, *(row["tpr"] for row in rows)), 1])
    shown = {
        "record": "series:N",
        "false-positive rate": "fpr:Q",
        "true-positive rate": "tpr:Q",
    }
    paths = lines(rows, names, x, y, **shown)[0]
    guessing = dotted([{"fpr": v, "tpr": v} for v in (least, 1.0)], x, y)
    return finish(layered(guessing, paths), "Power of the best attack on three records.")


def similar(diagnostics: Diagnostics) -> Drawing | None:
    """Advantage with the nearest reference record against advantage with the record itself."""
    given = diagnostics.similar
    points_ = pairs(given.own, given.by_similar) if given else []
    rows: list[Row] = [{"own": x, "similar": y} for x, y in points_]
    if not rows:
        return None
    top = max(max(row["own"], row["similar"]) for row in rows) or 1.0
    x = alt.X("own:Q", title="with the record itself", scale=alt.Scale(domain=[0, top]))
    y = alt.Y("similar:Q", title="with a similar one", scale=alt.Scale(domain=[0, top]))
    points = (
        chart(rows)
        .mark_point(size=45, filled=True, opacity=0.6, color=COLOURS["first"])
        .encode(x=x, y=y, tooltip=tooltip(**{"record itself": "own:Q", "similar one": "similar:Q"}))
    )
    same = dotted([{"own": v, "similar": v} for v in (0.0, top)], x, y)
    return finish(
        layered(same, points), "Advantage with a similar record against that with the record."
    )


def print_leakage(result: Result, console: Console) -> frozenset[str]:
    """The distribution, the most exposed records and what similar ones reveal."""
    held = result.diagnostics
    summaries = {k: v for k, v in plain(result.measurements).items() if k in _quantified(result)}
    if summaries:
        console.print("[bold]Over the records[/bold]")
        table = _table("", *(name for _, name in QUANTILES))
        for key, value in summaries.items():
            table.add_row(escape(figure(key)), *(_number(value[k], key) for k, _ in QUANTILES))
        console.print(table)
    rows = (held.most_exposed or ())[:MOST]
    if rows:
        console.print("\n[bold]Most exposed[/bold]")
        keys = [k for k in SHOWN if k in rows[0]]
        names = {key: figure(key) for key in keys}
        names |= {"leakage": "leakage", "advantage_by_similar": "with a similar record"}
        table = _table("id" if "id" in rows[0] else "", *(names[k] for k in keys))
        for place, row in enumerate(rows, start=1):
            name = str(row.get("id", f"{place}."))
            table.add_row(escape(name), *(_number(row[k]) for k in keys))
        console.print(table)
    similar_ = held.similar
    if similar_ is not None and similar_.median_share is not None:
        console.print(
            "\nAn attacker who holds the nearest reference record instead retains "
            f"{similar_.median_share:.1%} of the leakage (median of {similar_.compared} records)."
        )
    return frozenset(summaries)


def _quantified(result: Result) -> list[str]:
    """Measurements that are a distribution over records."""
    whole = {k for k, _ in QUANTILES}
    return [k for k, v in result.measurements.items() if isinstance(v, Mapping) and whole <= set(v)]


def _number(value: float | str | None, key: str = "") -> str:
    if value is None or isinstance(value, str):
        return "infinite" if key.startswith(EXACT) or value is not None else "beyond 600"
    return number(value)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=len(name) < 12)
    return table


PRESENTATION = Presentation(
    question="If a mean of these records is released, which of them can an observer tell to be in "
    "it, and how well?",
    words=Words(
        yes="records in the mean",
        no="records outside",
        each="a record",
        one="in the mean",
        taken="said to be in the mean",
        happened="a record is in the mean",
        tell_apart="tell records in the mean from others",
        judgement="model of the mean",
        doubt="the model of the mean is wrong",
        hidden="error of the model",
    ),
    labels={**LABELS, **OWN},
    checks={**OWN_CHECKS, **CHECKS},
    sections=(
        Section("exposure", EXPOSURE, EXPOSURE_CAPTION, (Panel("exposure", exposure),)),
        Section("power", POWER, POWER_CAPTION, (Panel("power", power),)),
        Section("similar", SIMILAR, SIMILAR_CAPTION, (Panel("similar", similar),)),
    ),
    names=OWN,
    lines=print_leakage,
)
