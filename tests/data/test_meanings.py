"""What a column's values mean: calendars, last digits, beginnings."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from divulge.data import meanings, tables
from divulge.data.features import encode


def read(found, what):
    return dict(found)[what]


def test_time_stamps_have_weekday_month_and_hour_in_every_unit(rng):
    seconds = np.sort(rng.uniform(1.5e9, 1.7e9, 500))
    times = [datetime.datetime.fromtimestamp(s, datetime.UTC) for s in seconds]
    for unit in meanings.UNITS:
        found = meanings.of_numbers(np.floor(seconds) * unit)
        hour = [t.hour for t in times]
        for what, wanted in (
            ("hour", hour),
            ("weekday", [(t.weekday() + 3) % 7 for t in times]),
            ("month", [t.month for t in times]),
        ):
            codes = read(found, what)
            pairs = set(zip(codes.tolist(), wanted, strict=True))
            assert len(pairs) == len(set(wanted)) == codes.max() + 1


def test_dates_without_a_time_have_no_hour():
    days = 86_400.0 * np.arange(16_000.0, 16_700.0)
    assert [what for what, _ in meanings.of_time(days)] == ["weekday", "month"]


def test_whole_numbers_with_many_values_have_last_digits_zeros_and_a_place_in_a_week():
    numbers = np.arange(1000.0, 2000.0)
    found = meanings.of_numbers(numbers)
    assert np.array_equal(read(found, "last digit"), numbers % 10)
    assert np.array_equal(read(found, "last two digits"), numbers % 100)
    zeros = read(found, "zeros at the end")
    assert zeros[[0, 1, 10, 100]].tolist() == [3, 0, 1, 2]
    assert np.unique(read(found, "place in a week")).size == 7
    assert meanings.of_numbers(numbers[:150]) == ()
    assert meanings.of_numbers(numbers + 0.5) == ()


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (["1970-01-02", None, "1970-01-01T01:00:00"], [86_400.0, np.nan, 3600.0]),
        (["1970-01-01T01:00:00+01:00"], [0.0]),
        (["1970-01-01", "soon"], None),
        (["19700101", "19700102"], None),
        (["12-34"], None),
        ([None, None], None),
    ],
)
def test_dates_as_text(words, seconds):
    found = meanings.seconds_of(words)
    if seconds is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, seconds)


def test_a_date_as_text_is_a_number_with_a_calendar_and_nothing_is_folded_away(rng):
    days = [
        datetime.date(2015, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 3000, 400)
    ]
    as_text = encode(tables.read({"d": [d.isoformat() for d in days]}), ["d"])
    as_dates = encode(tables.read({"d": days}), ["d"])
    np.testing.assert_allclose(as_text.matrix, as_dates.matrix)
    assert as_text.categories == as_dates.categories == ("d, weekday", "d, month")
    assert as_text.whole
    assert as_text.folded == ()


def test_missing_dates_are_a_level_of_their_own():
    words = [None, "2020-01-01", "2020-01-02", "2020-02-09"] * 20
    found = encode(tables.read({"d": words}), ["d"])
    assert found.names == ("d", "d is missing")
    assert np.unique(found.levels[:, 0]).size == 4


def test_codes_as_text_have_a_beginning_and_a_last_character(rng):
    area = rng.integers(0, 5, 600)
    words = np.array([f"{'ABCDE'[a]}X{k:04d}" for k, a in enumerate(area)])
    found = meanings.of_words(words)
    beginning = read(found, "beginning")
    assert np.unique(beginning).size <= 600 // meanings.OF_A_LEVEL
    assert all(np.unique(area[beginning == k]).size == 1 for k in np.unique(beginning))
    assert np.unique(read(found, "last character")).size == 10


def test_a_missing_number_is_a_level_of_its_own():
    amount = np.where(np.arange(900) % 9 == 0, np.nan, np.arange(900.0))
    found = encode(tables.read({"amount": amount}), ["amount"])
    place = found.categories.index("amount, last digit")
    assert found.levels is not None
    codes = found.levels[:, place]
    assert np.unique(codes[::9]).tolist() == [10]
    assert codes[1:9].tolist() == list(range(1, 9))
