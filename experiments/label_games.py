"""The published figures of a label audit (paper 001): label inference and two membership attacks.

Shared by ``label_images.py``, ``label_clicks.py`` and ``label_text.py``. All figures are those of
the paper: the largest mu that the f-DP recursion rejects at 0.05, converted to epsilon at 1e-5, as
the largest over 1, 2, ..., 100% guesses without any correction for that (*sweep*) or at 1% alone.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from label_privacy import SWEEP, Published, converted, summary

from divulge.types import Array, Index
from divulge.work.pieces import Pieces

Row = dict[str, Any]


def label_inference(
    codes: Index, target: Array, proxy: Array, limit: float, times: int, rng: np.random.Generator
) -> Row:
    """Algorithm 2 with the paper's score: sweep and 1%, over ``times`` draws of other labels."""
    adversary = Published.of(codes, target, proxy)
    games = [adversary.play(SWEEP, rng) for _ in range(times)]
    size = codes.size
    return {
        **_named("sweep", [converted(size, r, c) for r, c in games], limit),
        **_named("one_percent", [converted(size, r[:1], c[:1]) for r, c in games], limit),
    }


def membership_inference(
    inside: Array, outside: Array, times: int, rng: np.random.Generator
) -> list[float]:
    """Epsilons claimed by a score (larger: a member) on as many members as others, by coins."""
    size = min(inside.size, outside.size)
    guesses = np.maximum(1, np.round(np.asarray(SWEEP) * size)).astype(np.intp)
    out = []
    for _ in range(times):
        true = rng.random(size) < 0.5
        yes, no = (rng.permutation(part.size)[:size] for part in (inside, outside))
        score = np.where(true, inside[yes], outside[no])
        rank = np.argsort(np.argsort(score, kind="stable"), kind="stable") - (size - 1) / 2.0
        order = np.argsort(-np.abs(rank), kind="stable")
        right = np.cumsum(((rank > 0.0) == true)[order])
        out.append(converted(size, guesses, np.asarray(right[guesses - 1], dtype=np.intp)))
    return out


def own(p: Array, codes: Index) -> Array:
    """Probabilities of the true labels."""
    return np.maximum(p[np.arange(codes.size), codes], 1e-12)


def attacks(
    inside: tuple[Index, Array, Array],
    outside: tuple[Index, Array, Array],
    times: int,
    rng: np.random.Generator,
) -> Row:
    """Watson et al. (2022) and Zarifzadeh et al. (2024) with the proxy as the only other model.

    Each part is (labels, target's probabilities, proxy's). *Calibration*: the proxy's loss less the
    target's. *RMIA*, offline: how many others z have a smaller ratio p(z) / q(z), q the mean of
    the proxy's probability and 1 (its correction for records that no model has seen).
    """
    calibrated, relative = [], []
    for codes, p, q in (inside, outside):
        calibrated.append(np.log(own(p, codes)) - np.log(own(q, codes)))
        relative.append(own(p, codes) / (0.5 * (own(q, codes) + 1.0)))
    others = np.sort(relative[1])
    ranks = [np.searchsorted(others, r).astype(float) for r in relative]
    return {
        **_named("calibration", membership_inference(*calibrated, times, rng), np.inf),
        **_named("rmia", membership_inference(*ranks, times, rng), np.inf),
    }


def _named(name: str, found: Sequence[float], limit: float) -> Row:
    told = summary(found, limit)
    return {name: told["mean"], f"{name}_sd": told["sd"], f"{name}_above": told["above"]}


def quality(p: Array, codes: Index) -> Row:
    """Accuracy and log-loss."""
    right = float((p.argmax(axis=1) == codes).mean())
    return {"accuracy": right, "log_loss": float(-np.log(own(p, codes)).mean())}


def kept(pieces: Pieces, name: str, inputs: Row, compute: Callable[[], Row]) -> Row:
    """One row of numbers, computed once."""

    def columns() -> dict[str, Any]:
        return {key: np.asarray(value) for key, value in compute().items()}

    return {key: value.item() for key, value in pieces.arrays(name, inputs, columns).items()}


def shown(row: Row, key: str) -> str:
    """Mean and standard deviation; ``!`` where a game was above the theoretical epsilon."""
    if key not in row:
        return "-"
    return f"{row[key]:.2f} +-{row[f'{key}_sd']:.2f}" + (" !" if row[f"{key}_above"] else "")


def write(rows: list[Row], path: Path) -> None:
    """All rows; the columns of any of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(dict.fromkeys(k for r in rows for k in r)))
        out.writeheader()
        out.writerows(rows)
