"""What a model gains that chooses the number of guesses itself: the exact worst case.

For each guarantee the numbers of correct guesses that refute it at the stated error are computed
for several numbers of guesses; a linear program (``divulge.mechanisms.worst_case``) then finds the
mechanism that keeps the guarantee and is most often refuted, first if the number is fixed, then if
its output may choose among the numbers. Whatever is above the stated error is a false claim that
the audit did not allow for. ``divulge.bounds.choice`` says what is done about it; for mu "paid" is
the smaller one that is proved (``divulge.bounds.tangents``). A second table has what of mu that
keeps, for scores of Gaussian noise: counts as expected, less one standard deviation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import ndtr

from divulge.bounds import recursion, tangents
from divulge.bounds.choice import price
from divulge.curves import ApproximateDP, Curve, Gaussian
from divulge.mechanisms.worst_case import worst_case

SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 1.0)
PAIRS = tuple((e, d) for e in (0.1, 0.5, 1.0) for d in (3e-4, 1e-3, 3e-3))
MUS: tuple[tuple[int, float, tuple[int, ...]], ...] = (
    (60, 0.7, (40, 46, 52, 60)),
    (90, 0.4, (40, 55, 75, 90)),
    (120, 0.2, (40, 58, 83, 120)),
    (240, 0.2, (40, 80, 160, 240)),
    (240, 0.4, (40, 80, 160, 240)),
    (1_000, 0.2, (40, 60, 90, 135, 200)),
    (1_000, 0.4, (40, 60, 90, 135, 200)),
    (10_000, 0.1, (40, 130, 400)),
    (10_000, 0.2, (40, 130, 400)),
    (1_000_000, 0.1, (40, 600)),
    (1_000_000, 0.3, (40, 600)),
    (59, 0.3846, tuple(range(10, 60))),
    (120, 0.3, (10, 16, 25, 40, 65, 104, 120)),
    (10_000, 0.2, (10, 20, 60, 400)),
)
"""Trials, mu, numbers of guesses; the last three with fewer than are ever considered."""
GRID = 24
KEPT_SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
KEPT_TRIALS = (300, 1_000, 10_000, 100_000)
KEPT_MUS = (0.5, 1.0, 2.0, 3.0)


def least_refuting(curve: Curve, trials: int, guesses: int, error: float) -> int:
    """The fewest correct guesses that refute the curve, one more than there are if none do."""
    return least(lambda c: recursion.rejects(curve, trials, guesses, c, error=error), guesses)


def least(refutes: Callable[[int], bool], guesses: int) -> int:
    """The fewest correct guesses that refute, one more than there are if none do."""
    low, high = guesses // 2, guesses + 1  # low does not refute, high does
    while high - low > 1:
        middle = (low + high) // 2
        if refutes(middle):
            high = middle
        else:
            low = middle
    return high


def on_curve(mu: float) -> list[tuple[float, float]]:
    """A grid of pairs (epsilon, delta) on the Gaussian curve, dense where they matter."""
    grid = np.union1d(
        np.linspace(0.0, 1.2 * mu, GRID // 2), np.linspace(0.0, 5.0 * mu + mu * mu / 2.0, GRID)
    )
    return [(float(e), Gaussian(mu).delta(float(e))) for e in grid]


@dataclass(frozen=True)
class Row:
    """Largest probabilities of a false claim under one guarantee."""

    fixed: float
    chosen: float
    paid: float | None = None


def for_mu(trials: int, mu: float, sizes: Sequence[int], error: float) -> Row:
    """The number fixed, at its worst, chosen by the mechanism, and that paid for."""
    refute = {r: least_refuting(Gaussian(mu), trials, r, error) for r in sizes}
    careful = {
        r: least(lambda c, r=r: tangents.rejects(mu, trials, r, c, error), r)  # type: ignore[misc]
        for r in sizes
    }
    here = on_curve(mu)
    fixed = max(worst_case(trials, {r: c}, here) for r, c in refute.items())
    return Row(fixed, worst_case(trials, refute, here), worst_case(trials, careful, here))


def for_pair(trials: int, pair: tuple[float, float], sizes: Sequence[int], error: float) -> Row:
    """The same for epsilon at delta, and with the price paid."""
    at, against = price(trials, pair[1], error)
    assert against is not None
    plain, paid = ApproximateDP(*pair), ApproximateDP(pair[0], against)
    refute = {r: least_refuting(plain, trials, r, error) for r in sizes}
    careful = {r: least_refuting(paid, trials, r, at) for r in sizes}
    fixed = max(worst_case(trials, {r: c}, [pair]) for r, c in refute.items())
    return Row(fixed, worst_case(trials, refute, [pair]), worst_case(trials, careful, [pair]))


def kept(trials: int, mu: float, error: float) -> tuple[float, float]:
    """Mu from the number of guesses that is best for it, and what tangents prove by it."""
    found = []
    for share in KEPT_SHARES:
        guesses = round(share * trials)
        if guesses >= 40:
            right = guesses * accuracy(mu, share)
            correct = int(right - np.sqrt(right * (1.0 - right / guesses)))
            counts = trials, guesses, correct, error
            found.append((recursion.mu_lower_bound(*counts), tangents.mu_lower_bound(*counts)))
    return max(found)


def accuracy(mu: float, share: float) -> float:
    """How often the surest guesses are right if scores are N(-mu/2, 1) or N(mu/2, 1)."""
    low, high = 0.0, 10.0 + mu  # the score's size above which that share of the trials lies
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        beyond = ndtr(mu / 2.0 - middle) + ndtr(-mu / 2.0 - middle)
        low, high = (middle, high) if beyond > share else (low, middle)
    return float(ndtr(mu / 2.0 - low) / (ndtr(mu / 2.0 - low) + ndtr(-mu / 2.0 - low)))


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a model gains by choosing the number.")
    parser.add_argument("--trials", type=int, default=240, help="trials for epsilon at delta")
    parser.add_argument("--errors", type=float, nargs="+", default=[0.05, 0.025])
    parser.add_argument("--only", choices=["mu", "epsilon", "kept"], help="one part")
    options = parser.parse_args(arguments)
    table = Table(title="Largest probability of a false claim, in units of the stated error")
    for name in ("guarantee", "trials", "numbers of guesses"):
        table.add_column(name)
    for name in ("stated", "fixed", "chosen", "chosen, paid"):
        table.add_column(name, justify="right")
    console = Console(width=110)
    with console.status("solving linear programs"):
        for error in options.errors:
            for trials, mu, sizes in MUS if options.only in (None, "mu") else ():
                found = for_mu(trials, mu, sizes, error)
                table.add_row(f"mu {mu:g}", *shown(trials, sizes, error, found))
            sizes = sorted({max(1, round(share * options.trials)) for share in SHARES})
            for pair in PAIRS if options.only in (None, "epsilon") else ():
                found = for_pair(options.trials, pair, sizes, error)
                name = f"epsilon {pair[0]:g}, delta {pair[1]:g}"
                table.add_row(name, *shown(options.trials, sizes, error, found))
    if options.only != "kept":
        console.print(table)
    if options.only in (None, "kept"):
        shown_kept = Table(
            title="Mu at error 0.025, the number taken for fixed; by tangents; share"
        )
        for name in ("trials", *(f"mu {mu:g}" for mu in KEPT_MUS)):
            shown_kept.add_column(name, justify="right")
        for trials in KEPT_TRIALS:
            cells = [kept(trials, mu, 0.025) for mu in KEPT_MUS]
            shown_kept.add_row(
                f"{trials:,}", *(f"{a:.3f}  {b:.3f}  {b / a if a else 0.0:.0%}" for a, b in cells)
            )
        console.print(shown_kept)


def shown(trials: int, sizes: Sequence[int], error: float, row: Row) -> list[str]:
    """The cells of a row; probabilities as multiples of the stated error."""
    parts = [row.fixed, row.chosen, *([] if row.paid is None else [row.paid])]
    numbers = [f"{p / error:.3f}" for p in parts]
    return [f"{trials:,}", " ".join(map(str, sizes)), f"{error:g}", *numbers]


if __name__ == "__main__":
    main()
