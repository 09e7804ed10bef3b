"""Recipes: what they draw, what they refuse, and what does not look drawn."""

from __future__ import annotations

import math
import re
import uuid
from datetime import date

import numpy as np
import pytest

from divulge.drawn.recipes import parse
from divulge.errors import InputError

DATES = "date:2020-01-01..2024-12-31"


@pytest.fixture
def colours(tmp_path):
    path = tmp_path / "colours.txt"
    path.write_text("red\ngreen\nblue\nlight blue\n")
    return f"choice:{path}"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("hex:32", 16**32),
        ("HEX:4", 16**4),
        ("digits:6", 10**6),
        ("uuid4", 2**122),
        ("UUID4", 2**122),
        (DATES, 1827),
        ("digits:1", 10),
        ("digits:2", 100),
    ],
)
def test_draws_are_of_their_own_form_and_do_not_look_suspicious(text, size, rng):
    recipe = parse(text)
    drawn = recipe.draw(500, rng)
    assert recipe.size == size
    assert [recipe.check(v) for v in drawn] == [None] * 500
    assert recipe.suspicious(drawn) is None
    assert drawn == parse(text).draw(500, np.random.default_rng(20240607))


def test_uuids_are_version_4(rng):
    assert {uuid.UUID(v).version for v in parse("uuid4").draw(50, rng)} == {4}
    assert {uuid.UUID(v).variant for v in parse("uuid4").draw(50, rng)} == {uuid.RFC_4122}


def test_dates_reach_both_ends(rng):
    drawn = parse("date:2024-02-28..2024-03-01").draw(100, rng)
    assert set(drawn) == {"2024-02-28", "2024-02-29", "2024-03-01"}


def test_choices_come_from_the_file(colours, rng):
    recipe = parse(colours)
    assert recipe.size == 4
    assert set(recipe.draw(100, rng)) == {"red", "green", "blue", "light blue"}
    assert recipe.check("light blue") is None


def test_a_permutation_is_of_the_same_items(rng):
    recipe = parse("permutation:, ")
    own = recipe.of("b, a, c, a")
    assert own.size == math.factorial(4) // 2
    drawn = own.draw(400, rng)
    assert {tuple(sorted(v.split(", "))) for v in drawn} == {("a", "a", "b", "c")}
    assert len(set(drawn)) == 12
    assert len(set(own.every())) == 12
    assert own.check("a, a, b, d") == "it does not hold the same items"
    assert "only one order" in recipe.check("a, a")


def test_own_functions(rng):
    recipe = parse("own_recipes:plates")
    drawn = recipe.draw(300, rng)
    assert (recipe.size, recipe.uniform, recipe.check(drawn[0])) == (None, False, None)
    assert recipe.suspicious(drawn) is None
    assert "character 1" in recipe.suspicious(["C" + v[1:] for v in drawn])


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("hex:8", "12ab", "4 characters instead of 8"),
        ("hex:4", "12AB", "'A' as character 3"),
        ("HEX:4", "12ab", "'a' as character 3"),
        ("digits:4", "12a4", "'a' as character 3"),
        ("uuid4", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "'1' as character 15 is not one of 4"),
        ("uuid4", "6ba7b810-9dad-41d1-c0b4-00c04fd430c8", "not one of 89ab"),
        (DATES, "2025-01-01", "not between"),
        (DATES, "2024-02-30", "not a date"),
        (DATES, "20240229", "not a date written"),
        ("permutation:,", "abc", "only one order"),
        ("own_recipes:plates", "", "empty"),
    ],
)
def test_says_why_a_value_is_not_of_the_form(text, value, reason):
    assert reason in parse(text).check(value)


