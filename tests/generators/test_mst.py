"""MST: bins, tree and noise by hand; the whole where mbi is installed."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pytest
from mixed_table import frame, records

from divulge.data import tables
from divulge.errors import InputError, MissingExtra
from divulge.generators.copies import same_schema
from divulge.generators.encoding import columns_of
from divulge.generators.mst import SpanningTree, cut, spanning_tree, walk, zero_concentrated


def test_rho_converts_back_to_epsilon():
    rho = zero_concentrated(1000.0, 1e-9)
    assert rho + 2.0 * math.sqrt(rho * math.log(1e9)) == pytest.approx(1000.0)


def test_bins(rng):
    values = np.concatenate([np.zeros(100), rng.normal(5.0, 1.0, 300), [np.nan] * 20])
    bins = cut(columns_of(tables.read({"x": values}))[0], 10)
    counts = np.bincount(bins.codes, minlength=bins.size)
    assert bins.codes.max() == bins.size - 1
    assert counts[-1] == 20
    assert 100 in counts
    assert counts[counts != 100].max() <= 45
    filled = bins.fill(bins.codes, rng)
    again = cut(columns_of(tables.read({"x": filled}))[0], 10)
    assert np.isnan(filled.to_numpy()[-20:]).all()
    assert (filled.to_numpy()[:100] == 0.0).all()
    assert abs(again.size - bins.size) <= 2


def test_the_tree_joins_what_depends(rng):
    a = rng.integers(0, 4, 2000)
    b = rng.integers(0, 4, 2000)
    data = np.column_stack([a, b, a, (b + (rng.random(2000) < 0.1)) % 4])
    noisy = [np.bincount(data[:, j], minlength=4).astype(float) for j in range(4)]
    edges = spanning_tree(data, [4] * 4, noisy, 100.0, rng)
    assert len(edges) == 3
    assert {(0, 2), (1, 3)} <= set(edges)


def test_walking_the_tree_gives_its_marginals(rng):
    joint = np.array([[40.0, 0.0], [10.0, 50.0]])
    codes = walk({(0, 1): joint, (2, 1): joint[::-1]}, [2, 2, 2], 20_000, rng)
    found = np.bincount(codes[:, 0] * 2 + codes[:, 1], minlength=4) / 20_000
    np.testing.assert_allclose(found, joint.ravel() / 100.0, atol=0.02)
    assert (codes[codes[:, 1] == 0, 2] == 1).mean() == pytest.approx(0.8, abs=0.02)


def test_settings():
    assert SpanningTree().settings["epsilon"] == 1000.0
    with pytest.raises(InputError, match="epsilon must be above 0"):
        SpanningTree(epsilon=0.0)
    with pytest.raises(InputError, match="bins must be at least 2"):
        SpanningTree(bins=1)
    with pytest.raises(InputError, match="steps must be at least 1"):
        SpanningTree(steps=0)
    with pytest.raises(InputError, match="delta must lie in"):
        SpanningTree(delta=0.0)


def test_one_column_needs_no_tree(rng):
    made = SpanningTree().generate(tables.read({"x": ["a", "b", "b", "b"] * 50}), 400, rng)
    assert (np.array(made["x"].to_list()) == "b").mean() == pytest.approx(0.75, abs=0.1)


@pytest.mark.skipif(importlib.util.find_spec("mbi") is not None, reason="mbi is installed")
def test_without_the_library(rng):
    with pytest.raises(MissingExtra, match=r"divulge\[generators\]"):
        SpanningTree().generate(records(60), 5, rng)


def test_form_and_marginals():
    pytest.importorskip("mbi", reason="needs the extra generators")
    generator = SpanningTree(bins=8, steps=100)
    source = records(400).select("age", "income", "town")
    made, again = (generator.generate(source, 500, np.random.default_rng(1)) for _ in "ab")
    assert made.to_arrow().equals(again.to_arrow())
    assert made.to_arrow().schema.equals(source.to_arrow().schema.remove_metadata())
    assert same_schema(source, made) == []
    old, new = frame(400), made.to_pandas()
    assert new["town"].isna().mean() == pytest.approx(old["town"].isna().mean(), abs=0.08)
    assert new["age"].mean() == pytest.approx(old["age"].mean(), abs=4.0)
    np.testing.assert_allclose(new["income"] * 100, np.rint(new["income"] * 100), atol=1e-6)
