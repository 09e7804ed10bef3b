"""How members against generated records are shown: baseline and attack by recall, and repeats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from rich.console import Console

from divulge.report import drawing
from divulge.report.console import escape, two_columns
from divulge.report.drawing import COLOURS, HEIGHT, Drawing, Row, axis, chart, dotted, finish
from divulge.report.lazy import alt
from divulge.report.presentation import Presentation
from divulge.report.section import Panel, Section, scalars, short
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, LABELS, Advice, Words, number
from divulge.result import Diagnostics, Result, floor_to, plain
from divulge.result.of_generated import RecallRecord, Repeats
from divulge.text.rounding import rounded_up
from divulge.text.visible import one_line

OWN = {
    "auc_of_residual_score": "AUC of the score without what the baseline explains",
    "c_lb": "given away without the model (c_lb)",
    "c_plus_epsilon_lb": "given away with the model ({c + epsilon}_lb)",
    "epsilon_tilde": "what the model adds (epsilon~, a measurement, not a bound)",
    "generated_equal_to_a_member": "generated records that equal a member",
    "members": "members in the trials",
    "nonmembers": "generated records in the trials",
    "nonmembers_kept": "generated records kept",
    "members_equal_to_another_member": "share of the members that equal another member",
    "direct_epsilon": "epsilon of members against real non-members, with a propensity per record",
    "negative_control_epsilon": "epsilon of the negative control (real non-members, which "
    "cannot leak)",
    "negative_control_sight": "epsilon that the negative control could have detected",
    "one_run_epsilon": "epsilon of the loss alone, on real non-members assumed to have no "
    "shift (O(1))",
    "pool_members": "members in the game, all splits",
    "pool_nonmembers": "generated records in the game, all splits",
    "real_nonmembers_c_lb": "given away without the model, on real non-members (0 if there is "
    "no shift)",
    "real_nonmembers_epsilon": "epsilon of the same attack, on real non-members assumed to "
    "have no shift (RM;RN)",
    "residual_c_lb": "given away without the model beyond each record's propensity (0 is best)",
    "taught_generator": "members used to train the generator or a helper",
    "test": "records of each side in the test split, from which trials are drawn",
    "training": "records of each side in the training split of baseline and attack",
    "validation": "records of each side in the validation split, which selects their settings",
}
"""Labels on top of those that every game shares."""
OWN_CHECKS = {
    "measurement": (
        "What does PANORAMIA measure?",
        "Without the model: how well the baseline tells members from generated records, which "
        "is an imperfection of the generator. With the model: how well the attack does. The "
        "difference is what the model adds, by memorisation or by knowing the population better "
        "than the baseline does. All three are log-odds: 0 is guessing.",
    ),
    "comparison": (
        "How do other audits perform?",
        "PANORAMIA's figure is a measurement. The verdict rests on the bound with a propensity "
        "per record. RM;RN and O(1) use real non-members instead of generated records and "
        "assume that they have the distribution of the members; only then do they bound epsilon.",
    ),
    "rules": (
        "What if other numbers of guesses are tried?",
        "The rule says how many numbers of guesses are tried: a fixed grid of at most twenty, or "
        "all of them, as published. They share one allowance for error, so each further one "
        "costs something. The rule of the measurement was named beforehand.",
    ),
    "relaxed": (
        "What if a few records are exempt?",
        "gamma is the share of the records on which the generator may be worse than c, delta the "
        "probability with which the model may exceed epsilon. The figures are smaller then, and "
        "hold under the weaker assumption.",
    ),
    "models": (
        "Which models were used?",
        "The generator made the records that stand for non-members. Helpers do the task of the "
        "model under audit without having learned from the records in the trials; baseline and "
        "attack both see how well they do. The settings of both were chosen on other records.",
    ),
    "copies": (
        "Did the generator copy members?",
        "A copy is a member that counts as generated, so each makes members harder to recognise.",
    ),
    "blind": (
        "Is anything left that the record alone gives away?",
        "After each record was given its propensity, a blind baseline, which never sees the "
        "model, tries again to tell members from generated records. What it still achieves is "
        "not a leak of the model; 0 is best.",
    ),
    "negative_control": (
        "Negative control: does the same audit find anything where nothing can leak?",
        "Real non-members in the place of the members, against generated records: if anything "
        "is found there, it is knowledge of the population, and nothing is concluded. If not, "
        "what so few records could not have detected is deducted. Members are also compared "
        "with the real non-members directly: a finding that this does not confirm is not called "
        "a leak.",
    ),
    "odd": ("What is unusual about the generated records?", ""),
    "nuisance": ("How good are the nuisance models?", ""),
}
"""Headings on top of those that every game shares, and shown before them."""
SERIES = {
    "baseline": "baseline (sees the record alone)",
    "attack": "attack (sees the model as well)",
}
"""The two guessers, in legends."""
FIGURES = {
    "c_lb": "What the record alone gives away (c_lb)",
    "c_plus_epsilon_lb": "With the model as well ({c + epsilon}_lb)",
    "epsilon_tilde": "What the model adds (epsilon~)",
}
"""The three figures, in the terminal."""
SHORT = {
    "c_lb": "c_lb",
    "c_plus_epsilon_lb": "{c + epsilon}_lb",
    "epsilon_tilde": "epsilon~",
}
"""The same where there is little room."""
_COMPARED = ("real_nonmembers_epsilon", "one_run_epsilon")
_ROLES = {"baseline": "second", "attack": "first"}
_DASHES = {"baseline": [7, 4], "attack": [1, 0]}


def points(recall: RecallRecord) -> list[Row]:
    """Baseline and attack at every level that names its recall."""
    rows: list[Row] = []
    for name, own in (("baseline", recall.baseline), ("attack", recall.attack)):
        levels = zip(own.recall, own.precision, own.guesses, own.lower, strict=False)
        known = drawing.thinned([level for level in levels if level[0] is not None])
        for found, right, many, lower in known:
            level = {"guesser": name, "recall": found, "precision": right, "guesses": many}
            rows.append({**level, "lower": lower and floor_to(lower, 3)})
    return rows


def _rows(diagnostics: Diagnostics, key: str) -> list[Row]:
    rows = points(diagnostics.recall) if diagnostics.recall else []
    return [row for row in rows if row[key] is not None]


def precision(diagnostics: Diagnostics) -> Drawing | None:
    """The share of the guesses that were right, against recall."""
    rows = _rows(diagnostics, "precision")
    if not rows:
        return None
    y = alt.Y("precision:Q", title="guesses that were right", axis=axis("~%"))
    y = y.scale(domain=[0, 1])
    coin = dotted([{"recall": v, "precision": 0.5} for v in (0.0, 1.0)], "recall:Q", y)
    drawn = _against_recall(rows, y, precision="precision:Q", guesses="guesses:Q")
    description = "Precision against recall, for the baseline and for the attack."
    return finish(drawing.layered(coin, *drawn), description)


def guesses(diagnostics: Diagnostics) -> Drawing | None:
    """How many guesses a recall takes."""
    rows = _rows(diagnostics, "guesses")
    if not rows:
        return None
    y = alt.Y("guesses:Q", title="guesses", axis=axis(",d"), scale=alt.Scale(zero=True))
    layers = _against_recall(rows, y, guesses="guesses:Q", precision="precision:Q")
    # Where every guess is right, recall grows by one member per guess.
    sound = [r for r in rows if r["precision"] is not None and r["recall"] > 0.0]
    if sound:
        last = max(sound, key=lambda row: row["guesses"])
        real = last["guesses"] * last["precision"] / last["recall"]
        ends = [{"recall": 0.0, "guesses": 0.0}, {"recall": 1.0, "guesses": real}]
        layers.insert(0, dotted(ends, "recall:Q", y))
    description = "Number of guesses against recall, for the baseline and for the attack."
    return finish(drawing.layered(*layers), description)


def proven(diagnostics: Diagnostics) -> Drawing | None:
    """The value that the guesses prove against recall; the largest of either guesser is marked."""
    rows = _rows(diagnostics, "lower")
    if not rows:
        return None
    # The curve shows some of the levels; the rule that tries all knows the largest of all.
    every = [r for r in diagnostics.rules or () if r.rule == "all"]
    largest = {
        "baseline": floor_to(max((r.c_lb or 0.0 for r in every), default=0.0), 3),
        "attack": floor_to(max((r.c_plus_epsilon_lb or 0.0 for r in every), default=0.0), 3),
    }
    for row in rows:
        largest[row["guesser"]] = max(largest[row["guesser"]], row["lower"])
    top = 1.15 * max(*largest.values(), 0.1)
    scale = alt.Scale(domain=[0, top], nice=False)
    y = alt.Y("lower:Q", title="proven, at least", scale=scale)
    drawn = _against_recall(rows, y, **{"at least": "lower:Q", "guesses": "guesses:Q"})
    least = min(largest.values())
    marks = [
        _largest(name, value, below=value == least and value > 0.15 * top)
        for name, value in largest.items()
    ]
    description = (
        "Proven lower value against recall, c for the baseline and c + epsilon for the attack; "
        "dashed lines mark the largest."
    )
    return finish(drawing.layered(*drawn, *marks), description)


def _largest(name: str, value: float, *, below: bool) -> alt.LayerChart:
    """A line at the largest value, and its label where it does not meet that of the other."""
    text = f"{name}: {number(value)}"
    rule = (
        chart([{"at": value, "what": text}])
        .mark_rule(color=COLOURS[_ROLES[name]], strokeWidth=1.5, strokeDash=[3, 3])
        .encode(y="at:Q", tooltip=drawing.tooltip(largest="what:N"))
    )
    # Curves are low at the right; a label above a low line goes left, for both may be at 0.
    side: Literal["left", "right"] = "right" if below or name == "attack" else "left"
    x = alt.value(0) if side == "left" else alt.value("width")
    place = alt.Y(datum=value, type="quantitative")
    offset = alt.value(11 if below else -9)
    return drawing.layered(rule, drawing.label(text, side, x=x, y=place, yOffset=offset))


def _against_recall(rows: list[Row], y: alt.Y, **shown: str) -> list[Drawing]:
    """One line per guesser in the order of its levels, with what hovering tells."""
    names = [name for name in SERIES if any(row["guesser"] == name for row in rows)]
    placed = [{**row, "series": SERIES[row["guesser"]], "place": i} for i, row in enumerate(rows)]
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("recall:Q", title="recall: members found", scale=unit, axis=axis("~%"))
    base = chart(placed).encode(x=x, y=y)
    drawn = base.mark_line(strokeWidth=2, clip=True).encode(
        order="place:Q",
        **drawing.strokes(
            [SERIES[n] for n in names],
            [_ROLES[n] for n in names],
            [_DASHES[n] for n in names],
            "series:O",
        ),
    )
    told = drawing.tooltip(guesser="guesser:N", recall="recall:Q", **shown)
    return [drawn, drawing.hover(base.encode(tooltip=told), COLOURS["ink"], nearest=False)]


def spreads(repeats: Repeats) -> list[Row]:
    """Mean, interval and single values of each figure that is known."""
    figures = (repeats.c_lb, repeats.c_plus_epsilon_lb, repeats.epsilon_tilde)
    return [
        {"figure": name, "mean": own.mean, "low": own.low, "high": own.high}
        | {"repeats": drawing.thinned(drawing.known(own.values))}
        for name, own in zip(SHORT.values(), figures, strict=True)
        if own.mean is not None and own.low is not None and own.high is not None
    ]


def repeats(diagnostics: Diagnostics) -> Drawing | None:
    """Each figure in every repeat, with the mean and its t-interval."""
    given = spreads(diagnostics.repeats) if diagnostics.repeats else []
    if not given:
        return None
    rows = [
        {"figure": row["figure"], "high": row["high"]}
        | {key: floor_to(row[key], 3) for key in ("mean", "low")}
        for row in given
    ]
    single = [
        {"figure": row["figure"], "value": floor_to(v, 3)} for row in given for v in row["repeats"]
    ]
    y = alt.Y("figure:N", sort=None, title=None, axis=alt.Axis(labelLimit=130))
    told = drawing.tooltip(figure="figure:N", mean="mean:Q", low="low:Q", high="high:Q")
    title = "log-odds (spread over repeats, not a bound)"
    base = chart(rows).encode(y=y, tooltip=told)
    spans = base.mark_rule(color=COLOURS["first"], strokeWidth=3).encode(
        x=alt.X("low:Q", title=title), x2="high:Q"
    )
    means = base.mark_point(
        shape="diamond", size=150, filled=True, opacity=1, color=COLOURS["first"]
    ).encode(x="mean:Q")
    dots = (
        chart(single)
        .mark_point(size=60, strokeWidth=2, color=COLOURS["second"], opacity=1, yOffset=14)
        .encode(x="value:Q", y=y, tooltip=drawing.tooltip(figure="figure:N", repeat="value:Q"))
    )
    zero = chart([{"at": 0.0}]).mark_rule(color=COLOURS["muted"]).encode(x="at:Q")
    description = "Mean, t-interval and single values of each figure over the repeats."
    return finish(
        drawing.layered(zero, spans, means, dots), description, height=HEIGHT // 5 * len(given)
    )


def figures(result: Result, keys: Iterable[str] = tuple(FIGURES)) -> dict[str, str]:
    """Measurements as text, as far as the result holds them."""
    held = plain(result.measurements)
    return {key: number(held[key]) for key in keys if held.get(key) is not None}


def print_synthetic(result: Result, console: Console) -> frozenset[str]:
    """The figures, what their difference means, their spread, and other audits beside them."""
    held, shown = result.diagnostics, figures(result)
    if shown:
        console.print("\n[bold]Members against generated records (PANORAMIA)[/bold]")
        console.print(two_columns([(FIGURES[key], text) for key, text in shown.items()]))
    if held.measurement is not None and "epsilon_tilde" in shown:
        meaning = one_line(held.measurement.meaning).rstrip(".")
        console.print(f"epsilon~ is {escape(meaning)}.")
    if held.repeats is not None:
        console.print(f"\n[bold]Spread over {held.repeats.count} repeats[/bold]")
        console.print(two_columns([_in_words(row) for row in spreads(held.repeats)]))
        console.print("Mean and 95% t-interval: a spread, not a bound.")
    others = [
        (one_line(other.attack), "not computed" if other.epsilon is None else number(other.epsilon))
        for other in held.comparison or ()
    ]
    if others:
        console.print("\n[bold]Other audits beside it, in epsilon[/bold]")
        console.print(two_columns(others))
    told = [text for _, text in others]
    again = [key for key, text in figures(result, _COMPARED).items() if text in told]
    return frozenset([*shown, *again])


def _in_words(row: Row) -> tuple[str, str]:
    span = f"{number(row['low'])} to {rounded_up(row['high'])}"
    return row["figure"], f"{number(row['mean'])} ({span})"


def _repeat_facts(repeats: Repeats) -> dict[str, Any]:
    return {"repeats": scalars(repeats)["count"]}


def _levels(recall: RecallRecord) -> Any:
    return short(points(recall))


WORDS = Words(
    no="generated records",
    tell_apart="tell members from generated records",
    hidden="hidden flaw of the generator",
)
_RECALL = Section(
    "recall",
    "What does the model add to what the record alone gives away?",
    "Members, the records that the model was trained on, are mixed with generated records, and "
    "two classifiers pick out members. The baseline sees the record and never the model: it "
    "finds what the generator got wrong. The attack sees what the model says as well. What the "
    "attack finds beyond the baseline is what the model memorised, or what it knows of the "
    "population that the baseline does not: so the gap between the two is what matters. Across, "
    "in each chart: recall, the share of the members found.",
    (
        Panel(
            "precision",
            precision,
            "Precision",
            "Up: the share of the guesses that were right. Dotted: guessing by coin.",
        ),
        Panel(
            "guesses",
            guesses,
            "Number of guesses",
            "Up: how many records were guessed. Dotted: if every guess were right.",
        ),
        Panel(
            "proven",
            proven,
            "Proven value",
            "Up: what the right guesses prove, in log-odds: c for the baseline, c + epsilon for "
            "the attack. Lines with labels mark the largest of each. Every number of guesses is "
            "tried and paid for here (the rule “all”); the figures stated may follow another "
            "rule, and both are listed below.",
        ),
    ),
    numbers=_levels,
)
_REPEATS = Section(
    "repeats",
    "How much do other splits and coin flips change it?",
    "The records were split again, baseline and attack trained again, the coins flipped again, "
    "and everything measured again. Circles: the single repeats. Diamond and line: their mean "
    "and its 95% t-interval. The members, the generator and the helpers stay the same: it is "
    "the spread of splits and coins alone, and not a bound.",
    (Panel("repeats", repeats),),
    facts=_repeat_facts,
    numbers=spreads,
)

PRESENTATION = Presentation(
    advice=Advice(
        explained=True,
        settle="bring real non-members (--nonmembers), or plan canaries for the next training run",
        open="Bring more members, a better generator, or real non-members (divulge membership).",
    ),
    question=(
        "Can an observer of the model tell the records it was trained on from generated "
        "records, and better than an observer without access to the model?"
    ),
    words=WORDS,
    labels={**LABELS, **OWN},
    checks={**OWN_CHECKS, **CHECKS, **OWN_CHECKS},
    sections=(_RECALL, _REPEATS, *shared_sections(WORDS)),
    names=OWN,
    lines=print_synthetic,
)
