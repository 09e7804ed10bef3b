"""CatBoost models from .cbm and JSON: the library's own probabilities, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from model_data import NAMES, check_audit, expected, losses, members, three_classes, two_classes

from divulge.errors import InputError
from divulge.models import load

catboost = pytest.importorskip("catboost", reason="catboost is in the extra catboost")
pytestmark = pytest.mark.usefixtures("sound_files")
QUIET = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


def saved(tmp_path, frame, features=NAMES, kind="cbm", label="y", **options):
    seen = members(frame)
    model = catboost.CatBoostClassifier(**QUIET, **options).fit(seen[features], seen[label])
    model.save_model(tmp_path / f"model.{kind}", format=kind)
    return model, tmp_path / f"model.{kind}"


@pytest.mark.parametrize("kind", ["cbm", "json"])
def test_two_classes(tmp_path, kind):
    frame = two_classes()
    model, path = saved(tmp_path, frame, kind=kind)
    own = expected(model.predict_proba(frame[NAMES]), frame["y"])
    read = load(path)
    assert read.classes == (0, 1)
    assert losses(read, frame) == pytest.approx(own, rel=1e-6)
    if kind == "cbm":
        check_audit(read, frame)


def test_classes_have_the_names_in_the_model(tmp_path):
    frame, names = three_classes(), NAMES[:4]
    codes = frame["y"].to_numpy()
    frame["y"] = np.array(["tulip", "rose", "lily"])[codes]
    model, path = saved(tmp_path, frame, names)
    read = load(path)
    assert read.classes == ("lily", "rose", "tulip")
    own = expected(model.predict_proba(frame[names]), 2 - codes)
    assert losses(read, frame, names) == pytest.approx(own, rel=1e-6)


def test_columns_are_ordered_by_the_names_in_the_model(tmp_path):
    frame = two_classes()
    _, path = saved(tmp_path, frame)
    read = load(path)
    assert np.array_equal(losses(read, frame, NAMES[::-1]), losses(read, frame))
    with pytest.raises(InputError, match="no column 'x_4'"):
        losses(read, frame, NAMES[:4])


def test_a_model_without_names_reads_by_position(tmp_path):
    frame = two_classes()
    model = catboost.CatBoostClassifier(**QUIET).fit(frame[NAMES].to_numpy(), frame["y"])
    model.save_model(tmp_path / "model.cbm")
    own = expected(model.predict_proba(frame[NAMES].to_numpy()), frame["y"])
    assert losses(load(tmp_path / "model.cbm"), frame) == pytest.approx(own, rel=1e-6)
    with pytest.raises(InputError, match="reads 5 features"):
        losses(load(tmp_path / "model.cbm"), frame, NAMES[:4])


@pytest.mark.parametrize("kind", ["cbm", "json"])
def test_categories_as_text_and_as_whole_numbers(tmp_path, kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "v": rng.normal(size=300),
            "c": rng.choice(["a", "b", "c"], 300),
            "n": rng.integers(0, 4, 300),
            "member": 1,
        }
    )
    frame["y"] = ((frame["c"] == "b") ^ (frame["n"] == 2)).astype(int)
    names = ["v", "c", "n"]
    model, path = saved(tmp_path, frame, names, kind, cat_features=["c", "n"])
    own = expected(model.predict_proba(frame[names]), frame["y"])
    assert losses(load(path), frame, ["n", "c", "v"]) == pytest.approx(own, rel=1e-6)
    with pytest.raises(InputError, match="'n' as categories"):
        losses(load(path), frame.assign(n=frame["n"] + 0.0), names)


def test_regressions_are_refused(tmp_path):
    frame = two_classes()
    model = catboost.CatBoostRegressor(**QUIET).fit(frame[NAMES], frame["y"])
    model.save_model(tmp_path / "model.cbm")
    with pytest.raises(InputError, match="trained for 'RMSE'"):
        load(tmp_path / "model.cbm")
