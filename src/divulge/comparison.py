"""Did a model get worse since the last audit? Two results of one game, side by side.

A lower bound says nothing about how much larger the truth is, so two of them cannot be tested
against each other. What can be is what the score shows: its AUC (Hanley and McNeil's standard
error) and the true-positive rate at a false-positive rate of 1% (its own standard error, and that
of the threshold, whose effect is at most TPR / FPR times the error of the FPR as a ROC curve is
concave), each with half of the error, one-sided, as if the two audits were independent; audits of
the same records are less far apart by chance than that. A bound got worse beyond chance if it rose
and one of the two did so beyond its confidence. Shares of correct guesses are not compared: their
number is chosen anew in every audit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scipy.stats import norm

from divulge.errors import InputError, require, require_probability
from divulge.result import Bound, Result
from divulge.text.rounding import at_least, exact

FPR = "0.01"
LEAST = 5.0
"""False positives to be expected at that rate, at least."""


@dataclass(frozen=True)
class Change:
    """One headline bound, then and now; None where one of the results does not state it."""

    name: str
    before: float | None
    after: float | None

    @property
    def rose(self) -> bool:
        """Whether both state it, and the later one more."""
        return self.before is not None and self.after is not None and self.after > self.before


@dataclass(frozen=True)
class Comparison:
    """What changed, and whether chance explains it."""

    changes: tuple[Change, ...]
    reasons: tuple[str, ...]
    """What rose beyond its confidence."""
    comparable: bool
    sentence: str

    @property
    def worse(self) -> bool:
        """Whether a bound rose, and what it rests on rose beyond chance."""
        return self.comparable and bool(self.reasons) and any(c.rose for c in self.changes)

    @property
    def exit_code(self) -> int:
        """0 not worse, 1 worse, 3 not comparable."""
        return (1 if self.worse else 0) if self.comparable else 3


def compare(before: Result, after: Result, *, error: float = 0.05) -> Comparison:
    """Hold two results of one game against each other; InputError if the games differ."""
    require_probability("error", error)
    require(
        before.game == after.game,
        f"The results are of two games, {before.game} and {after.game}: compare like with like.",
    )
    changes = _changes(before, after)
    undecided = [r for r in (before, after) if r.verdict.status == "cannot conclude"]
    if undecided:
        which = (
            "Neither result concludes" if len(undecided) == 2 else "One result concludes nothing"
        )
        return Comparison(changes, (), False, f"{which}: the two cannot be compared.")
    reasons = _reasons(before, after, error)
    rose = [c for c in changes if c.rose]
    found = Comparison(changes, reasons, True, "")
    if found.worse:
        said = f"Worse: {' and '.join(c.name for c in rose)} rose, and {' and '.join(reasons)}."
    elif rose:
        said = (
            f"Not worse beyond chance: {' and '.join(c.name for c in rose)} rose, but neither the "
            f"AUC nor the true-positive rate did by more than chance allows at an error of "
            f"{exact(error)}."
        )
    else:
        said = "Not worse: no headline bound rose."
    return Comparison(changes, reasons, True, said)


def trend(results: Sequence[Result], *, error: float = 0.05) -> tuple[Comparison, ...]:
    """Each result against the one before it."""
    if len(results) < 2:
        raise InputError("A comparison needs at least two results, the earliest first.")
    return tuple(compare(first, second, error=error) for first, second in pairwise(results))


def _name(bound: Bound) -> str:
    if bound.delta is None:
        name = bound.parameter
    else:
        name = f"{bound.parameter} at delta {exact(bound.delta)}"
    return name if bound.of is None else f"{name} of {bound.of!r}"


def _changes(before: Result, after: Result) -> tuple[Change, ...]:
    then = {_name(b): b.value for b in before.headline()}
    now = {_name(b): b.value for b in after.headline()}
    return tuple(Change(name, then.get(name), now.get(name)) for name in {**then, **now})


def _reasons(before: Result, after: Result, error: float) -> tuple[str, ...]:
    limit = float(norm.isf(error / 2.0))
    found = []
    for name, measured in (("the AUC", _area), (f"the TPR at an FPR of {FPR}", _rate)):
        then, now = measured(before), measured(after)
        if then is None or now is None:
            continue
        if now[0] - then[0] > limit * math.hypot(then[1], now[1]):
            found.append(f"{name} from {at_least(then[0])} to {at_least(now[0])}")
    return tuple(found)


def _sizes(result: Result) -> tuple[int, int] | None:
    found = [result.trials.get(key) for key in ("members", "nonmembers")]
    sizes = [n for n in found if isinstance(n, int) and n > 1]
    return (sizes[0], sizes[1]) if len(sizes) == 2 else None


def _area(result: Result) -> tuple[float, float] | None:
    """AUC and its standard error."""
    area, sizes = result.measurements.get("auc"), _sizes(result)
    if not isinstance(area, float) or sizes is None:
        return None
    n, m = sizes
    first, second = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    spread = area * (1.0 - area) + (n - 1) * (first - area**2) + (m - 1) * (second - area**2)
    return area, math.sqrt(max(spread, 0.0) / (n * m))


def _rate(result: Result) -> tuple[float, float] | None:
    """True-positive rate at ``FPR`` and its standard error; None where too few could be wrong."""
    rates, sizes = result.measurements.get("tpr_at_fpr"), _sizes(result)
    rate = rates.get(FPR) if isinstance(rates, Mapping) else None
    fpr = float(FPR)
    if not isinstance(rate, float) or sizes is None or sizes[1] * fpr < LEAST:
        return None
    own = rate * (1.0 - rate) / sizes[0]
    of_threshold = (rate / fpr) ** 2 * fpr * (1.0 - fpr) / sizes[1]
    return rate, math.sqrt(own + of_threshold)
