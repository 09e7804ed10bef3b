"""Crafted records: changed as said, in the place of originals that nobody trains on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from divulge import canaries
from divulge.errors import InputError


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 300)
    x = label + 0.01 * rng.normal(size=300)
    pixels = label[:, None] + np.zeros((300, 5))
    return pd.DataFrame(
        {
            "key": [f"r{i}" for i in range(300)],
            "x": x,
            "label": pd.Categorical.from_codes(label, ["a", "b", "c"]),
            "pixels": list(pixels),
        }
    )


@pytest.mark.parametrize("id", [None, "key"])
def test_mislabelled_canaries_differ_in_their_label_alone(data, id):
    made = canaries.plan(data, strategy="mislabelled", label="label", id=id, count=80, seed=0)
    shown = made.canaries(data).to_pandas()
    original = data.iloc[list(made.rows)].reset_index(drop=True)
    assert (shown["label"].astype(str) != original["label"].astype(str)).all()
    assert (shown["x"] == original["x"]).all()
    assert set(shown["label"]) == {"a", "b", "c"}
    assert list(shown["row" if id is None else "key"]) == list(made.ids)


def test_the_records_hold_included_canaries_and_no_original_of_one(data):
    made = canaries.plan(data, strategy="mislabelled", label="label", count=80, seed=0)
    train = made.records(data).to_pandas()
    shown = made.canaries(data).to_pandas()
    assert len(train) == 300 - 80 + sum(made.included)
    assert list(train.columns) == list(data.columns)
    found = train.set_index("key")["label"].astype(str)
    for key, label, inside in zip(shown["key"], shown["label"], made.included, strict=True):
        assert (key in found.index) == inside
        assert not inside or found[key] == label
    others = ~data["key"].isin(shown["key"])
    same = data[others].set_index("key")["label"].astype(str)
    assert (found[same.index] == same).all()


def test_out_of_distribution_canaries_break_what_belongs_together(data):
    made = canaries.plan(data, strategy="out-of-distribution", id="key", count=150, seed=0)
    shown = made.canaries(data).to_pandas()
    code = shown["label"].map({"a": 0, "b": 1, "c": 2}).astype(float)
    assert abs(np.corrcoef(code, shown["x"])[0, 1]) < 0.3
    assert np.ptp(np.array(shown["pixels"].to_list()), axis=1).mean() > 1.0
    assert set(shown["x"]) <= set(data["x"])
    part = canaries.plan(
        data, strategy="out-of-distribution", features=["x"], id="key", count=150, seed=0
    )
    some = part.canaries(data).to_pandas()
    original = data.iloc[list(part.rows)].reset_index(drop=True)
    assert (some["label"].astype(str) == original["label"].astype(str)).all()


def test_a_plan_does_not_depend_on_the_order_and_survives_its_file(data, tmp_path):
    made = canaries.plan(data, strategy="mislabelled", label="label", id="key", count=60, seed=2)
    mixed = data.sample(frac=1.0, random_state=0)
    again = canaries.plan(mixed, strategy="mislabelled", label="label", id="key", count=60, seed=2)
    assert made.ids == again.ids
    one, two = (p.canaries().to_pandas()["label"].astype(str) for p in (made, again))
    assert list(one) == list(two)
    files = {n: tmp_path / f"{n}.parquet" for n in ("records", "canaries")}
    canaries.write_plan(made, data, plan=tmp_path / "plan.json", **files)
    read = canaries.load(tmp_path / "plan.json")
    assert read.included == made.included
    with pytest.raises(InputError, match="written with the plan"):
        read.records(data)
    rng = np.random.default_rng(0)
    scores = {"key": made.ids, "loss": rng.normal(size=60) - 3.0 * np.array(made.included)}
    assert canaries.audit(read, scores).verdict.status == "leak"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"label": None}, "need the label"),
        ({"label": "none"}, "none"),
        ({"label": "key"}, "no label"),
        ({"count": 301}, "between 20 and the 300"),
        ({"features": ["x"]}, "features are of no use to mislabelled"),
        ({"strategy": "out-of-distribution", "label": None, "features": ["z"]}, "z"),
        ({"strategy": "wrong"}, "Unknown strategy 'wrong'"),
        ({"noise": 1.0}, "noise are of no use"),
    ],
)
def test_bad_plans_are_said(data, words, message):
    with pytest.raises(InputError, match=message):
        canaries.plan(data, **{"strategy": "mislabelled", "label": "label", "count": 60, **words})


def test_data_are_needed():
    with pytest.raises(InputError, match="give the data"):
        canaries.plan(strategy="mislabelled", label="y")
