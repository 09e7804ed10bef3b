"""The query string of an address is a secret: no message and no result repeats it."""

from __future__ import annotations

import pytest
from commands import run as divulge

from divulge.models import Source
from divulge.text import masking

SECRET = "s3cret"
WHERE = f"https://host.invalid/v1?key={SECRET}&more=s3%20cret#s3cret"


@pytest.mark.parametrize(
    "words",
    [
        ("score", "--model", WHERE, "--table", "out.parquet", WHERE),
        ("score", "--model", WHERE, "--with", "kind=skops", "--table", "o.csv", "--data", "t.csv"),
        ("score", "--model", WHERE.upper(), "--table", "o.csv", "--data", "t.csv"),
        ("score", "--model", "a:b", "--with", WHERE, "--table", "o.csv", "--data", "t.csv"),
        (
            "score",
            "--model",
            "a:b",
            "--with",
            f"key={SECRET}",
            "--table",
            "o.csv",
            "--data",
            "t.csv",
        ),
        ("score", "--model", "a:b", "--shadow", WHERE, "--table", "o.csv", "--data", "t.csv"),
        ("score", "--model", "a:b", "--shadow", f"https://h/v1?key={SECRET}", "--table", "o.csv"),
        ("score", "--model", "a:b", "--data", WHERE, "--table", "o.csv"),
        ("score", "--model", "a:b", "--data", "t.csv", "--table", WHERE),
        ("membership", WHERE),
        ("membership", f"https://host/t.csv?key={SECRET} s3cret"),
        ("membership", "t.csv", "--rows", WHERE),
        (WHERE,),
        (f"--{WHERE}",),
    ],
)
def test_no_message_repeats_the_query(tmp_path, words):
    (tmp_path / "t.csv").write_text("member,loss\n1,2\n0,3\n")
    done = divulge(*words, cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr
    assert "s3" not in (done.stderr + done.stdout).lower()


def test_a_source_does_not_show_its_query():
    source = Source(WHERE)
    assert "s3" not in repr(source)
    assert source.described() == {"name": "https://host.invalid/v1"}
    assert Source("https://h/v1#s3").described() == {"name": "https://h/v1"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("https://h/v1?a=1", "https://h/v1"),
        ("--model=HTTP://h?a b\nc", "--model=HTTP://h"),
        ("model.skops", "model.skops"),
        ("what?", "what?"),
    ],
)
def test_what_is_shown_of_a_word(text, left):
    assert masking.shown(text) == left
    assert left + masking.query(text) == text
