"""XGBoost models from JSON and UBJSON: the library's own probabilities, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from model_data import NAMES, check_audit, expected, losses, members, three_classes, two_classes

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import load

xgboost = pytest.importorskip("xgboost", reason="xgboost is in the extra xgboost")
pytestmark = pytest.mark.usefixtures("sound_files")


def trained(frame, features=NAMES, **options):
    seen = members(frame)
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, **options)
    return model.fit(seen[features], seen["y"])


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_two_classes_from_the_file_to_the_verdict(tmp_path, suffix):
    frame = two_classes()
    model = trained(frame)
    model.save_model(tmp_path / f"model.{suffix}")
    read = load(tmp_path / f"model.{suffix}")
    own = expected(model.predict_proba(frame[NAMES]), frame["y"])
    assert losses(read, frame) == pytest.approx(own, abs=1e-5)
    if suffix == "ubj":
        check_audit(read, frame)


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_three_classes(tmp_path, objective):
    frame, names = three_classes(), NAMES[:4]
    model = trained(frame, names, objective=objective)
    model.save_model(tmp_path / "model.ubj")
    model.set_params(objective="multi:softprob")
    own = expected(model.predict_proba(frame[names]), frame["y"])
    assert losses(load(tmp_path / "model.ubj"), frame, names) == pytest.approx(own, abs=1e-5)


@pytest.mark.parametrize(
    ("booster", "in_place"), [("gbtree", True), ("dart", False), ("gblinear", False)]
)
def test_an_array_is_read_in_place_by_trees_alone(tmp_path, booster, in_place):
    frame = two_classes()
    given = {"booster": booster, "objective": "binary:logistic", "nthread": 1}
    rows = frame[NAMES].to_numpy(copy=True)
    trained = xgboost.train(given, xgboost.DMatrix(rows, frame["y"]), 3)
    rows[::7, 1] = np.nan
    trained.save_model(tmp_path / "model.ubj")
    read = load(tmp_path / "model.ubj")
    assert read.in_place == in_place
    margins = trained.predict(xgboost.DMatrix(rows), output_margin=True).astype(float)
    found = read.ask(tables.read(rows)).log_probabilities
    np.testing.assert_array_equal(found[:, 1], -np.logaddexp(0.0, -margins))


def test_margins_keep_what_probabilities_round_away(tmp_path):
    x = np.r_[-np.ones(50), np.ones(50)]
    frame = pd.DataFrame({"x": x, "y": (x > 0).astype(int)})
    data = xgboost.DMatrix(frame[["x"]], frame["y"])
    booster = xgboost.train({"objective": "binary:logistic", "eta": 15.0, "lambda": 0.0}, data, 1)
    booster.save_model(tmp_path / "model.ubj")
    margins = booster.predict(data, output_margin=True).astype(float)
    assert np.abs(margins).min() > 17.0  # 1 - p is zero in the library's single precision
    found = losses(load(tmp_path / "model.ubj"), frame, ["x"])
    assert found == pytest.approx(np.log1p(np.exp(-np.abs(margins))), rel=1e-9)
    assert (found > 0.0).all()


def test_columns_are_ordered_by_the_names_in_the_model(tmp_path):
    frame = two_classes()
    trained(frame).save_model(tmp_path / "model.ubj")
    read = load(tmp_path / "model.ubj")
    mixed = losses(read, frame, [*NAMES[::-1], "member"])
    assert np.array_equal(mixed, losses(read, frame))
    with pytest.raises(InputError, match="no column 'x_2'"):
        losses(read, frame, [n for n in NAMES if n != "x_2"])


def test_a_model_without_names_reads_by_position(tmp_path):
    frame = two_classes()
    seen = members(frame)
    model = xgboost.XGBClassifier(n_estimators=4).fit(seen[NAMES].to_numpy(), seen["y"])
    model.save_model(tmp_path / "model.ubj")
    read = load(tmp_path / "model.ubj")
    own = expected(model.predict_proba(frame[NAMES].to_numpy()), frame["y"])
    assert losses(read, frame) == pytest.approx(own, abs=1e-5)
    with pytest.raises(InputError, match=r"reads 5 features\. Found 4"):
        losses(read, frame, NAMES[:4])
    lists = tables.read({"x": frame[NAMES].to_numpy(), "y": frame["y"].to_numpy()})
    assert losses(read, lists, ["x"]) == pytest.approx(own, abs=1e-5)


def test_early_stopping_means_the_best_iteration(tmp_path):
    frame = two_classes()
    seen, rest = members(frame), frame[frame["member"] == 0]
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=3, learning_rate=0.9)
    model.fit(seen[NAMES], seen["y"], eval_set=[(rest[NAMES], rest["y"])], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    model.save_model(tmp_path / "model.ubj")
    own = expected(model.predict_proba(frame[NAMES]), frame["y"])
    assert losses(load(tmp_path / "model.ubj"), frame) == pytest.approx(own, abs=1e-5)


def test_categories_are_those_of_the_model(tmp_path):
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c"], 200)
    frame = pd.DataFrame({"c": words, "v": rng.normal(size=200)})
    frame["y"] = ((words == "b") ^ (frame["v"] > 0)).astype(int)
    own = frame.astype({"c": "category"})
    model = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True)
    model.fit(own[["c", "v"]], own["y"]).save_model(tmp_path / "model.ubj")
    some = frame[frame["c"] != "a"].reset_index(drop=True)  # codes differ if one is missing
    probabilities = model.predict_proba(own.loc[frame["c"] != "a", ["c", "v"]])
    found = losses(load(tmp_path / "model.ubj"), some, ["c", "v"])
    assert found == pytest.approx(expected(probabilities, some["y"]), abs=1e-5)


@pytest.mark.parametrize("objective", ["reg:squarederror", "rank:ndcg", "binary:hinge"])
def test_other_objectives_are_refused(tmp_path, objective):
    frame = two_classes()
    data = xgboost.DMatrix(frame[NAMES], frame["y"])
    data.set_group([len(frame)])
    booster = xgboost.train({"objective": objective}, data, 2)
    booster.save_model(tmp_path / "model.json")
    with pytest.raises(InputError, match=f"trained for '{objective}'"):
        load(tmp_path / "model.json")


def test_the_old_binary_format_is_refused(tmp_path):
    (tmp_path / "model.deprecated").write_bytes(b"binf")
    with pytest.raises(InputError, match="ubj"):
        load(tmp_path / "model.deprecated")
    (tmp_path / "model.ubj").write_bytes(b"binf" + bytes(100))
    with pytest.raises(InputError, match="neither JSON nor UBJSON"):
        load(tmp_path / "model.ubj")
