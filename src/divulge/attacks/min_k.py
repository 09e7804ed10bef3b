"""Min-K% (Shi et al., 2024): the mean loss of the 20% least likely tokens of a text.

Needs the log-probability of every token. Smaller speaks for membership; the paper states the mean
log-probability, which has the opposite sign.
"""

from __future__ import annotations

from divulge.attacks import tokens
from divulge.attacks.base import Attack, Observed
from divulge.types import Array


def _score(observed: Observed) -> Array:
    assert observed.target.tokens is not None
    return tokens.min_k(observed.target.tokens)


ATTACK = Attack(
    name="min_k",
    title="mean loss of the 20% least likely tokens",
    paper="Shi et al. 2024, Min-K% Prob",
    lower_is_member=True,
    needs=("tokens",),
    score=_score,
)
