"""The same mistakes from Python: an InputError that says what is wrong, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import divulge
from divulge.errors import InputError

ROWS = 40
TABLE: dict[str, Any] = {
    "member": np.arange(ROWS) % 2,
    "loss": np.random.default_rng(0).random(ROWS),
    "x": np.random.default_rng(1).random(ROWS),
}
COUNTS = {
    "false_positives": [4],
    "negatives": [10],
    "false_negatives": [4],
    "positives": [10],
}
LABELS = {
    "y": np.arange(ROWS) % 2,
    "p_1": np.full(ROWS, 0.25),
    "q_1": np.full(ROWS, 0.5),
    "x": TABLE["x"],
}
RECORDS = {"a": TABLE["loss"], "b": TABLE["x"]}
CALLS: dict[str, Any] = {
    "membership": lambda **more: divulge.membership(TABLE, score="loss", **more),
    "attribute": lambda **more: divulge.attribute(LABELS, label="y", **more),
    "synthetic": lambda **more: divulge.synthetic(RECORDS, target_loss="a", **more),
    "retraining": lambda **more: divulge.retraining(COUNTS, **more),
    "plan": lambda **more: divulge.canaries.plan(RECORDS, count=20, strategy="random", **more),
    "leakage": lambda **more: divulge.leakage(RECORDS, reference=RECORDS, **more),
    "lineup": lambda **more: divulge.lineup(RECORDS, score=["a", "b"], truth="a", **more),
}


@pytest.mark.parametrize("seed", [-1, -(2**70), 1.5, "1", None, True, float("nan")])
@pytest.mark.parametrize(
    "call", ["membership", "attribute", "synthetic", "retraining", "plan", "lineup"]
)
def test_a_seed_is_a_whole_number_of_at_least_0(call, seed):
    if call == "plan" and seed is None:
        return
    with pytest.raises(InputError, match="seed must be a whole number of at least 0"):
        CALLS[call](seed=seed)


@pytest.mark.parametrize(
    "call", ["membership", "attribute", "synthetic", "retraining", "leakage", "lineup"]
)
@pytest.mark.parametrize("delta", [-1.0, 1.0, 2.0, float("nan"), float("inf")])
def test_a_delta_lies_between_0_and_1(call, delta):
    with pytest.raises(InputError, match="delta must lie in"):
        CALLS[call](deltas=(delta,))


@pytest.mark.parametrize(
    "table",
    [
        None,
        17,
        "nowhere.csv",
        "null\0byte.csv",
        b"bytes",
        [],
        {},
        {"member": [1, 0], "loss": [0.1]},
        {"member": 1, "loss": 2},
        {"member": [1, 0], "loss": [[[1]], [[2]]]},
        {"member": [1, 0], "loss": [object(), object()]},
        {"member": [1, 0], "loss": [10**400, 1]},
        {"member": [1, 0], "loss": [[1.0], [1.0, 2.0]]},
        {"member": [1, "0"], "loss": [{}, 3]},
        np.zeros(3),
        np.zeros((0, 0)),
        np.zeros((2, 2, 2)),
    ],
    ids=lambda table: repr(table)[:40],
)
def test_what_is_not_a_table(table):
    with pytest.raises(InputError):
        divulge.membership(table, score="loss")


def test_two_columns_of_one_name_in_pandas():
    import pandas as pd

    table = pd.DataFrame([[1, 0.5, 0.5], [0, 0.25, 0.5]], columns=["member", "loss", "loss"])
    with pytest.raises(InputError, match="loss"):
        divulge.membership(table, score="loss")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (lambda rows: 1 / 0, "the model failed on rows 0 to 39: ZeroDivisionError"),
        (lambda rows: sys.exit("enough"), "SystemExit: enough"),
        (lambda rows: ["a"] * len(rows), "number per row"),
        (object(), "predict_proba or a callable"),
    ],
)
def test_a_model_that_fails(model, says):
    with pytest.raises(InputError, match=says):
        divulge.membership(TABLE, model=model)


def test_the_error_of_a_model_is_kept_as_the_cause():
    def model(rows):
        raise LookupError("the weights are gone")

    with pytest.raises(InputError) as raised:
        divulge.membership(TABLE, model=model)
    assert isinstance(raised.value.__cause__, LookupError)


def test_an_interrupt_is_not_an_error_of_the_model():
    def model(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        divulge.membership(TABLE, model=model)


def test_measuring_with_a_negative_seed():
    with pytest.raises(InputError, match="seed"):
        divulge.retraining.measure(
            lambda data, seed: 0, np.zeros((3, 1)), np.zeros(1), loss=lambda m, r: 0.0, seed=-1
        )


def test_an_error_is_one_line_in_a_process_of_its_own(tmp_path):
    """No handler of pytest, no warning, no traceback: what a shell sees."""
    (tmp_path / "table.csv").write_bytes(b"member,loss\n1,caf\xe9\n0,0.5\n")
    words = [sys.executable, "-m", "divulge", "membership", "table.csv"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("divulge: table.csv is not UTF-8: byte 17, in line 2, is 0xe9.")
    assert len(done.stderr.splitlines()) == 1
