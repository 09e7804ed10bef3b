from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from divulge.errors import InputError
from divulge.models import load

skops = pytest.importorskip("skops.io", reason="skops is in the extra models")


@pytest.fixture
def model():
    x = np.random.default_rng(0).normal(size=(50, 2))
    return LogisticRegression().fit(x, x[:, 0] > 0)


class Stranger(LogisticRegression):
    pass


def test_a_skops_file_is_loaded(tmp_path, model):
    path = tmp_path / "model.skops"
    skops.dump(model, path)
    again = load(path)
    assert np.array_equal(again.coef_, model.coef_)


def test_unknown_types_are_named_and_can_be_trusted(tmp_path, model):
    path = tmp_path / "model.skops"
    strange = Stranger()
    strange.__dict__.update(model.__dict__)
    skops.dump(strange, path)
    with pytest.raises(InputError, match=r"--trust \S*Stranger"):
        load(path)
    assert type(load(path, trust=[f"{Stranger.__module__}.Stranger"])) is Stranger


def test_pickle_is_refused_unless_allowed(tmp_path, model):
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    with pytest.raises(InputError, match="can run any code"):
        load(path)
    assert np.array_equal(load(path, allow_pickle=True).coef_, model.coef_)


@pytest.mark.parametrize("name", ["broken.skops", "broken.pkl"])
def test_a_damaged_file_is_one_error(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"not a model")
    with pytest.raises(InputError, match="Cannot load"):
        load(path, allow_pickle=True)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="no file"):
        load(tmp_path / "absent.skops")
    path = tmp_path / "model.bin"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="skops"):
        load(path)
