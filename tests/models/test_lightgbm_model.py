"""LightGBM models from text files: the library's own probabilities, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from model_data import NAMES, check_audit, expected, losses, members, three_classes, two_classes

from divulge.errors import InputError
from divulge.models import load

lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is in the extra lightgbm")
pytestmark = pytest.mark.usefixtures("sound_files")
QUIET = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}


def saved(tmp_path, frame, features=NAMES, **options):
    seen = members(frame)
    booster = lightgbm.train(
        {**QUIET, **options}, lightgbm.Dataset(seen[features], seen["y"]), num_boost_round=6
    )
    booster.save_model(tmp_path / "model.txt")
    return booster, tmp_path / "model.txt"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sigmoid": 2.5},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"boosting": "dart"},
    ],
    ids=str,
)
def test_two_classes(tmp_path, options):
    frame = two_classes()
    booster, path = saved(tmp_path, frame, objective="binary", **options)
    p = booster.predict(frame[NAMES])
    own = expected(np.column_stack([1 - p, p]), frame["y"])
    read = load(path)
    assert losses(read, frame) == pytest.approx(own, rel=1e-6)
    if not options:
        check_audit(read, frame)


def test_three_classes(tmp_path):
    frame, names = three_classes(), NAMES[:4]
    booster, path = saved(tmp_path, frame, names, objective="multiclass", num_class=3)
    own = expected(booster.predict(frame[names]), frame["y"])
    assert losses(load(path), frame, names) == pytest.approx(own, rel=1e-6)


def test_columns_are_ordered_by_the_names_in_the_model(tmp_path):
    frame = two_classes().rename(columns={"x_0": "first one"})
    names = ["first one", *NAMES[1:]]
    _, path = saved(tmp_path, frame, names, objective="binary")
    read = load(path)
    assert np.array_equal(losses(read, frame, names[::-1]), losses(read, frame, names))
    with pytest.raises(InputError, match="no column 'x_3'"):
        losses(read, frame, names[:3])


def test_a_model_without_names_reads_by_position(tmp_path):
    frame = two_classes()
    data = lightgbm.Dataset(frame[NAMES].to_numpy(), frame["y"])
    booster = lightgbm.train({**QUIET, "objective": "binary"}, data, 3)
    booster.save_model(tmp_path / "model.txt")
    p = booster.predict(frame[NAMES].to_numpy())
    read = load(tmp_path / "model.txt")
    own = expected(np.column_stack([1 - p, p]), frame["y"])
    assert losses(read, frame) == pytest.approx(own, rel=1e-6)
    with pytest.raises(InputError, match="reads 5 features"):
        losses(read, frame, NAMES[:4])


def test_categories_are_those_of_the_model(tmp_path):
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 300)
    frame = pd.DataFrame({"c": words, "v": rng.normal(size=300), "member": 1})
    frame["y"] = (words == "b").astype(int)
    own = frame.astype({"c": "category"})
    booster, path = saved(tmp_path, own, ["c", "v"], objective="binary")
    p = booster.predict(own[["c", "v"]])
    assert np.ptp(p) > 0.1
    some = frame[frame["c"] != "a"].reset_index(drop=True)  # codes differ if one is missing
    want = expected(np.column_stack([1 - p, p]), frame["y"])[frame["c"] != "a"]
    assert losses(load(path), some, ["c", "v"]) == pytest.approx(want, rel=1e-6)
    with pytest.raises(InputError, match="1 columns of categories"):
        losses(load(path), frame.assign(c=1.0), ["c", "v"])


@pytest.mark.parametrize("objective", ["regression", "multiclassova", "poisson"])
def test_other_objectives_are_refused(tmp_path, objective):
    more = {"num_class": 2} if objective == "multiclassova" else {}
    _, path = saved(tmp_path, two_classes(), objective=objective, **more)
    with pytest.raises(InputError, match=f"trained for '{objective}'"):
        load(path)


def test_other_text_is_refused(tmp_path):
    (tmp_path / "model.txt").write_text("Dear auditor,")
    with pytest.raises(InputError, match="is not a LightGBM model"):
        load(tmp_path / "model.txt")
