"""A membership audit drawn by several seeds: the combination, and how much the draws differ.

Which trials are drawn, and in which order they are revealed, is chance, and one seed may be luckier
than another. Reporting the luckiest would be multiple testing. Here every seed plays the whole
audit; what is stated is what they prove together (``bounds/several_draws.py``). The allowance for
residual shift is each seed's own: a bet of a seed tests epsilon plus its allowance, a count proves
its bound less its allowance. Guards are the strictest of all seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge.bounds import several_draws as rules
from divulge.proof.adjust import TOO_FEW
from divulge.proof.corrections import Proof
from divulge.result import Bound, floor_to
from divulge.text.rounding import at_least
from divulge.types import Array

MOST = 1000
"""Seeds of one audit."""


@dataclass(frozen=True)
class OneDraw:
    """What is kept of every draw: no record, no trial."""

    seed: int
    bounds: tuple[Bound, ...]
    smaller: tuple[Bound, ...]
    """From counts, at the smaller error of the combination."""
    e_values: Array | None = field(repr=False)
    c_lb: float | None

    @classmethod
    def of(cls, seed: int, proof: Proof) -> OneDraw:
        """Of one draw."""
        e_values = None if proof.bet is None else proof.bet.e_values
        return cls(seed, proof.bounds, proof.smaller, e_values, proof.prepared.c_lb)


def combined(kept: Sequence[OneDraw | None], first: Proof, error: float) -> Proof:
    """What all seeds prove together, in the place of what the first that concludes proves."""
    sound = [k for k in kept if k is not None]
    bounds = tuple(_together(b, sound, len(kept), error / 2.0) for b in first.bounds)
    known = [k.c_lb for k in sound if k.c_lb is not None]
    c_lb = max(known) if len(known) == len(sound) else None  # one unchecked: all unchecked
    unchecked = TOO_FEW if c_lb is None and first.prepared.c_lb is not None else ""
    prepared = replace(first.prepared, c_lb=c_lb, unchecked=unchecked or first.prepared.unchecked)
    return replace(first, bounds=bounds, prepared=prepared)


def concludes(kept: Sequence[OneDraw | None]) -> bool:
    """Whether more than half of the seeds allow a conclusion."""
    return sum(p is not None for p in kept) >= rules.majority(len(kept))


def _key(bound: Bound) -> tuple[Any, ...]:
    return bound.parameter, bound.delta, bound.correction, bound.method


def _values(bound: Bound, bounds: Sequence[Sequence[Bound]]) -> list[float]:
    """The same bound in every list; 0 where it is not stated."""
    return [max((b.value for b in own if _key(b) == _key(bound)), default=0.0) for own in bounds]


def _together(bound: Bound, sound: Sequence[OneDraw], seeds: int, error: float) -> Bound:
    if bound.method == "betting":
        curves = [p.e_values for p in sound if p.e_values is not None]
        value, rule = rules.mean_bound(curves, error, seeds=seeds), f"mean e-value of {seeds} seeds"
    else:
        found = _values(bound, [p.smaller for p in sound])
        value = rules.agreed([*found, *[0.0] * (seeds - len(found))])
        rule = f"proved by {rules.majority(seeds)} of {seeds} seeds at a smaller error (Rueger)"
    return replace(bound, value=value, theorem=f"{bound.theorem}; {rule}")


def spread(
    kept: Sequence[OneDraw | None], bounds: Sequence[Bound], seed: int, error: float
) -> dict[str, Any]:
    """The headline bounds of each seed alone: least, median and largest, beside the combination."""
    sound = [p for p in kept if p is not None]
    none = len(kept) - len(sound)
    rows, words = [], []
    for bound in (b for b in bounds if b.headline):
        values = np.array([*_values(bound, [p.bounds for p in sound]), *[0.0] * none])
        name = bound.parameter if bound.delta is None else f"epsilon at delta {bound.delta:g}"
        low, middle, high = (float(q) for q in np.quantile(values, [0.0, 0.5, 1.0]))
        row = {"bound": name, "least": low, "median": middle, "largest": high}
        rows.append({**row, "combined": bound.value, "of_each_seed": values.tolist()})
        words.append(
            f"{name} {floor_to(low, 3):.3f} to {floor_to(high, 3):.3f}, combined "
            f"{at_least(bound.value)}"
        )
    last = seed + len(kept) - 1
    return {
        "seeds": len(kept),
        "first": seed,
        "without_conclusion": none,
        "shown": sound[0].seed,
        "error_of_each_alone": error,
        "rule": "mean e-value for bets; for counts what more than half of the seeds prove at a "
        "smaller error; nothing is chosen among them",
        "sentence": f"{len(kept)} draws, seeds {seed} to {last}, each alone: "
        f"{'; '.join(words)}. What is proved is the combination.",
        "spread": rows,
    }


def told(progress: Callable[[str, int, int], None] | None, place: int, seeds: int) -> Any:
    """Progress that says which of several draws it is."""
    if progress is None or seeds == 1:
        return progress
    return lambda stage, done, total: progress(f"{stage}, draw {place + 1} of {seeds}", done, total)
