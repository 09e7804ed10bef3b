"""How every chart is drawn: clean data, scales, labels, markers, hovering and the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from divulge.report.lazy import alt
from divulge.report.wording import number
from divulge.result.form import Series
from divulge.text.visible import one_line

if TYPE_CHECKING:
    Drawing = alt.Chart | alt.LayerChart
else:
    Drawing = Any
Row = dict[str, Any]
T = TypeVar("T")

COLOURS = {
    "ink": "#1f2933",
    "muted": "#52606d",
    "line": "#d3d9e0",
    "paper": "#fffffe",
    "first": "#1d5c9e",
    "second": "#a85200",
    "third": "#6a3d9a",
}
"""Colours of the light theme by role; the page swaps each for its CSS variable of that name."""

HEIGHT = 250
POINTS = 400
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def known(values: Series) -> list[float]:
    """The numbers of a series that are known."""
    return [v for v in values if v is not None]


def pairs(x: Series, y: Series) -> list[tuple[float, float]]:
    """Two series side by side without the places where either is unknown, thinned for drawing."""
    both = zip(x, y, strict=False)
    return thinned([(a, b) for a, b in both if a is not None and b is not None])


def thinned(points: list[T]) -> list[T]:
    """At most ``POINTS`` of them, the ends among them."""
    if len(points) <= POINTS:
        return points
    # The start of a curve is kept whole: a logarithmic axis shows little else.
    head, tail = points[: POINTS // 3], points[POINTS // 3 :]
    step = (len(tail) - 1) / (POINTS - len(head) - 1)
    return head + [tail[round(i * step)] for i in range(POINTS - len(head))]


def named_apart(rows: Sequence[Row], key: str) -> list[Row]:
    """The rows with every name made single-line, visible and unique, so that no two merge."""
    seen: dict[str, int] = {}
    out = []
    for row in rows:
        name = one_line(row[key]) or "(no name)"
        seen[name] = seen.get(name, 0) + 1
        out.append({**row, key: name if seen[name] == 1 else f"{name} ({seen[name]})"})
    return out


def bins(values: Sequence[float], count: int = 30) -> list[Row]:
    """Equal bins over the range of the values, as rows ``from, to, count, base``."""
    low, high = min(values), max(values)
    if high - low <= 1e-12 * max(1.0, abs(low)):
        low, high = low - 0.05, high + 0.05
    width = (high - low) / count
    counts = [0] * count
    for value in values:
        counts[min(count - 1, int((value - low) / width))] += 1
    return [
        {"from": low + i * width, "to": low + (i + 1) * width, "count": n, "base": 0}
        for i, n in enumerate(counts)
    ]


def data(rows: list[Row]) -> alt.InlineData:
    """Rows inside the specification, which is held against its schema as a whole later on."""
    with alt.utils.schemapi.debug_mode(False):
        return alt.InlineData(values=tuple(rows))  # altair copies lists again and again


def chart(rows: list[Row]) -> alt.Chart:
    """A chart over rows."""
    return alt.Chart(data(rows))


def layered(*drawings: Drawing) -> alt.LayerChart:
    """Drawings on top of each other."""
    return alt.LayerChart(layer=list(drawings))


def colour_scale(domain: list[str], *roles: str) -> alt.Scale:
    """One colour of the palette per name."""
    return alt.Scale(domain=domain, range=[COLOURS[role] for role in roles])


def legend(size: int = 140) -> alt.Legend:
    """A legend below the chart, one line per series, so that it fits a phone."""
    return alt.Legend(
        title=None, orient="bottom", direction="vertical", labelLimit=260, symbolSize=size
    )


def axis(form: str, **options: Any) -> alt.Axis:
    """An axis with a number format; labels that would collide are left out."""
    return alt.Axis(format=form, labelOverlap=True, labelSeparation=6, **options)


def tooltip(**fields: str) -> list[alt.Tooltip]:
    """What hovering shows: the label and the field of each line."""
    return [
        alt.Tooltip(field, title=label, format=".6~g")
        if field.endswith(":Q")
        else alt.Tooltip(field, title=label)
        for label, field in fields.items()
    ]


def hover(base: alt.Chart, colour: str, *, nearest: bool) -> alt.Chart:
    """Points that appear under the pointer, with the tooltip of ``base``.

    ``nearest`` takes the point nearest along the x axis, wherever the pointer is; the tooltip must
    then hold numbers only (Vega-Lite 6.4 shows words as "undefined" there).
    """
    options: dict[str, Any] = {"nearest": True, "encodings": ["x"]} if nearest else {}
    near = alt.selection_point(
        name="near", on="pointerover", clear="pointerout", empty=False, **options
    )
    seen = alt.condition(near, alt.value(1), alt.value(0))
    size = 70 if nearest else 140
    points: alt.Chart = base.mark_point(size=size, filled=True, color=colour, clip=True)
    return points.encode(opacity=seen).add_params(near)


def label(text: str, align: Literal["left", "right"], **place: Any) -> alt.LayerChart:
    """Text on the chart, with a halo so that it stays legible over marks."""
    base = chart([{"text": text}]).encode(text="text:N", **place)
    style: dict[str, Any] = {"align": align, "fontSize": 12, "dx": 5 if align == "left" else -5}
    return layered(
        base.mark_text(stroke=COLOURS["paper"], strokeWidth=4, **style),
        base.mark_text(color=COLOURS["ink"], **style),
    )


def marker(value: float, text: str, low: float, high: float, *, line: int = 0) -> alt.LayerChart:
    """A vertical line at a value with its text, on the side where there is room."""
    said = number(value)
    rows = [{"at": float(said), "what": f"{text}: {said}"}]
    dash = ([6, 3], [2, 3])[line % 2]
    rule = (
        chart(rows)
        .mark_rule(color=COLOURS["ink"], strokeWidth=2, strokeDash=dash)
        .encode(x="at:Q", tooltip=tooltip(marker="what:N"))
    )
    side: Literal["left", "right"] = "left" if value - low < 0.6 * (high - low) else "right"
    place = alt.X(datum=float(said), type="quantitative")
    return layered(rule, label(text, side, x=place, y=alt.value(9 + 17 * line)))


def level(value: float, text: str) -> alt.LayerChart:
    """A horizontal line at a value with its text above the left end."""
    rule = (
        chart([{"at": value, "what": text}])
        .mark_rule(color=COLOURS["ink"], strokeWidth=1.5, strokeDash=[6, 3])
        .encode(y="at:Q", tooltip=tooltip(marker="what:N"))
    )
    place = alt.Y(datum=value, type="quantitative")
    return layered(rule, label(text, "left", x=alt.value(0), y=place, yOffset=alt.value(-9)))


def bars(rows: list[Row], what: str, unit: str, x: alt.Scale, y: alt.Scale, form: str) -> alt.Chart:
    """Rows ``from, to, count, base`` as bars."""
    drawn: alt.Chart = chart(rows).mark_rect(
        fill=COLOURS["first"], opacity=0.8, stroke=COLOURS["paper"], strokeWidth=1
    )
    return drawn.encode(
        x=alt.X("from:Q", title=what, scale=x),
        x2="to:Q",
        y=alt.Y("count:Q", title=unit, scale=y, axis=axis(form)),
        y2="base:Q",
        tooltip=tooltip(**{"from": "from:Q", "to": "to:Q", unit: "count:Q"}),
    )


def histogram(
    values: Sequence[float], what: str, unit: str, marks: Sequence[tuple[float | None, str]]
) -> alt.LayerChart:
    """How often each value occurred, and a marker with its words at every value that is known."""
    rows = bins(values)
    high = alt.Scale(domain=[0, 1.35 * max(row["count"] for row in rows)])
    layers: list[Drawing] = [bars(rows, what, unit, alt.Scale(zero=False), high, "d")]
    for line, (value, words) in enumerate(marks):
        if value is not None:
            layers.append(marker(value, words, rows[0]["from"], rows[-1]["to"], line=line))
    return layered(*layers)


def strokes(
    names: Sequence[str], roles: Sequence[str], dashes: Sequence[list[int]], field: str = "series:N"
) -> dict[str, Any]:
    """One colour and one dash per name, with a legend."""

    def by_name(choices: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=list(names), range=list(choices)[: len(names)])

    colours = by_name([COLOURS[role] for role in roles])
    return {
        "stroke": alt.Stroke(field, scale=colours, legend=legend(size=900)),
        "strokeDash": alt.StrokeDash(field, scale=by_name(dashes)),
    }


def dotted(rows: list[Row], x: Any, y: Any) -> alt.Chart:
    """A quiet line to compare with: guessing, or what is equal."""
    line: alt.Chart = chart(rows).mark_line(color=COLOURS["muted"], strokeDash=[2, 4])
    return line.encode(x=x, y=y)


def lines(rows: list[Row], names: list[str], x: alt.X, y: alt.Y, **shown: str) -> list[Drawing]:
    """One line with its points per name in ``series``, in the order of ``place``.

    At most three names, told apart by colour, dash and shape; ``shown`` is the points' tooltip.
    """
    roles = ("first", "second", "third")
    shapes = ["circle", "diamond", "square"][: len(names)]
    # Points go by number: Vega-Lite would merge legends over the same names, and theirs is none.
    kinds = list(range(len(names)))
    colours = [COLOURS[role] for role in roles[: len(names)]]
    numbered = [{**row, "kind": names.index(row["series"])} for row in rows]
    base = chart(numbered).encode(x=x, y=y)
    paths = base.mark_line(strokeWidth=2).encode(
        order="place:Q", **strokes(names, roles, [[1, 0], [7, 4], [8, 3, 2, 3]])
    )
    points = base.mark_point(size=70, opacity=1, strokeWidth=0).encode(
        fill=alt.Fill("kind:N", scale=alt.Scale(domain=kinds, range=colours), legend=None),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=shapes), legend=None),
        tooltip=tooltip(**shown),
    )
    return [paths, points]


def finish(drawing: Drawing, description: str, height: int = HEIGHT) -> Drawing:
    """The frame: as wide as its place on the page, quiet axes, words for a screen reader."""
    framed: Drawing = (
        drawing.properties(
            width="container", height=height, description=description, autosize="fit-x"
        )
        .configure(font=FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=COLOURS["ink"],
            titleColor=COLOURS["ink"],
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=8,
            gridColor=COLOURS["line"],
            domainColor=COLOURS["muted"],
            tickColor=COLOURS["muted"],
            tickCount=5,
        )
        .configure_legend(labelColor=COLOURS["ink"], labelFontSize=12, symbolStrokeWidth=2)
    )
    return framed
