"""Small images: whole numbers in the data's range that a classifier of digits can read."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators.copies import exact_copies, same_schema
from divulge.generators.images import PixelMixture, with_margins


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = {f"p_{j}": found.data[:, j].astype(np.uint8) for j in range(64)}
    return tables.read({**pixels, "digit": found.target.astype(str)})


def split(frame):
    table = frame.to_pandas()
    return table.drop(columns="digit").to_numpy(), table["digit"].to_numpy()


def test_digits_are_readable(digits):
    from sklearn.ensemble import RandomForestClassifier

    generator = PixelMixture(label="digit")
    made = generator.generate(digits, 600, np.random.default_rng(0))
    assert same_schema(digits, made) == []
    assert made.to_arrow().schema.equals(digits.to_arrow().schema)
    assert exact_copies(digits, made).size == 0
    x, y = split(made)
    assert x.max() <= 16
    forest = RandomForestClassifier(50, random_state=0).fit(*split(digits))
    assert forest.score(x, y) > 0.9


def test_the_seed_decides_and_rare_classes_are_kept(digits):
    rare = tables.read(digits.to_pandas().sort_values("digit")[170:700].reset_index(drop=True))
    first, second = (
        PixelMixture("digit", 10).generate(rare, 300, np.random.default_rng(2)) for _ in "ab"
    )
    assert first.to_arrow().equals(second.to_arrow())
    assert "0" in set(first["digit"].to_list())


def test_embeddings_in_one_column(rng):
    centre = rng.normal(size=(2, 6))[rng.integers(0, 2, 200)] * 5
    source = tables.read({"e": (centre + rng.normal(size=(200, 6))).astype(np.float32)})
    made = PixelMixture(components=6).generate(source, 50, rng)
    assert made.schema == source.schema
    assert {len(v) for v in made["e"].to_list()} == {6}


def test_margins_are_those_of_the_images(rng):
    images = np.column_stack([rng.normal(size=100), np.repeat([0.0, 1.0], [80, 20])])
    drawn = rng.normal(3.0, 2.0, size=(50, 2))
    found = with_margins(drawn, images)
    np.testing.assert_array_equal(found.argsort(axis=0)[:, 0], drawn.argsort(axis=0)[:, 0])
    assert (found[:, 1] == 0.0).sum() == 40
    assert found[:, 0].mean() == pytest.approx(images[:, 0].mean(), abs=0.05)


def test_few_records_and_one_pixel(rng):
    made = PixelMixture().generate(tables.read({"p": [0, 3, 3]}), 20, rng)
    assert set(made["p"].to_list()) <= {0, 3}


def test_refusals(rng):
    with pytest.raises(InputError, match="'w' does not hold numbers, so it is not a pixel"):
        PixelMixture().generate(tables.read({"p": [1, 2], "w": ["a", "b"]}), 2, rng)
    with pytest.raises(InputError, match="'p' has a missing value in row 1"):
        PixelMixture().generate(tables.read({"p": [1.0, None]}), 2, rng)
    with pytest.raises(InputError, match="no column 'y'"):
        PixelMixture("y").generate(tables.read({"p": [1, 2]}), 2, rng)
    with pytest.raises(InputError, match="every column is the label"):
        PixelMixture("y").generate(tables.read({"y": [1, 2]}), 2, rng)
    with pytest.raises(InputError, match="list of the same length"):
        PixelMixture().generate(tables.read(pl.DataFrame({"e": [[1.0], [1.0, 2.0]]})), 2, rng)
    with pytest.raises(InputError, match="components must be at least 1"):
        PixelMixture(components=0)
    with pytest.raises(InputError, match="mixture must be at least 1"):
        PixelMixture(mixture=0)


class Stopped(Exception):
    """The records were generated: nothing else is asked for."""


def test_the_audit_tells_a_generator_by_name_which_column_is_the_class(digits, monkeypatch):
    """Numbers as classes: without the label the class would be one more pixel."""
    from sklearn.ensemble import RandomForestClassifier

    from divulge.games.synthetic.play import synthetic

    generate, made = PixelMixture.generate, []

    def kept(self, *given):
        made.append(generate(self, *given))
        raise Stopped

    monkeypatch.setattr(PixelMixture, "generate", kept)
    x, y = split(digits)
    forest = RandomForestClassifier(50, random_state=0).fit(x, y.astype(int))
    members = {**{f"p_{j}": x[:, j] for j in range(64)}, "digit": y.astype(int)}
    with pytest.raises(Stopped):
        synthetic(members, model=forest, label="digit", generator="mixture")
    assert forest.score(*split(made[0])) > 0.9
