from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.trials import Trials, check_both_kinds


def test_a_bad_score_is_named_by_row():
    with pytest.raises(InputError, match="row 2"):
        Trials(np.array([1.0, 2.0, np.nan]), np.array([1.0, -1.0, 1.0]), np.zeros(3))
    with pytest.raises(InputError, match="inf"):
        Trials(np.array([np.inf, 2.0]), np.array([1.0, -1.0]), np.zeros(2))


def test_bad_truths_lengths_and_empty_tables_are_refused():
    with pytest.raises(InputError, match="non-member"):
        Trials(np.zeros(2), np.array([1.0, 0.0]), np.zeros(2))
    with pytest.raises(InputError, match="length"):
        Trials(np.zeros(2), np.array([1.0, -1.0]), np.zeros(3))
    with pytest.raises(InputError, match="no trials"):
        Trials(np.zeros(0), np.zeros(0), np.zeros(0))
    with pytest.raises(InputError, match="log_odds"):
        Trials(np.zeros(1), np.ones(1), np.array([np.inf]))


def test_one_class_only_is_refused_where_both_are_needed():
    with pytest.raises(InputError, match="no non-member"):
        check_both_kinds(np.ones(4))
    with pytest.raises(InputError, match="no member"):
        check_both_kinds(-np.ones(4))
