"""A text is more than its features: a finding about one needs a negative control to be robust."""

from __future__ import annotations

import numpy as np
import pytest

import divulge


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    member = rng.random(1500) < 0.5
    hard = rng.normal(size=1500)
    return {
        "member": member,
        "loss": hard + 0.5 * rng.normal(size=1500) - 2.0 * member,
        "control_loss": hard + 0.5 * rng.normal(size=1500),
        "noise": rng.normal(size=1500),
        "words": rng.normal(size=1500),
        "text": [f"text {i}" for i in range(1500)],
    }


@pytest.mark.slow
def test_without_a_control_it_is_fragile(table):
    plain = divulge.membership(table, score="loss", features=["words"])
    assert not plain.verdict.robust
    assert any("There is no control" in reason for reason in plain.verdict.reasons)
    about_text = divulge.membership(table, score="loss", features=["words"], text="text")
    assert about_text.verdict.status == "leak"
    assert not about_text.verdict.robust
    assert any("--reference-score" in reason for reason in about_text.verdict.reasons)
    assert [b.value for b in plain.bounds] == [b.value for b in about_text.bounds]


def test_a_control_that_finds_nothing_makes_it_robust(table):
    given = {"score": "loss", "features": ["words"], "text": "text"}
    stated = {"training_size": 750, "reference_size": 750}
    found = divulge.membership(table, reference_score="control_loss", **given, **stated)
    assert found.verdict.robust, found.verdict.reasons
    assert found.verdict.sentence.startswith("The model gives away its members")
    assert "on your word" in found.verdict.sentence
    assert all(r.holds for r in found.diagnostics.robustness)


@pytest.mark.slow
def test_a_control_that_knows_nothing_supports_nothing(table):
    given = {"score": "loss", "features": ["words"], "text": "text"}
    stated = {"training_size": 750, "reference_size": 750}
    found = divulge.membership(
        table, reference_score="noise", lower_is_member=True, **given, **stated
    )
    assert found.verdict.status == "leak"
    assert not found.verdict.robust
    assert found.verdict.sentence.startswith("Unless the groups differ")
    assert any("not comparable to the target" in reason for reason in found.verdict.reasons)


@pytest.mark.slow
def test_sizes_make_a_noisy_twin_comparable(table):
    rng = np.random.default_rng(1)
    hard = table["words"]  # what the features show is all that the two have in common
    own = {"loss": hard + rng.normal(size=1500) - 2.0 * table["member"]}
    own |= {"control_loss": hard + rng.normal(size=1500)}
    given = {"score": "loss", "features": ["words"], "reference_score": "control_loss"}
    silent = divulge.membership({**table, **own}, **given)
    assert not silent.verdict.robust
    assert any("--reference-size" in reason for reason in silent.verdict.reasons)
    stated = {"training_size": 750, "reference_size": 750}
    assert divulge.membership({**table, **own}, **given, **stated).verdict.robust
    less = divulge.membership({**table, **own}, **given, **(stated | {"reference_size": 250}))
    assert any("learned from 250 records" in reason for reason in less.verdict.reasons)


@pytest.mark.slow
def test_a_control_that_shows_as_much_before_its_allowance_vetoes(table):
    words = table["words"]
    shown = np.where(table["member"], 0.35, 0.0)  # a bias that no feature shows, in both models
    rng = np.random.default_rng(2)
    losses = {name: words + rng.normal(size=1500) - shown for name in ("loss", "control_loss")}
    result = divulge.membership(
        {**table, **losses}, score="loss", features=["words"], reference_score="control_loss"
    )
    control = result.diagnostics.negative_control
    assert control.before_allowance > 0.0
    assert result.verdict.status != "leak"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reference_size": 10, "reference_score": "control_loss"}, "give training_size too"),
        ({"reference_size": 0, "training_size": 5}, "at least 1"),
        ({"reference_size": 10, "training_size": 10}, "name its score"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(table, given, said):
    with pytest.raises(divulge.errors.InputError, match=said):
        divulge.membership(table, score="loss", features=["words"], **given)


@pytest.mark.slow
def test_a_control_has_the_direction_of_the_score_whatever_its_name(table):
    named = {**table, "control": table["control_loss"]}
    given = {"score": "loss", "features": ["words"]}
    found = [
        divulge.membership(named, reference_score=name, **given).diagnostics.negative_control
        for name in ("control", "control_loss")
    ]
    assert found[0] == found[1]
    assert found[0].likeness > 0.6


def test_what_a_control_finds_as_well_is_no_finding(table):
    knowing = {**table, "control_loss": table["loss"] + 0.1 * table["words"]}
    result = divulge.membership(
        knowing, score="loss", features=["words"], text="text", reference_score="control_loss"
    )
    assert result.verdict.status == "no evidence"
    assert all(b.value == 0.0 for b in result.headline())
    assert any("residual confounding" in reason for reason in result.verdict.reasons)


def test_what_is_beyond_a_control_that_speaks_is_not_concluded(table):
    rng = np.random.default_rng(1)
    half = {**table, "control_loss": table["loss"] + 2.0 * rng.normal(size=1500)}
    result = divulge.membership(
        half, score="loss", features=["words"], text="text", reference_score="control_loss"
    )
    assert result.verdict.status == "cannot conclude"
    assert "never saw the members" in result.verdict.sentence
    assert any("residual confounding" in reason for reason in result.verdict.reasons)
    assert result.headline() == ()
    assert any(b.value > 0.5 for b in result.bounds)  # still listed, for what they are


@pytest.mark.slow
def test_a_target_that_repeats_its_control_shows_nothing(table):
    rng = np.random.default_rng(2)
    shift = {**table, "loss": table["control_loss"] - 1.0 * table["member"]}
    shift["control_loss"] = shift["loss"] + 0.1 * rng.normal(size=1500)
    given = {"score": "loss", "features": ["words"]}
    alone = divulge.membership(shift, **given)
    beside = divulge.membership(shift, reference_score="control_loss", **given)
    assert alone.verdict.status == "leak"
    assert beside.verdict.status == "no evidence"
    assert beside.diagnostics.negative_control.epsilon > 0.0


def test_a_control_that_saw_the_nonmembers_raises_no_bound(table):
    """Given its score the target would seem to know the members; alone it does not."""
    rng = np.random.default_rng(3)
    hard, noise = rng.normal(size=1500), 0.03 * rng.normal(size=(2, 1500))
    nothing = {**table, "loss": hard + noise[0]}
    nothing["control_loss"] = hard + noise[1] - 0.09 * ~table["member"]
    stated = {"training_size": 750, "reference_size": 750}
    given = {"score": "loss", "features": ["words"], "reference_score": "control_loss"}
    found = divulge.membership(nothing, **given, **stated)
    assert found.verdict.status == "no evidence"


@pytest.mark.slow
def test_with_a_control_bounds_are_the_smaller_of_two_audits(table):
    given = {"score": "loss", "features": ["words"]}
    alone = divulge.membership(table, **given)
    beside = divulge.membership(table, reference_score="control_loss", **given)
    pairs = list(zip(alone.headline(), beside.headline(), strict=True))
    assert all(0.0 < two.value <= one.value for one, two in pairs)
    assert all(any("smaller of two" in a for a in two.assumptions) for _, two in pairs)
