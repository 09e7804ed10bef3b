from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import auc, classifier
from scipy.stats import norm

from divulge.attacks import lira_offline, lira_online, parametric
from divulge.attacks.base import Observed
from divulge.errors import InputError
from divulge.models.base import Answers

OWN = np.array([1.0, -0.5])
SHADOWS = np.array([[0.0, 2.0, 1.0, 3.0], [-1.0, 0.0, -2.0, 1.0]])
INSIDE = np.array([[False, True, False, True], [True, False, False, True]])


def test_online_with_own_deviations_by_hand():
    expected = []
    for x, row, mask in zip(OWN, SHADOWS, INSIDE, strict=True):
        with_it, without = row[mask], row[~mask]
        expected.append(
            norm.logpdf(x, with_it.mean(), with_it.std(ddof=1))
            - norm.logpdf(x, without.mean(), without.std(ddof=1))
        )
    found = lira_online.online_lira(OWN, SHADOWS, INSIDE, per_record=True)
    assert found == pytest.approx(expected)


def test_online_with_one_deviation_for_all_by_hand():
    def pooled(masks):
        parts = [row[m] - row[m].mean() for row, m in zip(SHADOWS, masks, strict=True)]
        return np.sqrt(np.sum(np.concatenate(parts) ** 2) / 2)  # 4 values, 2 means

    expected = [
        norm.logpdf(x, row[m].mean(), pooled(INSIDE))
        - norm.logpdf(x, row[~m].mean(), pooled(~INSIDE))
        for x, row, m in zip(OWN, SHADOWS, INSIDE, strict=True)
    ]
    found = lira_online.online_lira(OWN, SHADOWS, INSIDE, per_record=False)
    assert found == pytest.approx(expected)


def test_offline_is_the_standard_score_and_orders_like_its_tail():
    found = lira_offline.offline_lira(OWN, SHADOWS, ~INSIDE, per_record=True)
    expected = [
        (x - row[m].mean()) / row[m].std(ddof=1)
        for x, row, m in zip(OWN, SHADOWS, ~INSIDE, strict=True)
    ]
    assert found == pytest.approx(expected)
    published = 1.0 - norm.sf(found)
    assert np.array_equal(np.argsort(published), np.argsort(found))


def test_the_log_ratio_is_what_the_parametric_test_thresholds(rng):
    """At any target error the accused losses are exactly those above some log ratio."""
    for m0, s0, m1, s1 in ((0.0, 1.0, 1.0, 2.0), (0.0, 1.5, -1.0, 0.5), (0.0, 1.0, 0.7, 1.0)):
        x = rng.normal(0.3, 2.0, size=400)
        ratio = parametric.log_ratio(x, m0, s0, m1, s1)
        accused = parametric.decide(x, m0, s0, m1, s1, [0.05, 0.3])
        for column in accused.T:
            assert ratio[column].min() > ratio[~column].max()


def test_signal_is_the_logit_or_minus_the_loss(rng):
    seen, _ = classifier(rng, n=40)
    own, shadows, _ = lira_online.signals(seen)
    p = np.exp(seen.target.log_probabilities[np.arange(40), seen.labels])
    assert own == pytest.approx(np.log(p / (1 - p)))
    assert shadows.shape == (40, len(seen.shadows))
    plain = Observed(
        Answers(losses=-OWN),
        shadows=tuple(Answers(losses=-column) for column in SHADOWS.T),
        inside=INSIDE,
    )
    expected = lira_online.online_lira(OWN, SHADOWS, INSIDE, per_record=False)
    assert lira_online.ATTACK(plain) == pytest.approx(expected)


def test_64_shadow_models_bring_deviations_of_every_records_own(rng):
    shadows = rng.normal(size=(5, 64)) * rng.uniform(0.2, 3.0, size=(5, 1))
    inside = np.tile(np.arange(64) % 2 == 0, (5, 1))
    own = rng.normal(size=5)
    seen = Observed(
        Answers(losses=-own), shadows=tuple(Answers(losses=-c) for c in shadows.T), inside=inside
    )
    for attack, score, mask in (
        (lira_online.ATTACK, lira_online.online_lira, inside),
        (lira_offline.ATTACK, lira_offline.offline_lira, ~inside),
    ):
        assert attack(seen) == pytest.approx(score(own, shadows, mask, per_record=True))
        assert attack(seen) != pytest.approx(score(own, shadows, mask, per_record=False))
        fewer = replace(seen, shadows=seen.shadows[:63], inside=inside[:, :63])
        expected = score(own, shadows[:, :63], mask[:, :63], per_record=False)
        assert attack(fewer) == pytest.approx(expected)


def test_shadows_beat_the_plain_loss_where_records_differ_in_difficulty(rng):
    seen, member = classifier(rng)
    plain = auc(lira_online.signals(seen)[0], member)
    assert auc(lira_online.ATTACK(seen), member) > plain + 0.05
    assert auc(lira_offline.ATTACK(seen), member) > plain + 0.05


def test_too_few_shadow_models_are_an_error():
    one = np.array([[True, False]])
    with pytest.raises(InputError, match="at least two shadow models"):
        lira_online.online_lira(OWN[:1], SHADOWS[:1, :2], one, per_record=False)
    with pytest.raises(InputError, match="also needs: shadow models that trained on the record"):
        lira_online.ATTACK(
            Observed(
                Answers(losses=OWN),
                shadows=tuple(Answers(losses=c) for c in SHADOWS.T),
                inside=np.zeros_like(INSIDE),
            )
        )
