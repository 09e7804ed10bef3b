"""Trials of the attribute game: a record shown with its own value, or with one drawn."""

from __future__ import annotations

import numpy as np

from divulge.types import Array, Index


def shuffled_trials(
    codes: Index, proxy: Array, rows: Index, rng: np.random.Generator
) -> tuple[Index, Index, Array]:
    """Revealed records twice, with the true value and with a drawn one: rows, values, truths."""
    drawn = draw_values(proxy[rows], rng)
    order = rng.permutation(2 * rows.size)
    both = np.concatenate([rows, rows])[order]
    value = np.concatenate([codes[rows], drawn])[order]
    truth = np.concatenate([np.ones(rows.size), -np.ones(rows.size)])[order]
    return both, value, truth


def flipped_trials(
    codes: Index, proxy: Array, rows: Index, rng: np.random.Generator, most: int | None = None
) -> tuple[Index, Index, Array]:
    """One fair coin per record: the true value or a drawn one."""
    rows = rng.permutation(rows)[:most]
    true = rng.random(rows.size) < 0.5
    value = np.where(true, codes[rows], draw_values(proxy[rows], rng))
    return rows, value, np.where(true, 1.0, -1.0)


def draw_values(probabilities: Array, rng: np.random.Generator) -> Index:
    """One value per row by inverse transform."""
    total = np.cumsum(probabilities, axis=1)
    uniforms = rng.random(len(total)) * total[:, -1]
    return np.asarray((uniforms[:, None] >= total[:, :-1]).sum(axis=1), dtype=np.intp)
