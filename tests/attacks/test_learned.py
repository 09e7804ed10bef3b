from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import auc, classifier

from divulge.attacks import learned, lira_online, logit_gap, loss, registry, rmia_online
from divulge.errors import InputError


def test_a_stand_in_is_the_shadow_against_the_others(rng):
    seen, _ = classifier(rng, n=40)
    played = learned.stand_in(seen, 3)
    assert played.target is seen.shadows[3]
    assert len(played.shadows) == len(seen.shadows) - 1
    assert all(a is not seen.shadows[3] for a in played.shadows)
    assert np.array_equal(played.inside[:, 3], seen.inside[:, 4])
    assert played.population.target is seen.population.shadows[3]
    assert len(played.population.shadows) == len(seen.shadows) - 1


def test_a_population_that_the_shadow_saw_is_none_for_it(rng):
    seen, _ = classifier(rng, n=40)
    marked = seen.population.inside.copy()
    marked[0, 3] = True
    known = replace(seen, population=replace(seen.population, inside=marked))
    assert learned.stand_in(known, 3).population is None
    assert learned.stand_in(known, 2).population is not None
    silent = replace(seen, population=replace(seen.population, shadows=()))
    assert learned.stand_in(silent, 2).population is None


def test_the_combination_is_about_as_good_as_its_best_part(rng):
    seen, member = classifier(rng)
    parts = (loss.ATTACK, logit_gap.ATTACK, rmia_online.ATTACK, lira_online.ATTACK)
    best = max(auc(registry.direction(a.name) * a(seen), member) for a in parts)
    assert auc(learned.combine(seen, parts), member) > best - 0.02


def test_useless_scores_teach_nothing(rng):
    seen, member = classifier(rng, gain=0.0)
    found = auc(learned.combine(seen, (loss.ATTACK, lira_online.ATTACK)), member)
    assert abs(found - 0.5) < 0.08


def test_the_target_teaches_nothing(rng):
    """Another target changes what is scored, not what is learned: equal records score equally."""
    seen, _ = classifier(rng, n=60)
    parts = (loss.ATTACK,)
    first = learned.combine(seen, parts)
    mixed = seen.target.log_probabilities.copy()
    mixed[30:] = np.roll(mixed[30:], 1, axis=1)
    second = learned.combine(
        replace(seen, target=replace(seen.target, log_probabilities=mixed)), parts
    )
    assert np.array_equal(first[:30], second[:30])
    assert not np.array_equal(first[30:], second[30:])


def test_errors(rng):
    seen, _ = classifier(rng, n=40, shadows=2)
    with pytest.raises(InputError, match=r"at least 3 shadow models\. Found 2"):
        registry.find("learned")(seen)
    seen, _ = classifier(rng, n=40)
    with pytest.raises(InputError, match="None of the attacks"):
        learned.combine(seen, (registry.find("min_k"),))
    with pytest.raises(InputError, match="'learned' also needs: shadow models that did not"):
        registry.find("learned")(replace(seen, shadows=(), inside=None))