def test_a_value_that_is_not_in_the_file(colours):
    assert "not one of the 4" in parse(colours).check("yellow")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hex", "length of 1 to"),
        ("base64:8", "Write a draw as"),
        ("hex:0", "length of 1 to"),
        ("hex:-3", "length of 1 to"),
        ("digits:" + "9" * 5000, "length of 1 to"),
        ("date:2020-01-01", "A draw of two days"),
        ("date:2020-01-02..2020-01-01", "A draw of two days"),
        ("date:x..y", "A draw of two days"),
        ("choice:nowhere.txt", "There is no file"),
        ("permutation:", "separator"),
        ("no_such_module:draw", "no module"),
        ("own_recipes:nothing", "no attribute"),
        ("own_recipes:something", "not a function"),
        ("a\nb", "Write a draw as"),
    ],
)
def test_bad_recipes(text, message):
    with pytest.raises(InputError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n", "at least two"),
        (b"one\n\ntwo\n", "Line 2"),
        (b"one\ntwo\none\n", "'one' twice"),
        (b"\xff\xfe\n", "not UTF-8"),
        (b"one\n" + b"x" * 2000, "longer than"),
    ],
)
def test_bad_lists_of_choices(content, message, tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        parse(f"choice:{path}")


def test_a_list_of_choices_has_a_budget(tmp_path, monkeypatch):
    path = tmp_path / "list.txt"
    path.write_text("one\ntwo\n")
    monkeypatch.setenv("DIVULGE_BUDGET", "1e-7")
    with pytest.raises(InputError, match="DIVULGE_BUDGET"):
        parse(f"choice:{path}")


@pytest.mark.parametrize("name", ["short", "numbers", "broken"])
def test_own_functions_that_do_not_draw(name, rng):
    with pytest.raises(InputError, match=r"must return|no entropy left"):
        parse(f"own_recipes:{name}").draw(3, rng)


def test_without_replacement(colours, rng):
    assert sorted(parse(colours).distinct(3, rng, {"red"})) == ["blue", "green", "light blue"]
    with pytest.raises(InputError, match="too few"):
        parse(colours).distinct(4, rng, {"red"})
    drawn = parse("digits:6").distinct(1000, rng, {"000000"})
    assert len(set(drawn)) == 1000
    counts = np.zeros(10)
    for _ in range(2000):
        for v in parse("digits:1").distinct(3, rng, {"7"}):
            counts[int(v)] += 1
    assert counts[7] == 0
    assert np.abs(np.delete(counts, 7) - 6000 / 9).max() < 130


def luhn(number: str) -> str:
    """A number with its check digit."""
    return next(
        number + d
        for d in "0123456789"
        if sum(
            sum(divmod(int(c) * (1 + k % 2), 10)) for k, c in enumerate(reversed(number + d))
        ) % 10 == 0
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("hex:8", lambda v: ["00" + x[2:] for x in v], "'0' is character"),
        ("digits:8", lambda v: [luhn(x[:7]) for x in v], "Luhn"),
        ("digits:8", lambda v: [f"{4_711 + k:08d}" for k in range(len(v))], "in 300|in 299"),
        ("digits:8", lambda v: [f"{97 * (int(x) // 100):08d}" for x in v], "97 leaves the rest 0"),
        (DATES, lambda v: [x for x in v if date.fromisoformat(x).weekday() < 5], "day of the week"),
        ("permutation:,", lambda v: [f"a{k},b{k},c{k}" for k in range(99)], "item"),
    ],
)
def test_values_that_were_not_drawn_so(text, values, reason, rng):
    recipe = parse(text)
    honest = ["x"] * 300 if text.startswith("perm") else recipe.draw(300, rng)
    found = recipe.suspicious(values(honest))
    assert found is not None
    assert re.search(reason, found)


def test_an_unequal_choice_is_suspicious(colours, rng):
    recipe = parse(colours)
    drawn = recipe.draw(400, rng)
    assert recipe.suspicious(drawn) is None
    assert "'red'" in recipe.suspicious([v if k % 2 else "red" for k, v in enumerate(drawn)])


def test_copies_are_no_evidence_against_the_draw(rng):
    recipe = parse("hex:16")
    assert recipe.suspicious(recipe.draw(3, rng) * 200) is None


def test_patterns_find_values_that_stand_alone(colours):
    for text, words, found in [
        ("digits:4", "pin 1234, 56789 and x9999", ["1234"]),
        ("uuid4", "id=6ba7b810-9dad-41d1-80b4-00c04fd430c8.", 1),
        (DATES, "born 2021-03-04.", ["2021-03-04"]),
        (colours, "a light blue car, reddish", ["light blue"]),
    ]:
        seen = re.findall(parse(text).pattern, words)
        assert seen == found or len(seen) == found
    assert parse("permutation:,").pattern is None
