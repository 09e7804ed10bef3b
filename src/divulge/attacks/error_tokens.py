"""Where the target errs, did training still raise the true token? (EZ-MIA, Ilić et al., 2026.)

At the places of a text where the target's most likely token is not the text's own, P is the sum of
all rises of the log-probability of the true token from the reference to the target, N that of all
falls. The paper's Error Zone score is P / N (arXiv 2601.12104, sections 3.3 and 3.4); ours is
P / (P + N), which orders texts alike and stays finite. As the paper's appendix has it, a text
without falls, or without errors, is the surest member; the authors' program
(JetBrains-Research/ez-mia) scores it 0, and leaves out the first token that is predicted, which we
count. Of several references the mean log-probability counts. Two passes per text, one by each
model. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Mask, Observed
from divulge.attacks.token_shifts import token_shifts
from divulge.types import Array


def upward_share(shifts: Array, wrong: Mask) -> Array:
    """Share of all movement at the wrong tokens that goes up: 1 without any such token.

    One half where nothing moved.
    """
    there = wrong & np.isfinite(shifts)
    up = np.where(there, np.maximum(shifts, 0.0), 0.0).sum(axis=1)
    down = np.where(there, np.maximum(-shifts, 0.0), 0.0).sum(axis=1)
    moved = up + down
    share = np.divide(up, moved, out=np.full(len(moved), 0.5), where=moved > 0.0)
    return np.asarray(np.where(there.any(axis=1), share, 1.0))


def _score(observed: Observed) -> Array:
    target = observed.target
    assert target.tokens is not None
    assert target.best is not None
    with np.errstate(invalid="ignore"):
        wrong = target.tokens < target.best
    return upward_share(token_shifts(observed), wrong)


ATTACK = Attack(
    name="error_tokens",
    title="share of the shifts from the references that go up where the target errs",
    paper="Ilić et al. 2026, Error Zone score (EZ-MIA)",
    lower_is_member=False,
    needs=("tokens", "top", "reference"),
    score=_score,
)
