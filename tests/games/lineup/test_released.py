"""Several versions of a document, one released by a fair draw: from scores and from texts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from commands import run

import divulge
from divulge.errors import InputError

ROWS, NAMES = 150, ("v_a", "v_b", "v_c")


def documents(rows=ROWS, seed=1):
    rng = np.random.default_rng(seed)
    forms = ("We met {} at noon.", "At noon we met {}.", "It was noon when {} was met.")
    table = {
        n: [f.format(f"Ann {k}") for k in range(rows)] for n, f in zip(NAMES, forms, strict=True)
    }
    return pd.DataFrame(table).assign(released=rng.choice(NAMES, rows))


def trained_on(data):
    return {data[name][row] for row, name in enumerate(data["released"])}


def remembers(texts, strength=3.0):
    """A loss that prefers short texts, and those that it was trained on."""

    def loss(rows):
        rng = np.random.default_rng(3)
        shown = rows["text"].to_pylist()
        seen = np.array([0.1 * len(t) - strength * (t in texts) for t in shown])
        return seen + rng.normal(size=len(shown))

    return loss


def audit(data, model, **more):
    given = {"versions": "v_*", "truth": "released", "attack": "loss", **more}
    return divulge.lineup(data, model=model, **given)


def test_a_model_that_knows_the_released_version_is_found():
    data = documents()
    found = audit(data, remembers(trained_on(data)))
    assert (found.verdict.status, found.verdict.robust) == ("leak", True)
    assert (found.trials["lineups"], found.trials["candidates"]) == (ROWS, 3)
    assert any("released" in a for a in found.bounds[0].assumptions)
    assert audit(data, remembers(set())).verdict.status == "no evidence"


def test_copies_are_groups_and_ranks_are_written(tmp_path):
    data = documents().assign(n=4, key=[f"k{i}" for i in range(ROWS)])
    model = remembers(trained_on(data))
    one, four = (
        audit(data, model),
        audit(data, model, copies="n", id="key", table=tmp_path / "r.csv"),
    )
    assert 0.0 < four.bounds[0].value < 0.5 * one.bounds[0].value
    assert set(pd.read_csv(tmp_path / "r.csv")["id"]) == set(data["key"])


def test_from_scores_with_a_column_that_names_the_released_one():
    rng = np.random.default_rng(0)
    score = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=[f"s_{n}" for n in "abc"])
    which = rng.integers(0, 3, ROWS)
    leak = score.to_numpy().copy()
    leak[np.arange(ROWS), which] += 2.0
    table = pd.DataFrame(leak, columns=score.columns).assign(released=score.columns[which])
    found = divulge.lineup(table, truth="released")
    assert (found.verdict.status, found.trials["candidates"]) == ("leak", 3)
    own = np.take_along_axis(leak, (which[:, None] + np.arange(3)) % 3, axis=1)
    plain = divulge.lineup({f"s_{j}": own[:, j] for j in range(3)})
    assert [b.value for b in found.bounds] == [b.value for b in plain.bounds]
    null = score.assign(released=score.columns[which])
    assert divulge.lineup(null, truth="released").verdict.status == "no evidence"
    table.loc[9, "released"] = "s_d"
    with pytest.raises(InputError, match=r"'released' .* Found 's_d' in row 9"):
        divulge.lineup(table, truth="released")


def test_a_column_that_is_always_released_makes_the_finding_fragile():
    """The original first, its paraphrases after it: such a model knows how originals read."""
    data = documents().assign(released="v_a")
    found = audit(data, remembers(set(data["v_a"])))
    assert not found.verdict.robust
    assert "v_a is the released version in 150 of 150 rows" in found.verdict.reasons[0]


def changed(row, **cells):
    data = documents()
    for name, cell in cells.items():
        data.loc[row, name] = cell
    return data


@pytest.mark.parametrize(
    ("data", "words", "message"),
    [
        (changed(7, v_b=documents()["v_a"][7]), {}, "Two versions in row 7 of the data are equal"),
        (changed(7, v_b=None), {}, r"'v_b' must hold text. Row 7"),
        (changed(7, released="v_z"), {}, r"Found 'v_z' in row 7"),
        (changed(7, released=None), {}, r"Found '(None|nan)' in row 7"),
        (documents(), {"truth": None}, "Which version was released"),
        (documents(), {"truth": "none"}, "no column 'none'"),
        (documents(), {"versions": "v_a"}, "at least 2 versions"),
        (documents(), {"versions": "w_*"}, "matches the pattern"),
        (documents(), {"draw": "hex:8"}, "draw cannot be used together with versions"),
        (documents().assign(n=0), {"copies": "n"}, "at least 1: .* Found 0 in row"),
        (documents(), {"attack": "lira_offline"}, "looks at all records"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_error(data, words, message):
    with pytest.raises(InputError, match=message):
        audit(data, remembers(set()), **words)


def test_versions_need_a_model_and_enough_rows():
    with pytest.raises(InputError, match="give a model"):
        divulge.lineup(documents(), versions="v_*", truth="released")
    assert audit(documents(10), remembers(set())).verdict.status == "cannot conclude"


def test_the_command(tmp_path, monkeypatch):
    data = documents()
    data.to_csv(tmp_path / "documents.csv", index=False)
    (tmp_path / "own_version_model.py").write_text(
        f"TEXTS = {trained_on(data)!r}\n"
        "def loss(rows):\n"
        "    return [-float(t in TEXTS) for t in rows['text'].to_pylist()]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = run(
        "lineup", "documents.csv", "--model", "own_version_model:loss", "--versions", "v_*",
        "--truth", "released", "--attack", "loss", "--no-cache", "--out", "r.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert divulge.Result.load(tmp_path / "r.json").verdict.status == "leak"
