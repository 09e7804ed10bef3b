"""Loss of the whole text over the bytes that zlib needs for it (Carlini et al., 2021, section 5.2).

Two lengths of code for one text, so that its own length cancels; the paper, whose texts are all 256
tokens long, divides the loss per token. Needs tokens and texts. Smaller speaks for membership.
"""

from __future__ import annotations

from divulge.attacks.base import Attack, Observed
from divulge.attacks.tokens import compressed
from divulge.types import Array


def _score(observed: Observed) -> Array:
    assert observed.target.tokens is not None
    assert observed.texts is not None
    return compressed(observed.target.tokens, observed.texts)


ATTACK = Attack(
    name="zlib",
    title="loss over compressed size",
    paper="Carlini et al. 2021, section 5.2",
    lower_is_member=True,
    needs=("tokens", "texts"),
    score=_score,
)
