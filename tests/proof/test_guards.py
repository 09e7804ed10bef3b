"""Every source of propensities has the guards of the default, and none is robust without them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from divulge.errors import CannotConclude
from divulge.games.membership.play import membership
from divulge.mechanisms import Shifted
from divulge.proof import controls, resampled

ROWS = 1800


@cache
def drawn(rows, kind="variance", mu=0.0, seed=0):
    """A table whose score follows the features that tell the groups apart."""
    sample = Shifted(kind, mu=mu).sample(rows, np.random.default_rng(seed))
    columns = {f"x_{j}": sample.features[:, j] for j in range(8)}
    return {
        "member": sample.truth > 0,
        "score": sample.score,
        "pi": expit(sample.log_odds),
        "half": np.full(rows, 0.5),
        **columns,
    }


def parted(rows, further, kind="linear", mu=1.0):
    """Records of one population: those of the audit, and held-out ones."""
    every = drawn(rows + further, kind, mu)
    return ({k: v[part] for k, v in every.items()} for part in (slice(rows), slice(rows, None)))


WRONG = {
    "logistic": {"estimator": "logistic"},
    "held-out, logistic": {"estimator": "logistic", "heldout": drawn(ROWS, seed=1)},
    "held-out, few": {"heldout": drawn(150, seed=1)},
    "given": {"propensity": "half"},
}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(s, marks=[pytest.mark.slow] * (s in ("logistic", "held-out, few")))
        for s in WRONG
    ],
)
def test_wrong_propensities_claim_no_leak_where_there_is_none(source):
    result = membership(drawn(ROWS), score="score", features="x_*", **WRONG[source])
    assert result.verdict.status != "leak"
    assert not result.verdict.robust


@pytest.fixture(scope="module")
def given():
    return membership(drawn(ROWS, mu=1.5), score="score", features="x_*", propensity="pi")


def test_right_propensities_pass_the_baseline(given):
    assert given.verdict.status == "leak"
    held = {r.name: r.holds for r in given.diagnostics.robustness}
    assert held.pop("a comparable control finds nothing") is False
    assert held["the blind baseline is silent"]
    assert given.measurements["c_lb"] == 0.0
    assert 0.0 <= given.measurements["allowance_epsilon"] < 0.3
    assert "given propensities" in " ".join(given.bounds[0].assumptions)


def test_the_prognosis_adds_power_to_given_propensities():
    """Records differ in difficulty, which says nothing about membership."""
    rng = np.random.default_rng(0)
    member, x = rng.random(1000) < 0.5, rng.normal(size=1000)
    score = 3.0 * x + 1.5 * member + rng.normal(size=1000)
    table = {"member": member, "score": score, "x": x, "half": np.full(1000, 0.5)}
    plain = membership(table, score="score", propensity="half")
    freed = membership(table, score="score", features="x", propensity="half")
    assert freed.headline()[0].value > plain.headline()[0].value + 0.2


def test_given_propensities_that_nothing_checks_are_the_users_word():
    result = membership(drawn(ROWS, mu=1.5), score="score", propensity="pi")
    assert result.verdict.status == "leak"
    assert not result.verdict.robust
    assert any("were not checked" in reason for reason in result.verdict.reasons)
    assert "c_lb" not in result.measurements
    few = {name: values[:240] for name, values in drawn(ROWS, mu=1.5).items()}
    again = membership(few, score="score", features="x_*", propensity="pi")
    assert again.verdict.status == "leak"
    assert any("were not checked" in reason for reason in again.verdict.reasons)


def test_what_is_wrong_with_the_propensities_is_said():
    result = membership(drawn(ROWS), score="score", features="x_*", propensity="half")
    assert result.verdict.status == "cannot conclude"
    assert "given propensities do not account" in result.verdict.reasons[0]
    assert "proved by a blind baseline" in result.verdict.reasons[0]


def test_a_handful_of_held_out_records_cannot_teach():
    result = membership(drawn(ROWS), score="score", features="x_*", heldout=drawn(60, seed=1))
    assert result.verdict.status == "cannot conclude"
    assert "held-out records hold only" in result.verdict.reasons[0]


@pytest.mark.slow
def test_the_bootstrap_resamples_the_held_out_records(monkeypatch):
    taught = []

    def spy(points, refit, size, **options):
        taught.append((size, refit.features_fit.shape[0]))
        return bootstrap_each(points, refit, size, **options)

    bootstrap_each = resampled.bootstrap_each
    monkeypatch.setattr(resampled, "bootstrap_each", spy)
    table, heldout = parted(900, 700)
    result = membership(
        table, score="score", features="x_*", heldout=heldout, estimator="logistic", bootstrap=8
    )
    assert taught == [(700, 700)]
    assert len(set(result.diagnostics.bootstrap.values)) > 1


def test_held_out_log_odds_do_not_follow_the_held_out_share():
    """Three members to one non-member among the held-out records, but even coins."""
    table, many = parted(1200, 2000)
    stay = many["member"] | (np.arange(2000) % 3 == 0)
    heldout = {name: values[stay] for name, values in many.items()}
    result = membership(table, score="score", features="x_*", heldout=heldout)
    assert result.verdict.status == "leak"
    assert result.measurements["c_lb"] == 0.0


def test_the_control_has_the_same_source(monkeypatch):
    tried = []

    def spy(trials, *words):
        tried.append(trials)
        raise CannotConclude("It is too small.")

    monkeypatch.setattr(controls, "prove", spy)
    table = {**drawn(ROWS, mu=1.5), "control": drawn(ROWS)["score"]}
    result = membership(
        table, score="score", features="x_*", propensity="pi", reference_score="control"
    )
    assert tried[0].log_odds is not None
    assert result.verdict.status == "cannot conclude"
    assert "cannot be told from the distribution shift" in result.verdict.sentence
    assert "negative control could not be run. It is too small." in result.verdict.reasons[-1]
    assert result.headline() == ()
