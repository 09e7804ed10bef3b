from __future__ import annotations

import numpy as np
import pytest

import divulge
from divulge.audits.which_game import Overruled, as_options, choose
from divulge.errors import InputError

ROWS = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 3))
Y = (X[:, 0] + RNG.normal(size=ROWS) > 0.0).astype(int)


def records(**further):
    columns = {"id": [f"r{k}" for k in range(ROWS)]}
    return {**columns, **{f"x{j}": X[:, j] for j in range(3)}, **further}


def scores(**further):
    loss = RNG.normal(size=ROWS)
    return records(member=np.arange(ROWS) % 2 == 0, loss=loss, **further)


def forest():
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier

    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(3)})
    return RandomForestClassifier(5, random_state=0).fit(frame, Y)


def test_a_table_of_scores_is_a_membership_audit():
    chosen = choose(scores(helper_loss_1=np.zeros(ROWS)))
    assert chosen.game == "membership"
    assert chosen.arguments["truth"] == "member"
    assert chosen.arguments["score"] == ["loss"]
    assert chosen.arguments["features"] == ["x0", "x1", "x2"]
    assert "not used: id, helper_loss_1" in chosen.notes
    assert "'member'" in chosen.why


@pytest.mark.slow
def test_the_same_result_as_the_game_itself():
    table = scores()
    ours = divulge.audit(table, seed=3)
    names = ["x0", "x1", "x2"]
    theirs = divulge.membership(table, score=["loss"], features=names, truth="member", seed=3)
    assert ours.bounds == theirs.bounds
    assert ours.verdict == theirs.verdict


def test_a_model_brings_its_columns_and_the_one_that_is_left_is_its_label():
    table = records(outcome_of_it=Y)
    chosen = choose(members=table, nonmembers=table, model=forest())
    assert chosen.game == "membership"
    assert chosen.arguments["features"] == ["x0", "x1", "x2"]
    assert chosen.arguments["label"] == "outcome_of_it"
    with pytest.raises(InputError, match="Name one with label"):
        choose(members=records(a=Y, b=Y), nonmembers=table | {"a": Y, "b": Y}, model=forest())
    named = choose(
        members=records(a=Y, b=Y),
        nonmembers=records(a=Y, b=Y),
        model=forest(),
        wanted=Overruled(label="b"),
    )
    assert named.arguments["label"] == "b"


def test_members_alone_are_compared_with_generated_records():
    chosen = choose(members=records(label=Y), model=forest())
    assert chosen.game == "synthetic"
    assert "generated" in chosen.why
    with pytest.raises(InputError, match="nothing to compare them with"):
        choose(members=records(label=Y))


def test_counts_and_plans():
    counts = {"fp": [3, 2], "fn": [5, 1], "n": [100, 100]}
    assert choose(counts).game == "retraining"
    assert divulge.audit(counts).game == "retraining"
    plan = divulge.canaries.plan(records(), count=200, id="id", seed=1)
    found = divulge.audit({**plan.canaries(records()).to_dict(as_series=False)} | {
        "loss": RNG.normal(size=200)}, plan=plan)  # fmt: skip
    assert found.game == "canaries"


def test_a_plan_and_a_model_are_scored_first():
    table = records(label=Y)
    plan = divulge.canaries.plan(table, count=200, id="id", seed=1)
    found = divulge.audit(plan.canaries(table), plan=plan, model=forest())
    assert found.game == "canaries"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "nothing to audit"),
        ({"data": {"x": [1.0, 2.0]}}, "does not say who is a member"),
        ({"data": {"member": [0, 1], "x": [1.0, 2.0]}}, "looks like a score"),
        ({"data": {"x": [1.0]}, "members": {"x": [1.0]}}, "not both"),
        ({"plan": "plan.json"}, "give one table"),
    ],
)
def test_what_is_missing_is_said(given, said):
    with pytest.raises(InputError, match=said):
        choose(**given)


def test_the_same_call_as_a_command():
    chosen = choose(scores())
    words = as_options(chosen)
    assert words[:2] == ["divulge", "membership"]
    assert words[words.index("--score") + 1] == "loss"
    assert "--truth" not in words
