"""The loss of the target on the record (Yeom et al., 2018); per token for a language model.

Needs the loss, however the model gives it. Smaller speaks for membership.
"""

from __future__ import annotations

from divulge.attacks.base import Attack, Observed, losses
from divulge.types import Array


def loss(observed: Observed) -> Array:
    """The target's loss on every record."""
    return losses(observed.target, observed.labels)


ATTACK = Attack(
    name="loss",
    title="loss of the target",
    paper="Yeom et al. 2018, Adversary 2",
    lower_is_member=True,
    needs=("losses",),
    score=loss,
)
