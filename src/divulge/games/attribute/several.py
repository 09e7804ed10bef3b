"""Several protected columns in one result: each audited at its share of the error (union bound)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from divulge.proof.state import findings_in_words, headline_epsilon, leaking
from divulge.result import Result, Verdict
from divulge.result.of_values import Audited
from divulge.text import rounding


def together(found: Mapping[str, Result], error: float) -> Result:
    """All columns' bounds, each named; diagnostics and measurements of the one that leaks most."""
    worst = max(found, key=lambda name: headline_epsilon(found[name].bounds))
    shown = found[worst]
    columns = tuple(
        Audited(
            value=name,
            status=result.verdict.status,
            robust=result.verdict.robust,
            classes=result.trials.get("classes", 0),
            epsilon=headline_epsilon(result.bounds),
            mu=next((b.value for b in result.headline() if b.parameter == "mu"), None),
        )
        for name, result in found.items()
    )
    return replace(
        shown,
        verdict=_verdict(found, error),
        bounds=tuple(
            replace(bound, of=name) for name, result in found.items() for bound in result.bounds
        ),
        trials={**shown.trials, "columns": list(found), "shown": worst},
        diagnostics=replace(shown.diagnostics, columns=columns),
    )


def _verdict(found: Mapping[str, Result], error: float) -> Verdict:
    leaks = {n: r for n, r in found.items() if r.verdict.status == "leak"}
    undecided = [n for n, r in found.items() if r.verdict.status == "cannot conclude"]
    reasons = tuple(f"{n}: {reason}" for n, r in found.items() for reason in r.verdict.reasons)
    sure = rounding.confidence(error)
    if leaks:
        listed = "; ".join(
            f"{n!r}: {findings_in_words(leaking(r.bounds))}" for n, r in leaks.items()
        )
        sentence = f"The model gives away columns of its records: with {sure} confidence, {listed}."
        return Verdict("leak", all(r.verdict.robust for r in leaks.values()), sentence, reasons)
    if len(undecided) == len(found):
        return Verdict("cannot conclude", False, "Nothing can be concluded.", reasons)
    names = ", ".join(repr(n) for n in found if n not in undecided)
    sentence = (
        f"No evidence that {names} leaks: with {sure} confidence nothing above zero could be "
        "proved. This is not a proof of privacy."
    )
    return Verdict("no evidence", False, sentence, reasons)
