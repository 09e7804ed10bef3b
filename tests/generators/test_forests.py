"""Forests grown apart, by any process, give the records that growing them in turn gave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from mixed_table import records
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from divulge.generators import trees as trees_
from divulge.generators.base import InPieces, Training, generate
from divulge.generators.encoding import columns_of, rebuild, smear, table_of
from divulge.generators.filter import Filtered
from divulge.generators.forests import apply, draw, nodes
from divulge.generators.mst import SpanningTree
from divulge.generators.trees import SequentialTrees, outcome, predictors
from divulge.work.pieces import Pieces

FAST = SequentialTrees(trees=3)
LEARNED = 8
"""Columns of the table besides the first and the constant one."""


def in_turn(generator, source, count, rng):
    """Column by column with scikit-learn's own trees, one random stream, nothing kept."""
    columns = columns_of(source)
    size = len(source)
    real, made = np.zeros((size, 0), np.float32), np.zeros((count, 0), np.float32)
    donors = []
    for column in columns:
        if not donors or np.unique(column.codes).size == 1:
            rows = rng.integers(0, size, count)
        else:
            target, rows = outcome(column), np.empty(count, np.intp)
            kind = DecisionTreeClassifier if target.ndim == 1 else DecisionTreeRegressor
            own = rng.integers(0, generator.trees, count)
            for number in range(generator.trees):
                chosen = np.flatnonzero(own == number)
                sample, seed = rng.integers(0, size, size), int(rng.integers(2**31))
                if chosen.size:
                    tree = kind(min_samples_leaf=generator.leaf, random_state=seed)
                    tree.fit(real[sample], target[sample])
                    uniforms = rng.random(chosen.size)
                    rows[chosen] = draw(tree.apply(real), tree.apply(made[chosen]), uniforms)
        donors.append(rows)
        block = predictors(column)
        real, made = np.hstack([real, block]), np.hstack([made, block[rows]])
    arrays = {}
    for column, rows in zip(columns, donors, strict=True):
        values = smear(column, column.codes[rows], rng) if column.kind == "number" else None
        arrays[column.name] = rebuild(column, rows, values)
    return table_of(source, arrays)


@pytest.mark.parametrize(
    ("generator", "count"),
    [(FAST, 400), (SequentialTrees(trees=2, leaf=1), 150), (SequentialTrees(trees=6), 4)],
)
def test_the_records_are_those_of_one_column_after_the_other(generator, count):
    source, first, second = records(300), np.random.default_rng(5), np.random.default_rng(5)
    made = generator.generate(source, count, first)
    assert made.to_arrow().equals(in_turn(generator, source, count, second).to_arrow())
    assert first.bit_generator.state == second.bit_generator.state


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_a_tree_as_an_array_finds_the_leaves_of_scikit_learn(kind, rng):
    x = rng.normal(size=(400, 3)).astype(np.float32)
    x[:, 2] = np.round(x[:, 2], 1)
    tree = kind(random_state=0).fit(x, np.round(x[:, 0] + x[:, 2] + rng.normal(size=400)))
    array = nodes(tree)
    edges = np.repeat(x, 3, axis=0)  # also values at a threshold and beside it
    edges[1::3, 0] = rng.choice(array["threshold"][array["feature"] == 0], 400)
    edges[2::3, 0] = np.nextafter(edges[1::3, 0], np.float32(9.0))
    assert np.array_equal(apply(array, edges), tree.apply(edges))
    stump = nodes(kind().fit(x, np.zeros(400)))
    assert np.array_equal(apply(stump, x), np.zeros(400))


def test_draws_stay_in_the_leaf(rng):
    real = np.array([7, 3, 7, 3, 9], np.uint8)
    made = np.array([3, 7, 9, 3] * 10)
    assert (real[draw(real, made, rng.random(40))] == made).all()


class Counted:
    """Growing, counted; it fails with the given call."""

    def __init__(self, monkeypatch, fails=-1):
        self.calls, self.fails, self.honest = 0, fails, trees_.grow
        monkeypatch.setattr(trees_, "grow", self)

    def __call__(self, *given):
        self.calls += 1
        if self.calls == self.fails:
            raise KeyboardInterrupt
        return self.honest(*given)


def kept(folder, told=None, generator=FAST, columns=None):
    progress = None if told is None else lambda *now: told.append(now)
    training = Training(pieces=Pieces.at(folder), progress=progress)
    source = records(300) if columns is None else records(300).select(*columns)
    return generate(generator, source, 200, np.random.default_rng(1), training).to_arrow()


def test_what_was_grown_is_not_grown_again(tmp_path, monkeypatch):
    expected = kept(None)
    with monkeypatch.context() as broken:
        Counted(broken, fails=4)
        with pytest.raises(KeyboardInterrupt):
            kept(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    count, told = Counted(monkeypatch), []
    assert kept(tmp_path, told).equals(expected)
    assert count.calls == LEARNED - 3
    assert told == [("forests", k, LEARNED) for k in range(1, LEARNED + 1)]
    assert kept(tmp_path).equals(expected)
    assert count.calls == LEARNED - 3


def test_a_damaged_forest_is_grown_again_and_no_other(tmp_path, monkeypatch):
    expected, count = kept(tmp_path), Counted(monkeypatch)
    victim = sorted(tmp_path.iterdir())[2]
    victim.write_bytes(victim.read_bytes()[:-9])
    assert kept(tmp_path).equals(expected)
    assert count.calls == 1
    assert kept(tmp_path).equals(expected)
    assert count.calls == 1


def test_a_forest_is_named_by_the_columns_it_saw_and_by_its_settings(tmp_path, monkeypatch):
    kept(tmp_path)
    names = records(300).columns
    count = Counted(monkeypatch)
    kept(tmp_path, columns=names[:5])
    assert count.calls == 0
    kept(tmp_path, columns=[names[1], names[0], *names[2:5]])
    assert count.calls == 4
    kept(tmp_path, generator=SequentialTrees(trees=3, leaf=9))
    assert count.calls == 4 + LEARNED


@pytest.mark.slow
def test_a_filtered_generator_is_trained_in_pieces_too(tmp_path, monkeypatch):
    generator = Filtered(FAST, 0.2)
    expected, count = kept(tmp_path, generator=generator), Counted(monkeypatch)
    assert kept(tmp_path, generator=generator).equals(expected)
    assert count.calls == 0
    plain = generator.generate(records(300), 200, np.random.default_rng(1))
    assert plain.to_arrow().equals(expected)


def test_other_generators_are_asked_as_a_whole():
    assert not isinstance(SpanningTree(), InPieces)

    class Same:
        name, settings = "same", {}

        def generate(self, source, count, rng):
            return source[:count]

    assert len(generate(Same(), records(50), 20, np.random.default_rng(0), Training())) == 20


SCRIPT = """
import sys, time
from test_forests import kept, trees_

grow = trees_.grow

def slow(*given):
    time.sleep(0.3)
    return grow(*given)

trees_.grow = slow
kept(sys.argv[1])
"""


@pytest.mark.slow
def test_a_kill_loses_at_most_the_forest_in_work(tmp_path, monkeypatch):
    here = Path(__file__).parent
    support = {"PYTHONPATH": os.pathsep.join([*sys.path, str(here.parent / "support")])}
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], cwd=here, env=os.environ | support
    )
    while run.poll() is None and len(list(tmp_path.glob("*.piece"))) < 2:
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    done = len(list(tmp_path.glob("*.piece")))
    assert 2 <= done < LEARNED
    expected, count = kept(None), Counted(monkeypatch)
    assert kept(tmp_path).equals(expected)
    assert count.calls == LEARNED - done
