"""Scores from sequences of log-probabilities."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from divulge.attacks.tokens import compressed, min_k, sequence_features
from divulge.errors import InputError

LOGS = np.array([[-1.0, -5.0, -2.0, -2.0], [-3.0, -1.0, np.nan, np.nan]])


def test_min_k_takes_the_least_likely_tokens():
    assert min_k(LOGS) == pytest.approx([5.0, 3.0])
    assert min_k(LOGS, 0.5) == pytest.approx([3.5, 3.0])
    assert min_k(LOGS, 1.0) == pytest.approx([2.5, 2.0])
    with pytest.raises(InputError, match="share"):
        min_k(LOGS, 0.0)
    with pytest.raises(InputError, match="finite"):
        min_k(np.full((1, 3), np.nan))


def test_features_ignore_what_lies_beyond_the_end():
    found = sequence_features(LOGS, ["some text", "more"])
    assert found["loss"] == pytest.approx([2.5, 2.0])
    assert found["largest"] == pytest.approx([5.0, 3.0])
    assert found["early"] == pytest.approx([3.0, 3.0])
    assert found["late"] == pytest.approx([2.0, 1.0])
    assert found["spread"] == pytest.approx([1.5, 1.0])
    assert found["zlib"] == pytest.approx(compressed(LOGS, ["some text", "more"]))
    assert found["zlib"][1] == pytest.approx(4.0 / len(zlib.compress(b"more")))
    assert "zlib" not in sequence_features(LOGS)


def test_a_single_token_has_every_feature():
    assert all(np.isfinite(v).all() for v in sequence_features(np.array([[-1.0]])).values())
