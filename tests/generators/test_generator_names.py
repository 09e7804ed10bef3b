"""Generators by name."""

from __future__ import annotations

import pytest

from divulge.errors import InputError
from divulge.generators import DEFAULT, NAMES, by_name


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_its_generator(name):
    assert by_name(name).name == name
    assert by_name(name, filter_share=0.2).name == f"{name}, filtered"


def test_settings_reach_the_generator():
    assert by_name(DEFAULT, leaf=7).settings["leaf"] == 7
    assert by_name("trees", filter_share=0.2, leaf=7).settings["filter_share"] == 0.2


def test_the_label_reaches_the_generators_that_treat_it_apart():
    assert by_name("mixture", label="y").settings["label"] == "y"
    assert by_name("mixture", label="y", filter_share=0.2).settings["label"] == "y"
    assert by_name("trees", label="y").settings == by_name("trees").settings


def test_unknown_names():
    with pytest.raises(InputError, match="Did you mean 'trees'"):
        by_name("tree")
    with pytest.raises(InputError, match="has no setting 'leaves'"):
        by_name("trees", leaves=3)
    with pytest.raises(InputError, match="share must lie in"):
        by_name("trees", filter_share=-0.1)
