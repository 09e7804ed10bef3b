"""What a person reads in the terminal, in a wide or a narrow window."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from divulge.report.console import Screen, escape, two_columns
from divulge.report.presentation import presentation
from divulge.report.wording import ROUNDED_UP, STANDINGS
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


def result_text(result: Result, width: int = 80) -> str:
    """The whole result as plain text."""
    text = io.StringIO()
    print_result(result, Screen(width=width, file=text))
    return text.getvalue()


def print_result(result: Result, console: Console | None = None) -> None:
    """Verdict, bounds, measurements and trials."""
    console = console or Screen()
    verdict = result.verdict
    console.print(f"[bold]{escape(verdict.status.upper())}[/bold]: {escape(verdict.sentence)}")
    for reason in verdict.reasons:
        console.print(f"- {escape(reason)}")
    console.print()
    if result.bounds:
        open_ = verdict.status == "cannot conclude"
        heading = "Bounds whose assumptions are in doubt" if open_ else "Lower bounds"
        print_bounds(result.bounds, heading=heading, console=console)
    shown = presentation(result.game)
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
