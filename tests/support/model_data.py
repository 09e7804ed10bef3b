"""Small tables that ship with scikit-learn, and the audit that every kind of model goes through."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_iris

import divulge
from divulge.attacks import scoring
from divulge.data import tables

NAMES = [f"x_{j}" for j in range(5)]


def two_classes() -> pd.DataFrame:
    """Digits: the first five components, labels above and below 5, half of the rows members."""
    x, y = load_digits(return_X_y=True)
    rows = (x - x.mean(axis=0)) @ np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][:5].T
    frame = pd.DataFrame(rows[:1000], columns=NAMES)
    return frame.assign(y=(y[:1000] > 4).astype(int), member=np.arange(1000) % 2)


def three_classes() -> pd.DataFrame:
    x, y = load_iris(return_X_y=True)
    return pd.DataFrame(x, columns=NAMES[:4]).assign(y=y, member=np.arange(150) % 2)


def members(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["member"] == 1]


def losses(model, frame, features=NAMES):
    return scoring.losses(model, tables.read(frame), features, "y", "the table")


def expected(probabilities, labels):
    """The loss that a library's own probabilities come to."""
    p = np.asarray(probabilities, dtype=float)
    return -np.log(p[np.arange(len(p)), np.asarray(labels, dtype=int)])


def check_audit(model, frame, features=NAMES):
    """A model goes through the membership game like any other score."""
    known = frame.assign(coin=0.5)  # members were chosen without regard to anything
    result = divulge.membership(
        known, model=model, label="y", features=features, propensity="coin", corrections=("none",)
    )
    assert result.verdict.status in ("leak", "no evidence")
    assert result.trials["members"] > 0
    return result
