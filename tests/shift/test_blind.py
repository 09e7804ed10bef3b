from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift.blind import LEARNERS, blind_evidence, proved_shift
from divulge.shift.design import read_records
from divulge.shift.prognostic import fit_prognostic

ROWS = 4000
TRIM = 1.5


def worlds(seed, shift):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, 8))
    odds = shift(x)
    truth = np.where(rng.random(ROWS) < expit(odds), 1.0, -1.0)
    records = read_records(x, rng)
    prognostic = fit_prognostic(x[:, 1] + rng.standard_normal(ROWS), records, rng, folds=2)
    return rng, truth, odds, records, prognostic


def prove(seed, shift, claimed, coin=0.0):
    rng, truth, odds, records, prognostic = worlds(seed, shift)
    log_odds = claimed(odds)
    old, new = np.arange(ROWS // 2), np.arange(ROWS // 2, ROWS)
    evidence = blind_evidence(
        truth, records, prognostic, old, log_odds[old], new, log_odds[new],
        trim=TRIM, coin=coin, rng=rng,
    )  # fmt: skip
    inside = np.abs(log_odds[new] - coin) <= TRIM
    if evidence is None:
        return None, []
    assert evidence.shape == (len(LEARNERS), new.size)
    assert (evidence[:, ~inside] == 0.0).all()
    alone = [proved_shift(e[None], truth[new], log_odds[new], 0.05) for e in evidence]
    return proved_shift(evidence, truth[new], log_odds[new], 0.05), alone


def linear(x):
    return x[:, 0]


def squares(x):
    return 0.6 * (x[:, 0] ** 2 - 1.0)


def products(x):
    return 1.5 * np.sign(x[:, 0] * x[:, 1])


@pytest.mark.parametrize("shift", [linear, squares])
def test_it_finds_the_shift_that_wrong_log_odds_deny(shift):
    together, alone = prove(1, shift, lambda odds: np.zeros(ROWS))
    assert together > 0.3
    assert alone[LEARNERS.index("logistic")] > 0.3
    assert together >= max(alone) - 0.2  # averaging costs little against the best


def test_learners_complement_each_other():
    _, alone = prove(1, products, lambda odds: np.zeros(ROWS))
    assert alone[LEARNERS.index("boosting")] > 0.3
    assert alone[LEARNERS.index("logistic")] == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_it_finds_nothing_beyond_the_true_log_odds(seed):
    together, _ = prove(seed, lambda x: x[:, 0] + x[:, 1] * x[:, 2], lambda odds: odds)
    assert together == 0.0


def test_the_trim_is_around_the_coin():
    together, _ = prove(1, lambda x: x[:, 0] + 2.9, lambda odds: np.full(ROWS, 2.9), coin=2.9)
    assert together > 0.2
    outside, _ = prove(1, lambda x: x[:, 0] + 2.9, lambda odds: np.full(ROWS, 2.9), coin=0.0)
    assert outside is None  # it could not be tried, which is not silence


def test_over_confident_log_odds_are_found():
    together, _ = prove(2, lambda x: 0.7 * x[:, 0], lambda odds: 3.0 * odds)
    assert together > 0.1


def test_no_trial_to_bet_on():
    assert proved_shift(np.zeros((3, 0)), np.zeros(0), np.zeros(0), 0.05) == 0.0
