"""Canaries that hold a secret: what is planted, and that its place tells nothing."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.games.canaries.planted import Template, plant, versions

TEMPLATE = "the code of {name} is {secret:digits:6}"
NAMES = [f"person {k}" for k in "abcdefghijklmnopqrst"]


def digits(count, rng):
    return [f"{n:06d}" for n in rng.integers(0, 10**6, count)]


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


def test_equal_seeds_plant_equal_secrets():
    one = plant(TEMPLATE, NAMES, digits, candidates=8, seed=5)
    assert one == plant(TEMPLATE, NAMES, digits, candidates=8, seed=5)
    assert one.secrets != plant(TEMPLATE, NAMES, digits, candidates=8, seed=6).secrets
    other = plant(TEMPLATE, NAMES[::-1], digits, candidates=8, seed=5)
    assert not set(one.secrets) & set(other.secrets)  # other data never share their secrets
    drawn = [plant(TEMPLATE, NAMES, digits, candidates=8, seed=None) for _ in range(2)]
    assert drawn[0].seed != drawn[1].seed


def test_secrets_stand_among_distinct_candidates():
    found = plant(TEMPLATE, NAMES, digits, candidates=8, seed=5)
    assert len(found) == 20
    assert len({c for own in found.candidates for c in own}) == 160
    for text, secret, own, name in zip(
        found.texts, found.secrets, found.candidates, NAMES, strict=True
    ):
        assert text == f"the code of {name} is {secret}"
        assert secret in own
        assert list(own) == sorted(own)
    every = versions(found, TEMPLATE, NAMES)
    assert all(t in own and len(own) == 8 for t, own in zip(found.texts, every, strict=True))
    assert found.secrets[0] not in repr(found)


def test_every_place_is_equally_likely():
    found = plant("{secret:digits:6}", 4000, digits, candidates=8, seed=1)
    places = [own.index(s) for own, s in zip(found.candidates, found.secrets, strict=True)]
    assert np.abs(np.bincount(places, minlength=8) - 500).max() < 90


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"names": 5}, "give the names"),
        ({"names": []}, "at least one"),
        ({"names": ["a", "a"]}, "name of its own"),
        ({"template": "{secret:digits:6}"}, "no field"),
        ({"candidates": 1}, "at least 2"),
        ({"draw": lambda count, rng: ["1", "2"] * count}, "too few values"),
        ({"template": "{name} 0123456789{secret:digits:6}"}, "lengthen the secret"),
    ],
)
def test_bad_plans(words, message):
    one = {"draw": lambda count, rng: list("0123456789") * count} if "lengthen" in message else {}
    given = {"template": TEMPLATE, "names": ["a", "b"], "draw": digits, "candidates": 4, "seed": 1}
    with pytest.raises(InputError, match=message):
        plant(**{**given, **one, **words})
