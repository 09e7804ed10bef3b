"""Windows of a text vote: is the target's loss in them below the reference's? (WBC, Chen et al.)

For ten window sizes from 2 to 40 tokens, spaced geometrically, the share of the windows of that
size in which the losses of the target sum to less than those of the reference; the score is the
mean over the sizes (arXiv 2601.02751, sections 4.1.3 and 4.1.4). Only signs count, so that a few
tokens with large shifts do not decide. The paper's texts have 512 tokens; of a short text the sizes
that do not fit are left out, and where none fits the whole text is one window. Of several
references the mean loss per token counts. Two passes per text, one by each model. Larger speaks for
membership.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from divulge.attacks.base import Attack, Observed
from divulge.attacks.token_shifts import token_shifts
from divulge.types import Array

SMALLEST, LARGEST, COUNT = 2, 40, 10


def window_sizes(smallest: int = SMALLEST, largest: int = LARGEST, count: int = COUNT) -> list[int]:
    """Sizes in equal proportions, rounded; a size may come twice, and then votes twice."""
    return [int(s) for s in np.round(np.geomspace(smallest, largest, count))]


def window_votes(shifts: Array, sizes: Sequence[int] | None = None) -> Array:
    """Mean share of windows whose shifts sum to more than 0; NaN beyond the end of a text."""
    lengths = np.isfinite(shifts).sum(axis=1)
    sums = np.concatenate(
        [np.zeros((len(shifts), 1)), np.cumsum(np.nan_to_num(shifts), axis=1)], axis=1
    )
    total, fitting = np.zeros(len(shifts)), np.zeros(len(shifts))
    for size in window_sizes() if sizes is None else sizes:
        windows = np.maximum(0, lengths - size + 1)
        if not windows.any():
            continue
        inside = np.arange(sums.shape[1] - size) < windows[:, None]
        votes = ((sums[:, size:] - sums[:, :-size] > 0.0) & inside).sum(axis=1)
        fits = windows > 0
        total[fits] += votes[fits] / windows[fits]
        fitting += fits
    whole = sums[:, -1] > 0.0
    return np.asarray(np.where(fitting > 0, total / np.maximum(fitting, 1), whole))


def _score(observed: Observed) -> Array:
    return window_votes(token_shifts(observed))


ATTACK = Attack(
    name="windows",
    title="share of windows in which the target's loss is below the references'",
    paper="Chen et al. 2026, window-based comparison (WBC)",
    lower_is_member=False,
    needs=("tokens", "reference"),
    score=_score,
)
