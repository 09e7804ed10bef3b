"""Loss of the text over its loss under reference models (Carlini et al., 2021, section 5.2).

The paper compares with a smaller model. Of several references the mean loss counts. Smaller speaks
for membership.
"""

from __future__ import annotations

from divulge.attacks.base import Attack, Observed, losses
from divulge.attacks.difficulty import reference_loss
from divulge.attacks.tokens import relative_loss
from divulge.types import Array


def _score(observed: Observed) -> Array:
    return relative_loss(losses(observed.target, None), reference_loss(observed))


ATTACK = Attack(
    name="reference_ratio",
    title="loss over the references' loss",
    paper="Carlini et al. 2021, section 5.2",
    lower_is_member=True,
    needs=("tokens", "reference"),
    score=_score,
)
