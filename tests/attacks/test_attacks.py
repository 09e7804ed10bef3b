from __future__ import annotations

import numpy as np
import pytest

from divulge.attacks.difficulty import difficulty_calibration
from divulge.attacks.rmia import offline_rmia
from divulge.attacks.shown_value import value_score
from divulge.errors import InputError


def test_scores_of_a_value_are_those_of_the_formulas():
    target, proxy = np.log([[0.8, 0.2]]), np.log([[0.5, 0.5]])
    llr = value_score("llr", target, proxy, proxy)
    assert np.allclose(llr, np.log([[1.6, 0.4]]))
    published = value_score("published", target, proxy, proxy, power=2.0)
    assert np.allclose(published, [[0.3 * 0.25, -0.3 * 0.25]])
    plain = value_score("published", target, proxy, proxy, power=0.0)
    assert np.allclose(plain, [[0.3, -0.3]])


def test_bad_scores_are_refused():
    one = np.zeros((1, 2))
    with pytest.raises(InputError, match="Unknown score"):
        value_score("loss", one, one, one)
    with pytest.raises(InputError, match="power"):
        value_score("published", one, one, one, power=-1.0)


def test_difficulty_calibration_favours_what_the_target_knows_better():
    assert difficulty_calibration(np.log([0.9]), np.log([0.3]))[0] == pytest.approx(np.log(3))


def test_rmia_by_hand():
    """Ratios 0.9 / (0.5 (1.3 x 0.3 + 0.7)) = 1.651; 0.5/0.675 = 0.741 and 0.8/0.87 = 0.92."""
    own = offline_rmia(
        np.log([0.9]), np.log([0.3]), np.log([0.5, 0.8]), np.log([0.5, 0.8]), gamma=1.0
    )
    assert own[0] == 1.0
    stricter = offline_rmia(
        np.log([0.9]), np.log([0.3]), np.log([0.5, 0.8]), np.log([0.5, 0.8]), gamma=2.0
    )
    assert stricter[0] == 0.5


def test_rmia_tells_members_apart():
    rng = np.random.default_rng(0)
    reference = rng.uniform(0.2, 0.9, size=3000)
    gain = np.where(np.arange(3000) < 1000, 0.5, 0.0)
    target = reference + gain * (1 - reference)
    log_target, log_reference = np.log(target), np.log(reference)
    score = offline_rmia(
        log_target[:2000], log_reference[:2000], log_target[2000:], log_reference[2000:]
    )
    assert score[:1000].mean() > score[1000:].mean() + 0.1


@pytest.mark.parametrize(("kwargs", "word"), [({"slope": 2.0}, "slope"), ({"gamma": 0.5}, "gamma")])
def test_rmia_refuses_nonsense(kwargs, word):
    one = np.zeros(1)
    with pytest.raises(InputError, match=word):
        offline_rmia(one, one, one, one, **kwargs)
    with pytest.raises(InputError, match="empty"):
        offline_rmia(one, one, one[:0], one[:0])
