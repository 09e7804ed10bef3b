"""Scores with shadow models: no claim about a null target, and a mistaken draw is seen."""

from __future__ import annotations

import numpy as np
import pytest
from errors_elsewhere import ELSEWHERE
from mutating import applied
from scipy.stats import binom

from divulge.selftest.readings import Reading
from divulge.selftest.shadow_scores import ATTACKS, EPSILON, ShadowScores

GAMES, ERROR = 12, 0.05
SPARED = next(m for m in ELSEWHERE if "spared the members" in m.name)


def claims(game: ShadowScores, games: int = GAMES) -> np.ndarray:
    rng = np.random.default_rng(11)
    read = Reading(game, ("epsilon", 0.0))
    return np.array([read(ERROR, rng) for _ in range(games)])


@pytest.mark.slow
def test_nothing_is_proved_of_a_target_that_saw_none_of_the_records():
    false = np.count_nonzero(claims(ShadowScores("lira", 0.0)) > 0.0)
    assert binom.sf(false - 1, GAMES, ERROR) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("disclosed", [0.0, EPSILON])
def test_no_more_is_proved_than_there_is(attack, disclosed):
    false = np.count_nonzero(claims(ShadowScores(attack, disclosed), 100) > disclosed)
    assert binom.sf(false - 1, 100, ERROR) > 1e-3


@pytest.mark.slow
def test_shadow_models_that_are_spared_the_members_are_convicted():
    """They answer for others as for records they were trained on: the truths show in the score."""
    with applied(SPARED):
        false = np.count_nonzero(claims(ShadowScores("lira", 0.0)) > 0.0)
    assert binom.sf(false - 1, GAMES, ERROR) < 1e-6
