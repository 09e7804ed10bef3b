from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import classes, classifier

from divulge.attacks import rmia, rmia_online
from divulge.attacks.base import Observed
from divulge.errors import InputError


def label(answers, labels):
    return np.exp(answers.log_probabilities[np.arange(labels.size), labels])


def ratios_offline(seen: Observed) -> np.ndarray:
    out = np.mean([label(r, seen.labels) for r in seen.references], axis=0)
    inside = 0.3 * out + 0.7
    return label(seen.target, seen.labels) / (0.5 * (inside + out))


def test_offline_with_several_references_record_by_record(rng):
    seen, _ = classifier(rng, n=40)
    own, others = ratios_offline(seen), ratios_offline(seen.population)
    expected = [(r >= others).mean() for r in own]
    assert rmia.ATTACK(seen) == pytest.approx(expected)


def test_online_record_by_record(rng):
    seen, _ = classifier(rng, n=40)
    population = seen.population
    shadows = np.array([label(s, seen.labels) for s in seen.shadows]).T
    own = []
    for i, p in enumerate(label(seen.target, seen.labels)):
        with_it, without = shadows[i][seen.inside[i]], shadows[i][~seen.inside[i]]
        own.append(p / (0.5 * (with_it.mean() + without.mean())))
    out = np.mean([label(s, population.labels) for s in population.shadows], axis=0)
    others = label(population.target, population.labels) / (0.65 * out + 0.35)
    expected = [(r >= others).mean() for r in own]
    assert rmia_online.ATTACK(seen) == pytest.approx(expected)
    # That no shadow model saw the population need not be said.
    silent = replace(seen, population=replace(population, inside=None))
    assert np.array_equal(rmia_online.ATTACK(silent), rmia_online.ATTACK(seen))


def test_population_records_inside_some_shadows_count_on_both_sides():
    shadows = np.log([[0.2, 0.6], [0.2, 0.6]])
    inside = np.array([[False, True], [False, False]])
    found = np.exp(rmia_online.evidence(shadows, inside))
    assert found == pytest.approx([0.4, 0.5 * (1.3 * 0.4 + 0.7)])


def test_gamma_reverses_no_two_records(rng):
    own, others = rng.normal(size=200), rng.normal(size=500)
    fine, coarse = rmia.dominated(own, others, 1.0), rmia.dominated(own, others, 3.0)
    order = np.argsort(own)
    assert (np.diff(fine[order]) >= 0).all()
    assert (np.diff(coarse[order]) >= 0).all()
    assert np.unique(coarse).size < np.unique(fine).size


def test_equal_records_tie():
    one = classes([0.8, 0.2], [0.8, 0.2])
    seen = Observed(one, labels=np.zeros(2, int), references=(classes([0.5, 0.5], [0.5, 0.5]),))
    found = rmia.ATTACK(replace(seen, population=seen))
    assert found[0] == found[1] == 1.0


def test_an_unanswered_population_is_an_error(rng):
    seen, _ = classifier(rng, n=40)
    for attack, words in (
        (rmia.ATTACK, {"references": ()}),
        (rmia_online.ATTACK, {"shadows": ()}),
    ):
        with pytest.raises(InputError, match="to the population"):
            attack(replace(seen, population=replace(seen.population, **words)))
