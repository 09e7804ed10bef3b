"""Loss of the text over the same text's in lower case (Carlini et al., 2021, section 5.2).

Needs the language model's answers to both. Smaller speaks for membership.
"""

from __future__ import annotations

from divulge.attacks.base import Attack, Observed, losses
from divulge.attacks.tokens import relative_loss
from divulge.types import Array


def _score(observed: Observed) -> Array:
    assert observed.lowered is not None
    return relative_loss(losses(observed.target, None), losses(observed.lowered, None))


ATTACK = Attack(
    name="lowercase",
    title="loss over the loss of the text in lower case",
    paper="Carlini et al. 2021, section 5.2",
    lower_is_member=True,
    needs=("tokens", "lowered"),
    score=_score,
)
