"""Canaries that hold a secret: what is planted, and that its place tells nothing."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.drawn import recipes
from divulge.errors import InputError
from divulge.games.canaries.planted import Template, plant, version_ids

TEMPLATE = "the code of {name} is {secret:digits:6}"
DIGITS = recipes.parse("digits:6")
KEY = bytes(32)


def test_a_template_names_its_draw():
    found = Template.parse(TEMPLATE + ", I repeat, {secret}.")
    assert (found.recipe, found.named) == ("digits:6", True)
    assert found.filled("123456", "Ann") == "the code of Ann is 123456, I repeat, 123456."
    assert Template.parse("{secret:date:2020-01-01..2024-12-31}").recipe.startswith("date:")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no secret", "once"),
        ("{secret}", "once"),
        ("{secret:hex:8} {secret:hex:8}", "once"),
        ("{secret:hex:8} {other}", "fields"),
        ("{secret:hex:8} }", "fields"),
        ("{name:x} {secret:hex:8}", "fields"),
    ],
)
def test_bad_templates(text, message):
    with pytest.raises(InputError, match=message):
        Template.parse(text)


def test_no_candidate_may_stand_in_the_rest_of_its_text():
    form = Template.parse("{name} 77 {secret:digits:2}")
    form.require_alone("x", ["12", "34"])
    for other in (["12", "77"], ["77", "12"]):  # the secret or not: it must not be told
        with pytest.raises(InputError, match="lengthen the secret"):
            form.require_alone("x", other)


def test_equal_keys_plant_equal_secrets():
    one = plant(DIGITS, 20, 8, KEY)
    assert one == plant(DIGITS, 20, 8, KEY)
    other = plant(DIGITS, 20, 8, bytes([1] * 32))
    assert not set(one.secrets) & set(other.secrets)
    assert one.places != other.places
    assert one.secrets[0] not in repr(one)


def test_secrets_stand_among_distinct_candidates():
    found = plant(DIGITS, 20, 8, KEY)
    assert len(found) == 20
    assert len({c for own in found.candidates for c in own}) == 160
    for secret, own, place in zip(found.secrets, found.candidates, found.places, strict=True):
        assert own[place] == secret
        assert list(own) == sorted(own)


def test_few_values_are_shared_between_canaries():
    found = plant(recipes.one_of("arms", ["a", "b", "c"]), 50, 32, KEY)
    assert set(found.candidates) == {("a", "b", "c")}
    assert set(found.secrets) == {"a", "b", "c"}


def test_every_place_is_equally_likely():
    found = plant(DIGITS, 4000, 8, KEY)
    assert np.abs(np.bincount(found.places, minlength=8) - 500).max() < 90


def test_what_is_drawn_does_not_depend_on_the_place():
    """The candidates of a canary come before its secret: no value is true more often."""
    found = plant(recipes.parse("own_recipes:plates"), 300, 4, KEY)
    smaller = np.mean([p < 2 for p in found.places])
    assert 0.4 < smaller < 0.6


def test_versions_have_names_of_their_own_plan():
    ids = version_ids(KEY, 20, 8)
    assert len(set(ids)) == 160
    assert not set(ids) & set(version_ids(bytes([1] * 32), 20, 8))


@pytest.mark.parametrize(
    ("recipe", "count", "candidates", "message"),
    [
        ("digits:6", 0, 4, "at least one"),
        ("digits:6", 5, 1, "at least 2"),
        ("permutation:,", 5, 4, "cannot be planted"),
        ("own_recipes:few", 50, 4, "too few different values"),
    ],
)
def test_bad_plans(recipe, count, candidates, message):
    with pytest.raises(InputError, match=message):
        plant(recipes.parse(recipe), count, candidates, KEY)
