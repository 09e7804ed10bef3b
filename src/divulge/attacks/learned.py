"""A learned combination of other attacks, taught by shadow models (after Shokri et al., 2017).

Each of a few shadow models plays the target against the others. Who was in its training set is
known by construction, so boosted trees learn members from outsiders by the scores of the other
attacks; then they are shown the scores of the real target, whose truths are never used. The score
is the estimated log-odds. Larger speaks for membership.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from divulge.attacks.base import Attack, Observed
from divulge.errors import require
from divulge.types import Array
from divulge.work.threads import Sized

PLAYED = 8
"""Most shadow models that play the target."""
FEWEST = 3


def combination(parts: Sequence[Attack]) -> Attack:
    """The attack that learns from those of ``parts`` for which enough was observed."""

    def score(observed: Observed) -> Array:
        return combine(observed, parts)

    return Attack(
        name="learned",
        title="other attacks combined, trained on shadow models",
        paper="after Shokri et al. 2017",
        lower_is_member=False,
        needs=("losses", "shadows out", "shadows in"),
        score=score,
        pooled=True,
    )


def combine(observed: Observed, parts: Sequence[Attack]) -> Array:
    """Log-odds of membership, learned where membership is known."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    count = len(observed.shadows)
    require(count >= FEWEST, f"A combination needs at least {FEWEST} shadow models. Found {count}.")
    assert observed.inside is not None
    played = [stand_in(observed, k) for k in range(min(count, PLAYED))]
    usable = [a for a in parts if not any(a.missing(o) for o in (observed, *played))]
    require(len(usable) > 0, "None of the attacks to combine has what it needs.")
    scores = np.concatenate([_columns(o, usable) for o in played])
    truth = np.concatenate([observed.inside[:, k] for k in range(len(played))])
    boosting = HistGradientBoostingClassifier(
        max_iter=200, learning_rate=0.05, max_leaf_nodes=15, early_stopping=False, random_state=0
    )
    learner = Sized(boosting).fit(scores, truth)
    return np.asarray(learner.decision_function(_columns(observed, usable)))


def stand_in(observed: Observed, k: int) -> Observed:
    """What would be observed if shadow model k were the target: it is taken out of the shadows.

    It was not asked about the text in lower case, and a population that it saw, or was not asked
    about, is none for it.
    """
    inside, population = observed.inside, observed.population
    if population is not None:
        saw = population.inside is not None and bool(population.inside[:, k].any())
        asked = len(population.shadows) == len(observed.shadows)
        population = None if saw or not asked else stand_in(population, k)
    return replace(
        observed,
        target=observed.shadows[k],
        lowered=None,
        shadows=observed.shadows[:k] + observed.shadows[k + 1 :],
        inside=None if inside is None else np.delete(inside, k, axis=1),
        population=population,
    )


def _columns(observed: Observed, parts: Sequence[Attack]) -> Array:
    return np.column_stack([attack(observed) for attack in parts])
