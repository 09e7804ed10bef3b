"""What a person reads in the terminal, in a wide or a narrow window."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from divulge.report.console import Screen, escape, two_columns
from divulge.report.meaning import meaning
from divulge.report.presentation import presentation
from divulge.report.wording import MU, ROUNDED_UP, STANDINGS
from divulge.result import Bound, PosteriorRecord, Result
from divulge.result.of_posterior import AtDeltaRecord, Quantiles
from divulge.text import rounding


def parameter_name(bound: Bound) -> str:
    """``mu``, or ``epsilon at delta 1e-05``."""
    if bound.delta is None:
        name = bound.parameter
    else:
        name = f"{bound.parameter} at delta {rounding.exact(bound.delta)}"
    return name if bound.of is None else f"{name} of {bound.of!r}"


def value_text(value: float, digits: int = 3) -> str:
    """The value rounded towards the smaller claim."""
    return rounding.at_least(value, digits)


def status(result: Result) -> str:
    """The verdict in one or two words: a leak that is not robust says so at once."""
    fragile = result.verdict.status == "leak" and not result.verdict.robust
    return result.verdict.status.upper() + (" (fragile)" if fragile else "")


def print_bounds(bounds: Sequence[Bound], *, heading: str, console: Console | None = None) -> None:
    """Lower bounds as a table, then each theorem and assumption once."""
    console = console or Screen()
    console.print(f"[bold]{escape(heading)}[/bold]")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("parameter", overflow="fold")
    table.add_column("at least", justify="right", no_wrap=True)
    corrected = any(b.correction != "none" for b in bounds)
    if corrected:
        table.add_column("correction", no_wrap=True)
    table.add_column("confidence", justify="right", no_wrap=True)
    table.add_column("method", overflow="fold")
    standings = [s for s in STANDINGS if any(b.standing == s for b in bounds)]
    if len(standings) > 1:
        table.add_column("standing", no_wrap=True)
    for b in bounds:
        name = escape(parameter_name(b)) + (" *" if b.headline else "")
        middle = [escape(b.correction)] if corrected else []
        sure = rounding.share(b.confidence)
        last = [escape(b.standing)] if len(standings) > 1 else []
        table.add_row(name, value_text(b.value), *middle, sure, escape(b.method), *last)
    console.print(table)
    if any(b.headline for b in bounds):
        console.print(
            "* headline bound: the verdict rests on it, named beforehand; the others each hold "
            "on their own"
        )
    for standing in standings:
        console.print(f"{standing}: {STANDINGS[standing]}")
    stated = [b for b in bounds if b.headline] if corrected else list(bounds)
    for method in dict.fromkeys(b.method for b in stated):
        theorem = next(b.theorem for b in stated if b.method == method)
        console.print(f"{escape(method)}: {escape(theorem)}")
    for assumption in dict.fromkeys(a for b in stated for a in b.assumptions):
        console.print(f"assumes: {escape(assumption)}")


def print_headline(result: Result, console: Console) -> None:
    """The bounds that the verdict rests on, epsilon first; how many more there are."""
    stated = sorted(result.headline(), key=lambda b: b.parameter != "epsilon")
    sure = sorted({rounding.share(b.confidence) for b in stated})
    each = f", each at {sure[0]}" if len(sure) == 1 and len(stated) > 1 else ""
    console.print(f"[bold]Lower bounds{each}[/bold]")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("parameter", overflow="fold")
    table.add_column("at least", justify="right", no_wrap=True)
    table.add_column("standing", no_wrap=True)
    for b in stated:
        table.add_row(escape(parameter_name(b)), value_text(b.value), escape(b.standing))
    console.print(table)
    for standing in (s for s in STANDINGS if any(b.standing == s for b in stated)):
        console.print(f"{standing}: {STANDINGS[standing]}")
    if any(b.parameter == "mu" for b in stated):
        console.print(f"mu: {MU}")
    for assumption in dict.fromkeys(a for b in stated for a in b.assumptions):
        console.print(f"assumes: {escape(assumption)}")
    further = len(result.bounds) - len(stated)
    if further:
        console.print(
            f"{further} further bounds, theorems and confidences: --all-bounds, or the report."
        )


def result_text(result: Result, width: int = 80, *, all_bounds: bool = False) -> str:
    """The result as plain text; with its headline bounds, or with all."""
    text = io.StringIO()
    print_result(result, Screen(width=width, file=text), all_bounds=all_bounds)
    return text.getvalue()


def print_result(
    result: Result, console: Console | None = None, *, all_bounds: bool = False
) -> None:
    """Verdict, what it means, bounds, measurements and trials."""
    console = console or Screen()
    verdict = result.verdict
    shown = presentation(result.game)
    console.print(f"[bold]{escape(status(result))}[/bold]: {escape(verdict.sentence)}")
    for reason in verdict.reasons:
        console.print(f"- {escape(reason)}")
    console.print()
    said_plainly = meaning(result, shown.words, shown.advice).sentences
    if said_plainly:
        console.print("[bold]What it means[/bold]")
        for sentence in said_plainly:
            console.print(f"- {escape(sentence)}")
        console.print()
    if result.bounds and (all_bounds or not result.headline()):
        open_ = verdict.status == "cannot conclude"
        heading = "Bounds whose assumptions are in doubt" if open_ else "Lower bounds"
        print_bounds(result.bounds, heading=heading, console=console)
    elif result.bounds:
        print_headline(result, console)
    said = shown.lines(result, console)
    if result.posterior is not None:
        print_posterior(result.posterior, console)
    for title, content in (("Measured", result.measurements), ("Trials", result.trials)):
        if set(content) - said:
            console.print(f"\n[bold]{title}[/bold]")
            rows = (
                (shown.names.get(key, str(key).replace("_", " ")), _plain(value, key in ROUNDED_UP))
                for key, value in content.items()
                if key not in said
            )
            console.print(two_columns(rows))
    found = result.diagnostics
    remarks = (
        found.subset.sentence if found.subset else "",
        found.seeds.sentence if found.seeds else "",
        *shown.remarks(found),
    )
    for place, remark in enumerate(filter(None, remarks)):
        console.print(f"{'' if place else chr(10)}{escape(remark)}")


def print_posterior(posterior: PosteriorRecord, console: Console) -> None:
    """Quantiles of what is probable under the priors; never called a bound."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("posterior", overflow="fold")
    for name in ("5%", "median", "95%"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in posterior.by_delta or (posterior,):
        for name, found in _quantiles(one):
            if found.q05 is not None and found.q50 is not None and found.q95 is not None:
                low, middle = rounding.at_least(found.q05), rounding.at_least(found.q50)
                table.add_row(name, low, middle, rounding.at_most(found.q95))
    console.print("\n[bold]Posterior under the priors[/bold]")
    console.print(table)
    console.print("Credible intervals rest on the priors. They are not confidence bounds.")


def _quantiles(one: PosteriorRecord | AtDeltaRecord) -> Iterator[tuple[str, Quantiles]]:
    place = f" at delta {one.delta:g}"
    yield f"epsilon{place}", one.epsilon
    yield "strength of the attacks", one.strength
    yield f"epsilon{place}, if every attack were the strongest", one.if_strongest_attack


def _plain(value: Any, up: bool = False) -> str:
    if isinstance(value, float):
        return rounding.rounded_up(value) if up else rounding.short(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_plain(v, up)} at {k}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(v, up) for v in value)
    return str(value)
