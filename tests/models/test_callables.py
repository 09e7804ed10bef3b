"""Models that are named as module:name."""

from __future__ import annotations

import numpy as np
import own_models
import pytest
from model_data import NAMES, check_audit, expected, losses, two_classes

from divulge.errors import InputError
from divulge.models import Source, load


def test_a_function_of_losses():
    frame = two_classes()
    read = Source("own_models:losses").open()
    assert read.gives == "losses"
    assert losses(read, frame) == pytest.approx((frame["x_0"] - 1.0) ** 2)


def test_a_function_of_probabilities_is_recognised_by_its_first_answer():
    frame = two_classes()
    read = Source("own_models:probabilities").open()
    own = expected(own_models.probabilities(frame), frame["y"])
    assert losses(read, frame) == pytest.approx(own)
    assert read.gives == "probabilities"
    check_audit(read, frame)


def test_a_function_may_say_what_it_gives_and_name_its_classes():
    frame = two_classes()
    frame["y"] = np.where(frame["y"] == 1, "high", "low")
    read = Source("own_models:declared").open()
    assert (read.gives, read.classes) == ("probabilities", ("low", "high"))
    own = expected(own_models.probabilities(frame), frame["y"] == "high")
    assert losses(read, frame) == pytest.approx(own)
    with pytest.raises(InputError, match="'losses' or 'probabilities'"):
        _ = Source("own_models:strange").open().gives


@pytest.mark.parametrize("name", ["Shelf.model"])
def test_an_object_with_predict_proba(name):
    frame = two_classes()
    read = Source(f"own_models:{name}").open()
    own = expected(own_models.probabilities(frame), frame["y"])
    assert losses(read, frame) == pytest.approx(own)
    assert losses(load(f"own_models:{name}"), frame, NAMES) == pytest.approx(own)


def test_a_module_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def f(rows):\n    return rows['x_0'] * 0 + 2\n")
    monkeypatch.chdir(tmp_path)
    assert (losses(load("only_here:f"), two_classes()) == 2).all()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("own_models:absent", "no attribute 'absent'"),
        ("no_such_module:f", "no module 'no_such_module'"),
        ("own_models:NUMBER", "object with predict_proba or a callable"),
        ("broken_module:f", "Cannot import broken_module: ZeroDivisionError"),
    ],
)
def test_what_is_not_there_is_named(where, message, tmp_path, monkeypatch):
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        Source(where).open()
