"""A membership audit drawn by several seeds: the combination, and how much the draws differ.

Which trials are drawn, and in which order they are revealed, is chance, and one seed may be luckier
than another. Reporting the luckiest would be multiple testing. Here every seed plays the whole
audit; what is stated is what they prove together (``bounds/several_draws.py``). The allowance for
residual shift is each seed's own: a bet of a seed tests epsilon plus its allowance, a count proves
its bound less its allowance. Guards are the strictest of all seeds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge.bounds import several_draws as rules
from divulge.games.membership.findings import Context
from divulge.proof import corrections as corrections_
from divulge.proof.adjust import Adjusted
from divulge.result import Bound, floor_to
from divulge.result.shared import Seeds, SeedSpread
from divulge.text.rounding import at_least
from divulge.types import Array

MOST = 1000
"""Seeds of one audit."""


@dataclass(frozen=True)
class Played:
    """The audit of one draw, before it is put into words."""

    context: Context
    rng: np.random.Generator = field(repr=False)
    """As it stands after the audit: the control and the bootstrap go on with it."""
    adjusted: Adjusted | None = field(default=None, repr=False)
    audited: corrections_.Audit | None = field(default=None, repr=False)
    """Bounds at the error of one audit, and e-values."""
    counted: tuple[Bound, ...] = field(default=(), repr=False)
    """Bounds from counts at the smaller error of the combination."""
    reason: str = ""
    """Why nothing can be concluded, if so."""


@dataclass(frozen=True)
class Proved:
    """What is kept of every draw: no record, no trial."""

    seed: int
    bounds: tuple[Bound, ...]
    counted: tuple[Bound, ...]
    e_values: Array | None = field(repr=False)
    c_lb: float | None

    @classmethod
    def by(cls, seed: int, played: Played) -> Proved | None:
        """None where nothing can be concluded."""
        if played.audited is None or played.adjusted is None:
            return None
        bet = played.audited.bet
        return cls(
            seed,
            played.audited.bounds,
            played.counted,
            None if bet is None else bet.e_values,
            played.adjusted.c_lb,
        )


def audited(
    adjusted: Adjusted,
    *,
    seeds: int,
    deltas: Sequence[float],
    error: float,
    corrections: Sequence[str],
    rng: np.random.Generator,
) -> tuple[corrections_.Audit, tuple[Bound, ...]]:
    """The audit of one seed among several: as if alone, and at the error of the combination."""
    counts = tuple(c for c in corrections if c != "prior")
    again = copy.deepcopy(rng)  # the same luck for both
    whole = corrections_.audit(
        adjusted.prepared,
        deltas=deltas,
        error=error,
        corrections=corrections,
        rng=rng,
        goal=rules.goal(error / 2.0, seeds) if seeds > 1 else None,
    )
    if seeds == 1 or not counts:
        return whole, ()
    smaller = corrections_.audit(
        adjusted.prepared,
        deltas=deltas,
        error=rules.error_of_each(error, seeds),
        corrections=counts,
        rng=again,
    )
    return whole, smaller.bounds


def combined(
    proved: Sequence[Proved | None], first: Played, error: float
) -> tuple[Adjusted, corrections_.Audit]:
    """What all seeds prove together, in the place of what the first that concludes proves."""
    assert first.audited is not None
    assert first.adjusted is not None
    sound = [p for p in proved if p is not None]
    bounds = tuple(_together(b, sound, len(proved), error / 2.0) for b in first.audited.bounds)
    known = [p.c_lb for p in sound if p.c_lb is not None]
    c_lb = max(known) if len(known) == len(sound) else None  # one unchecked: all unchecked
    return replace(first.adjusted, c_lb=c_lb), replace(first.audited, bounds=bounds)


def concludes(proved: Sequence[Proved | None]) -> bool:
    """Whether more than half of the seeds allow a conclusion."""
    return sum(p is not None for p in proved) >= rules.majority(len(proved))


def _key(bound: Bound) -> tuple[Any, ...]:
    return bound.parameter, bound.delta, bound.correction, bound.method


def _values(bound: Bound, bounds: Sequence[Sequence[Bound]]) -> list[float]:
    """The same bound in every list; 0 where it is not stated."""
    return [max((b.value for b in own if _key(b) == _key(bound)), default=0.0) for own in bounds]


def _together(bound: Bound, sound: Sequence[Proved], seeds: int, error: float) -> Bound:
    if bound.method == "betting":
        curves = [p.e_values for p in sound if p.e_values is not None]
        value, rule = rules.mean_bound(curves, error, seeds=seeds), f"mean e-value of {seeds} seeds"
    else:
        found = _values(bound, [p.counted for p in sound])
        value = rules.agreed([*found, *[0.0] * (seeds - len(found))])
        rule = f"proved by {rules.majority(seeds)} of {seeds} seeds at a smaller error (Rueger)"
    return replace(bound, value=value, theorem=f"{bound.theorem}; {rule}")


def spread(
    proved: Sequence[Proved | None], bounds: Sequence[Bound], seed: int, error: float
) -> Seeds:
    """The headline bounds of each seed alone: least, median and largest, beside the combination."""
    sound = [p for p in proved if p is not None]
    none = len(proved) - len(sound)
    rows, words = [], []
    for bound in (b for b in bounds if b.headline):
        values = np.array([*_values(bound, [p.bounds for p in sound]), *[0.0] * none])
        name = bound.parameter if bound.delta is None else f"epsilon at delta {bound.delta:g}"
        low, middle, high = (float(q) for q in np.quantile(values, [0.0, 0.5, 1.0]))
        rows.append(
            SeedSpread(
                bound=name,
                least=low,
                median=middle,
                largest=high,
                combined=bound.value,
                of_each_seed=values.tolist(),
            )
        )
        words.append(
            f"{name} {floor_to(low, 3):.3f} to {floor_to(high, 3):.3f}, combined "
            f"{at_least(bound.value)}"
        )
    last = seed + len(proved) - 1
    return Seeds(
        seeds=len(proved),
        first=seed,
        without_conclusion=none,
        shown=sound[0].seed,
        error_of_each_alone=error,
        rule="mean e-value for bets; for counts what more than half of the seeds prove at a "
        "smaller error; nothing is chosen among them",
        sentence=f"{len(proved)} draws, seeds {seed} to {last}, each alone: "
        f"{'; '.join(words)}. What is proved is the combination.",
        spread=tuple(rows),
    )


def told(progress: Callable[[str, int, int], None] | None, place: int, seeds: int) -> Any:
    """Progress that says which of several draws it is."""
    if progress is None or seeds == 1:
        return progress
    return lambda stage, done, total: progress(f"{stage}, draw {place + 1} of {seeds}", done, total)
