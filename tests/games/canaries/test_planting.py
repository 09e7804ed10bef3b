"""From a plan of planted line-ups to a result: what is written, what it proves, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import divulge
from divulge import canaries
from divulge.errors import InputError
from divulge.games.canaries.planting import LineUpPlan

TEMPLATE = "the code of {name} is {secret:digits:6}"


def planned(**words):
    given = {"lineup": 120, "template": TEMPLATE, "candidates": 8, "seed": 5, **words}
    data = given.pop("data", None)
    return canaries.plan(data, **given)


def frame(made):
    return made.canaries().to_arrow().to_pandas().reset_index(drop=True)


def texts(made, column="text"):
    return made.records().to_arrow()[column].to_pylist()


def heard(texts):
    """A loss that knows training texts by heart, with noise."""

    def loss(rows):
        rng = np.random.default_rng(1)
        shown = rows["text"].to_pylist()
        return np.array([-2.0 * (t in texts) for t in shown]) + rng.normal(size=len(shown))

    return loss


def scored(made, leak=2.0, seed=1):
    """Scores of all versions, in an order of their own."""
    rng = np.random.default_rng(seed)
    shown, trained = frame(made), set(texts(made))
    loss = rng.normal(size=len(shown)) - leak * shown["text"].isin(trained)
    table = pd.DataFrame({"version": shown["version"], "loss": loss})
    return table.sample(frac=1.0, random_state=seed)


@pytest.fixture(scope="module")
def made():
    return planned()


def test_the_training_texts_hold_the_secrets_and_the_versions_all_candidates(made):
    shown = frame(made)
    assert (len(made), made.candidates, len(shown)) == (120, 8, 960)
    assert list(shown.columns) == ["version", "text"]
    trained = texts(made)
    assert len(set(trained)) == 120
    of = shown.groupby(shown["version"].str.rsplit("-", n=1).str[0], sort=False)["text"]
    assert all(sum(t in set(trained) for t in own) == 1 for _, own in of)
    own = shown["text"].to_numpy().reshape(120, 8)
    assert {own[k, place] for k, place in enumerate(made.places)} == set(trained)


def test_the_audit_is_a_line_up(made):
    found = canaries.audit(made, scored(made))
    assert found.game == "lineup"
    assert (found.verdict.status, found.verdict.robust) == ("leak", True)
    assert (found.trials["lineups"], found.trials["candidates"]) == (120, 8)
    assert {b.standing for b in found.headline()} == {"proved"}
    assert any("the plan drew" in a for a in found.bounds[0].assumptions)
    assert found.diagnostics.planted.canaries == 120
    assert found.diagnostics.planted.template == TEMPLATE
    again = divulge.Result.from_json(json.loads(found.dumps()))
    assert again.diagnostics == found.diagnostics
    # the same scores, arranged by hand, prove the same
    loss = scored(made).set_index("version").loc[list(made.ids), "loss"].to_numpy()
    own = np.array(made.places)[:, None]
    places = (own + np.arange(8)) % 8
    wide = np.take_along_axis(-loss.reshape(120, 8), places, axis=1)
    by_hand = divulge.lineup({f"s_{j}": wide[:, j] for j in range(8)})
    for b in by_hand.bounds:
        same = next(x for x in found.bounds if (x.parameter, x.delta) == (b.parameter, b.delta))
        assert same.value == pytest.approx(b.value, abs=0.6)


def test_nothing_is_claimed_where_nothing_was_trained_on(made):
    found = canaries.audit(made, scored(made, leak=0.0))
    assert found.verdict.status == "no evidence"


def test_a_model_is_asked_about_every_version(made, tmp_path):
    found = canaries.audit(
        made, frame(made), model=heard(set(texts(made))), attack="loss", table=tmp_path / "r.csv"
    )
    assert found.verdict.status == "leak"
    assert "model" in found.provenance
    assert len(pd.read_csv(tmp_path / "r.csv")) == 120
    deaf = canaries.audit(made, frame(made), model=heard(set()), attack="loss")
    assert deaf.verdict.status == "no evidence"


def test_copies_are_a_group():
    three = planned(copies=3)
    assert pd.Series(texts(three)).value_counts().tolist() == [3] * 120
    one, group = canaries.audit(planned(), scored(planned())), canaries.audit(three, scored(three))
    assert group.trials["most_copies"] == 3
    epsilon = [r.bounds[0].value for r in (one, group)]
    assert 0.0 < epsilon[1] < 0.5 * epsilon[0]


def test_names_come_from_a_list_a_file_or_a_column(tmp_path):
    people = [f"Ann {chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(150)]
    (tmp_path / "names.txt").write_text("\n".join(people) + "\n")
    data = pd.DataFrame({"text": [f"I am {p}." for p in people], "who": people, "n": range(150)})
    for words in ({"names": people}, {"names": tmp_path / "names.txt"}):
        found = planned(**words)
        assert {t.split(" is ")[0].removeprefix("the code of ") for t in texts(found)} < set(people)
    found = planned(names="who", data=data)
    rows = found.records(data).to_arrow().to_pandas()
    assert len(rows) == 270
    added = rows[rows["n"].isna()]
    assert added["text"].str.contains("the code of Ann").all()
    assert rows[rows["n"].notna()]["text"].tolist() == data["text"].tolist()  # in their order
    assert 20 < np.mean(np.flatnonzero(rows["n"].isna())) < 250  # among them
    assert list(frame(found).columns) == ["version", "text"]


def table(rows=300):
    rng = np.random.default_rng(2)
    label = rng.integers(0, 4, rows)
    town = rng.choice(["here", "there", "nowhere"], rows)
    return pd.DataFrame({"x": rng.normal(size=rows), "label": label, "town": town})


@pytest.mark.parametrize("column", ["label", "town", "x"])
def test_a_column_of_a_table_is_drawn(column):
    data = table()
    made = planned(data=data, template=None, column=column, lineup=100)
    values = data[column].nunique()
    assert made.candidates == min(8, values)
    rows = made.records(data).to_arrow().to_pandas()
    assert rows.drop(columns=column).equals(data.drop(columns=column))
    assert rows[column].dtype == data[column].dtype
    changed = (rows[column] != data[column]).sum()
    assert changed <= 100
    assert changed > 50
    shown = frame(made)
    assert list(shown.columns) == ["version", *data.columns]
    assert len(shown) == 100 * made.candidates
    drawn = shown.iloc[np.arange(100) * made.candidates + np.array(made.places)]
    merged = drawn.merge(rows, on=list(data.columns))
    assert len(merged) >= 100  # every canary stands in the training records as it was drawn


def test_a_planted_label_is_given_away_by_a_forest():
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression

    data = table(400)
    made = planned(data=data, template=None, column="label", lineup=200)
    rows = made.records(data).to_arrow().to_pandas()
    words = {"features": "x", "label": "label"}
    forest = ExtraTreesClassifier(random_state=0).fit(rows[["x"]], rows["label"])
    line = LogisticRegression().fit(rows[["x"]], rows["label"])
    leak = canaries.audit(made, frame(made), model=forest, **words)
    assert leak.verdict.status == "leak"
    assert (leak.trials["lineups"], leak.trials["candidates"]) == (200, 4)
    assert canaries.audit(made, frame(made), model=line, **words).verdict.status == "no evidence"


def test_a_column_by_a_recipe(tmp_path):
    (tmp_path / "towns.txt").write_text("Rye\nBath\n")
    data = table()
    drawn = f"choice:{tmp_path / 'towns.txt'}"
    made = planned(data=data, template=None, column="town", draw=drawn, copies=2)
    rows = made.records(data).to_arrow()["town"].to_pylist()
    assert len(rows) == 300 + 120
    assert sum(t in ("Rye", "Bath") for t in rows) == 240
    with pytest.raises(InputError, match=r"'label' of the data holds int64: .* cannot stand in it"):
        planned(data=data, template=None, column="label", draw=drawn)


def test_a_plan_is_made_again_by_its_seed_and_by_nothing_else(made, tmp_path):
    assert planned() == made
    assert planned().records().to_arrow() == made.records().to_arrow()
    assert planned(seed=6).places != made.places
    assert planned(copies=2).ids != made.ids
    assert planned(seed=None).seed != planned(seed=None).seed
    shuffled = table().sample(frac=1.0, random_state=1)
    words = {"template": None, "column": "label"}
    one, two = planned(data=table(), **words), planned(data=shuffled, **words)
    assert frame(one).equals(frame(two))
    assert "seed" not in repr(made)
    made.save(tmp_path / "plan.json")
    loaded = canaries.load(tmp_path / "plan.json")
    assert isinstance(loaded, LineUpPlan)
    assert loaded == made
    assert "the code of canary" not in (tmp_path / "plan.json").read_text()
    with pytest.raises(InputError, match="holds no records"):
        loaded.records()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"places": [0] * 120}, "its secrets are not those of its seed"),
        ({"seed": 6}, "its secrets are not those of its seed"),
        ({"candidates": 1}, "damaged"),
        ({"schema": 9}, "schema 9"),
        ({"places": [True] * 120}, "damaged"),
        ({"copies": 0}, "damaged"),
    ],
)
def test_a_damaged_plan_is_refused(made, change, message):
    with pytest.raises(InputError, match=message):
        LineUpPlan.from_json({**made.to_json(), **change})


def test_writing_needs_a_place_for_the_versions(made, tmp_path):
    places = {"plan": tmp_path / "plan.json", "records": tmp_path / "t.csv"}
    with pytest.raises(InputError, match="Where shall all versions"):
        canaries.write_plan(made, **places)
    canaries.write_plan(made, canaries=tmp_path / "v.parquet", **places)
    with pytest.raises(InputError, match="exists already"):
        canaries.write_plan(made, canaries=tmp_path / "v.parquet", **places)
    audited = canaries.audit(tmp_path / "plan.json", scored(made))
    assert [i["name"] for i in audited.provenance["inputs"]] == ["plan.json", "scores"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"lineup": 5}, "at least 20"),
        ({"copies": 0}, "copies must be at least 1"),
        ({"candidates": 1}, "at least 2 candidates"),
        ({"column": "label"}, "either a template of its texts or the column"),
        ({"template": None}, "either a template of its texts or the column"),
        ({"template": None, "column": "label"}, "needs the data"),
        ({"template": None, "column": "none", "data": table()}, "no column 'none'"),
        ({"template": None, "column": "x", "data": table(50)}, "fewer than 120"),
        ({"template": "{secret:digits:99999}"}, "length"),
        ({"template": "{secret:digits:6}", "names": ["a"]}, "no field"),
        ({"names": ["a", "a"]}, "must not repeat"),
        ({"names": ["a", "b"]}, "holds 2 names, fewer than the 120"),
        ({"names": "nowhere.txt"}, "no file"),
        ({"draw": "hex:8"}, "The template names the draw"),
        ({"data": table()}, "no column 'text'"),
        ({"data": table().assign(text=1)}, "must hold text"),
        ({"data": table().assign(version=1)}, "column 'version': rename it"),
        ({"count": 100}, "count belong to coin flips"),
        ({"probability": 0.7}, "probability belong to coin flips"),
        ({"lineup": None, "data": table()}, "belong to planted line-ups: give lineup"),
        ({"template": "{name} {secret:digits:1}", "candidates": 4}, "lengthen the secret"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_words(words, message):
    with pytest.raises(InputError, match=message):
        planned(**words)


def test_bad_scores(made):
    good = scored(made)
    for bad, message in (
        (good[1:], "1 of 960 versions have no score"),
        (good.assign(loss=good["loss"].where(good.index != 7)), "finite"),
        (scored(planned(seed=6)), "960 of 960 versions have no score"),
        (pd.concat([good, good[:1]]), "twice"),
        (pd.concat([good, good[:1].assign(version="x")]), "not versions of the plan"),
        (good.drop(columns="version"), "no column 'version'"),
    ):
        with pytest.raises(InputError, match=message):
            canaries.audit(made, bad)
    with pytest.raises(InputError, match="cannot be used without a model"):
        canaries.audit(made, good, text="text")
    with pytest.raises(InputError, match="not both"):
        canaries.audit(made, frame(made), model=heard(set()), score="loss")
    flat = canaries.audit(made, good.assign(loss=np.repeat(np.arange(120.0), 8)[good.index]))
    assert flat.verdict.status == "cannot conclude"
    assert flat.game == "lineup"


def test_few_canaries_are_no_conclusion(made):
    few = replace(made, places=made.places[:10])
    found = canaries.audit(few, scored(made), ignore_others=True)
    assert (found.game, found.verdict.status) == ("lineup", "cannot conclude")


def test_coin_plans_take_no_model():
    plan = canaries.plan(table(), count=50, strategy="random", seed=1)
    with pytest.raises(InputError, match="divulge score"):
        canaries.audit(plan, table(), model=heard(set()))
