"""``Retry-After``: seconds or a date, from a server that may say anything."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from divulge.models.transport import _seconds


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), (" 2 ", 2.0)])
def test_seconds(text, seconds):
    assert _seconds(text) == seconds


def test_a_date():
    soon = _seconds(format_datetime(datetime.now(UTC) + timedelta(seconds=90)))
    assert soon is not None
    assert 60.0 < soon <= 90.0
    assert _seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "Wed, 99 Oct 2015 07:28:00 GMT",
        "Wed, 21 Oct 99999 07:28:00 GMT",
        "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
        "Wed, 21 Oct 2015 99:99:99 GMT",
        "Wed, 21 Oct 2015 07:28:00 +999999",
        "Wed, 21 Oct 2015 07:28:00 -99999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 -2359",
        "Sat, 01 Jan 0001 00:00:00 +2359",
        "Mon, 01 Jan 0000 00:00:00 GMT",
        ",,,,",
        "1 2 3 4 5 6 7",
        "9" * 5000 + " GMT",
        "\x00",
    ],
)
def test_an_absurd_date_is_no_date(text):
    found = _seconds(text)
    assert found is None or found >= 0.0
