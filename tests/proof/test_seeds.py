"""One membership audit, several draws."""

from __future__ import annotations

import json

import numpy as np
import pytest

import divulge
from divulge.errors import InputError
from divulge.games.membership.play import membership
from divulge.mechanisms import Null, RandomisedResponse
from divulge.report import terminal
from divulge.selftest.draws import Tabled

HEADLINE = [("mu", None), ("epsilon", 1e-5), ("epsilon", 0.0)]


def table(rows=1500, leak=1.0, seed=0):
    rng = np.random.default_rng(seed)
    member = rng.random(rows) < 0.5
    x = rng.normal(size=(rows, 2))
    loss = rng.normal(size=rows) - leak * member
    return {"member": member, "loss": loss, "x_0": x[:, 0], "x_1": x[:, 1]}


@pytest.fixture(scope="module")
def combined():
    return membership(table(), score="loss", corrections=("balanced", "prior"), seed=7, seeds=3)


def headline(result):
    return {(b.parameter, b.delta): b.value for b in result.headline()}


def test_the_spread_is_that_of_the_seeds_alone(combined):
    said = combined.diagnostics.seeds
    assert (said.seeds, said.first, said.without_conclusion) == (3, 7, 0)
    alone = [
        headline(membership(table(), score="loss", corrections=("balanced", "prior"), seed=seed))
        for seed in (7, 8, 9)
    ]
    for row, key in zip(said.spread, HEADLINE, strict=True):
        values = [a[key] for a in alone]
        assert list(row.of_each_seed) == values
        assert (row.least, row.largest) == (min(values), max(values))
        assert row.median == pytest.approx(np.median(values))
        assert row.combined == headline(combined)[key]
        assert 0.0 < row.combined <= row.largest


def test_the_result_says_how_it_was_combined(combined):
    assert combined.verdict.status == "leak"
    assert combined.provenance["seeds"] == 3
    words = {b.method: b.theorem for b in combined.headline()}
    assert "mean e-value of 3 seeds" in words["betting"]
    assert "2 of 3 seeds" in words["recursion"]
    text = " ".join(terminal.result_text(combined).split())
    assert combined.diagnostics.seeds.sentence in text
    again = divulge.Result.from_json(json.loads(combined.dumps()))
    assert again.diagnostics.seeds.seeds == 3


@pytest.mark.slow
def test_one_seed_changes_nothing():
    options = {"score": "loss", "features": "x_*", "estimator": "logistic"}
    one, plain = (
        json.loads(membership(table(700), **options, **m).dumps()) for m in ({"seeds": 1}, {})
    )
    assert one == plain
    assert "seeds" not in one["diagnostics"]
    for bad in (0, -1, 10_000):
        with pytest.raises(InputError, match="seeds"):
            membership(table(), score="loss", seeds=bad)


@pytest.mark.slow
def test_most_seeds_must_conclude():
    """Features that give the members away: no draw concludes, nor do several."""
    data = table(900)
    data["x_0"] = data["x_0"] + 12.0 * data["member"]
    result = membership(data, score="loss", features="x_*", estimator="logistic", seeds=2)
    assert result.verdict.status == "cannot conclude"
    assert result.bounds == ()


def test_order_does_not_matter_to_several_draws(combined):
    mixed = np.random.default_rng(1).permutation(1500)
    other = {k: np.asarray(v)[mixed] for k, v in table().items()}
    again = membership(other, score="loss", corrections=("balanced", "prior"), seed=7, seeds=3)
    assert headline(again) == headline(combined)
    assert again.diagnostics.seeds == combined.diagnostics.seeds


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [Null(), RandomisedResponse(1.0)])
@pytest.mark.parametrize("parameter", ["epsilon", "mu"])
def test_several_draws_keep_the_error(mechanism, parameter):
    """And the largest of the draws does not: what is stated is never chosen among them."""
    truth = mechanism.curve.epsilon(0.0) if parameter == "epsilon" else mechanism.curve.mu()
    play = Tabled(mechanism, parameter, seeds=5)
    found = np.array([play(0.05, np.random.default_rng([3, k])) for k in range(200)])
    assert (found > truth + 1e-9).sum() <= 20  # 5% of 200, and three standard deviations
