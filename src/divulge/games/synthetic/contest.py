"""Baseline against attack: two classifiers of real and generated records (002, Algorithm 1).

The baseline sees the record and its helpers' losses; the attack sees the target's as well. Both are
chosen among a few settings by the bound they prove on the validation split, fitted once more on
training and validation together, and asked about the test split, which neither has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from divulge.bounds.closeness import recall_bounds
from divulge.errors import InputError
from divulge.games.synthetic.guessers import COLUMNS, guessers
from divulge.games.synthetic.seen import Seen
from divulge.proof.draw import Draw, draw
from divulge.types import Array, Index
from divulge.work.threads import Sized

SHARES = (0.3, 0.15, 0.55)
"""Training, validation and test share of the records on either side."""
LEAST = (100, 50, 250)
"""Fewest records on either side for each of them; 250 for the test allow 400 trials."""
_EDGE = 1e-7


@dataclass(frozen=True)
class Contest:
    """The trials, and how baseline and attack score them (log-odds of being real)."""

    drawn: Draw
    baseline: Array = field(repr=False)
    attack: Array = field(repr=False)
    chosen: tuple[str, str]
    """The setting chosen for the baseline, and for the attack."""
    sizes: tuple[int, int, int]
    """Records on either side for training, validation and test."""


def to_arrays(contest: Contest) -> dict[str, Any]:
    """A contest as named arrays, to be kept as a piece."""
    return {
        "rows": contest.drawn.rows,
        "truth": contest.drawn.truth,
        "coin": contest.drawn.coin,
        "baseline": contest.baseline,
        "attack": contest.attack,
        "chosen": np.array(contest.chosen),
        "sizes": np.array(contest.sizes),
    }


def from_arrays(kept: dict[str, npt.NDArray[Any]]) -> Contest:
    """The inverse of to_arrays."""
    drawn = Draw(kept["rows"].astype(np.intp), kept["truth"], float(kept["coin"]))
    blind, attack = (str(name) for name in kept["chosen"])
    train, validation, test = (int(n) for n in kept["sizes"])
    sizes_ = (train, validation, test)
    return Contest(drawn, kept["baseline"], kept["attack"], (blind, attack), sizes_)


def least_records() -> int:
    """The fewest records of one side that allow a contest."""
    return int(max(np.ceil(n / s) for n, s in zip(LEAST, SHARES, strict=True)))


def sizes(count: int) -> tuple[int, int, int]:
    """How many records of one side are for training, validation and test."""
    train, validation = int(SHARES[0] * count), int(SHARES[1] * count)
    return train, validation, count - train - validation


def play(
    seen: Seen,
    real: Index,
    other: Index,
    *,
    error: float,
    rng: np.random.Generator,
    attack: tuple[str, ...] = (COLUMNS,),
    most: tuple[int | None, int | None] = (None, None),
    progress: Callable[[int, int], None] | None = None,
) -> Contest:
    """Split both sides alike, train both classifiers, draw the trials and score them.

    ``attack`` names the kinds of classifiers that compete (``guessers.KINDS``). ``most`` limits the
    records for training and for the test on either side (Figures 2 and 6).
    """
    count = min(real.size, other.size)
    if count < least_records():
        raise InputError(
            f"{real.size} real and {other.size} other records are too few for a baseline, an "
            f"attack and a test: at least {least_records()} of each are needed."
        )
    train, validation, test = sizes(count)
    parts = []
    for side in (real, other):
        shuffled = rng.permutation(side)
        cuts = np.cumsum([train, validation, test])
        parts.append(np.split(shuffled, cuts)[:3])
    fit_on, check_on, test_on = (
        np.concatenate([parts[0][k][:limit], parts[1][k][:limit]])
        for k, limit in ((0, most[0]), (1, None), (2, most[1]))
    )
    truths = [
        np.concatenate([np.ones(n), -np.ones(n)])
        for n in (fit_on.size // 2, check_on.size // 2, test_on.size // 2)
    ]
    seed = int(rng.integers(2**31))
    drawn = draw(truths[2], rng)
    rows = test_on[drawn.rows]
    scored, names = [], []
    candidates = guessers(attack, seen)
    total = 2 * (len(candidates) + 1)
    done = 0
    for target in (False, True):
        best: tuple[tuple[float, float], str] | None = None
        for name, guesser in candidates.items():
            if progress is not None:
                progress(done, total)
            done += 1
            model = Sized(guesser.make(seed)).fit(guesser.view(fit_on, target), truths[0] > 0.0)
            value = _quality(model, guesser.view(check_on, target), truths[1], error, rng)
            if best is None or value > best[0]:
                best = (value, name)
        assert best is not None
        if progress is not None:
            progress(done, total)
        done += 1
        both = np.concatenate([fit_on, check_on])
        winner = candidates[best[1]]
        model = Sized(winner.make(seed)).fit(
            winner.view(both, target), np.concatenate(truths[:2]) > 0.0
        )
        scored.append(_log_odds(model, winner.view(rows, target)))
        names.append(best[1])
    placed = Draw(rows, drawn.truth, drawn.coin)
    used = (fit_on.size // 2, check_on.size // 2, test_on.size // 2)
    return Contest(placed, scored[0], scored[1], (names[0], names[1]), used)


def _log_odds(model: Any, x: Array) -> Array:
    p = np.clip(np.asarray(model.predict_proba(x))[:, 1], _EDGE, 1.0 - _EDGE)
    return np.asarray(logit(p))


def _quality(
    model: Any, x: Array, truth: Array, error: float, rng: np.random.Generator
) -> tuple[float, float]:
    """The bound on the validation split; where settings tie, the smaller log-loss."""
    score = _log_odds(model, x)
    bound = recall_bounds(score, truth, error=error, rng=rng).value
    return round(bound, 3), -float(np.mean(np.logaddexp(0.0, -truth * score)))
