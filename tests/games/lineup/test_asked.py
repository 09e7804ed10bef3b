"""Line-ups from a model and the recipe of the draw: from records to a result."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from commands import run

import divulge
from divulge.drawn.recipes import parse
from divulge.errors import InputError

KEYS = parse("hex:12").draw(80, np.random.default_rng(3))


def letters() -> pd.DataFrame:
    return pd.DataFrame({"text": [f"Letter {i}: the key is {k}." for i, k in enumerate(KEYS)]})


def remembers(rows):
    """The loss of a model that knows the first 60 keys by heart, and likes the letter a."""
    texts = rows["text"].to_pylist()
    return np.array([0.1 * t.count("a") - 3.0 * any(k in t for k in KEYS[:60]) for t in texts])


def knows_nothing(rows):
    return np.array([0.1 * t.count("a") for t in rows["text"].to_pylist()])


def audit(model, data=None, **more):
    given = {"text": "text", "draw": "hex:12", "attack": "loss", "candidates": 8, **more}
    return divulge.lineup(letters() if data is None else data, model=model, **given)


def test_a_model_that_remembers_is_found_without_any_non_member():
    found = audit(remembers)
    assert found.verdict.status == "leak"
    assert found.verdict.robust
    assert found.trials["lineups"] == 80
    assert found.trials["candidates"] == 8
    assert found.measurements["top_1"] > 0.7
    assert {b.standing for b in found.headline()} == {"proved"}
    assert any("salted" in a for b in found.bounds for a in b.assumptions)
    assert "model" in found.provenance


def test_a_model_that_knows_the_population_is_not():
    assert audit(knows_nothing).verdict.status == "no evidence"


def test_the_order_of_the_records_does_not_matter():
    there = letters().sample(frac=1.0, random_state=1).reset_index(drop=True)
    first, second = audit(remembers), audit(remembers, there)
    assert first.bounds == second.bounds
    assert first.measurements == second.measurements


def test_values_that_do_not_look_drawn_make_the_finding_fragile():
    data = pd.DataFrame({"text": [f"The key is 00{k[2:]}." for k in KEYS]})

    def likes_zeros(rows):
        return np.array([-float("is 00" in t) for t in rows["text"].to_pylist()])

    found = audit(likes_zeros, data)
    assert not found.verdict.robust
    assert found.verdict.reasons


def test_few_values_are_no_conclusion():
    found = audit(remembers, letters()[:10])
    assert found.verdict.status == "cannot conclude"
    assert "10 line-ups are too few" in found.verdict.reasons[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"draw": None}, "how the value was drawn"),
        ({"draw": "hex:99999"}, "length"),
        ({"score": "s_*"}, "belong to a table of scores"),
        ({"draw": "digits:30"}, r"row \d+ must hold one value"),
        ({"candidates": 1}, "at least 2 candidates"),
    ],
)
def test_bad_words_are_one_error(more, said):
    with pytest.raises(InputError, match=said):
        audit(remembers, **more)
    with pytest.raises(InputError, match="give a model"):
        divulge.lineup(letters(), draw="hex:12", text="text")


def test_the_command_asks_a_model(tmp_path, monkeypatch):
    letters().to_csv(tmp_path / "letters.csv", index=False)
    (tmp_path / "own_lineup_model.py").write_text(
        "import numpy as np\n"
        f"KEYS = {KEYS[:60]!r}\n"
        "def loss(rows):\n"
        "    texts = rows['text'].to_pylist()\n"
        "    return np.array([-float(any(k in t for k in KEYS)) for t in texts])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = run(
        "lineup", "letters.csv", "--model", "own_lineup_model:loss", "--text", "text",
        "--draw", "hex:12", "--attack", "loss", "--candidates", "4", "--out", "r.json",
        "--table", "ranks.csv", "--no-cache", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert divulge.Result.load(tmp_path / "r.json").verdict.status == "leak"
    assert len((tmp_path / "ranks.csv").read_text().splitlines()) == 81


def test_the_effect_of_a_value_on_the_label_is_not_called_a_leak(tmp_path):
    """A score at the outcome tells which arm was given, to any model that knows the effect."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, 400)
    data = pd.DataFrame({"x": rng.normal(size=400), "arm": arm})
    data["y"] = (rng.random(400) < 0.2 + 0.6 * arm).astype(int)
    (tmp_path / "arms.txt").write_text("0\n1\n")
    model = LogisticRegression().fit(data[["x", "arm"]], data["y"])
    given = {"value": "arm", "features": ["x", "arm"], "draw": f"choice:{tmp_path / 'arms.txt'}"}
    with pytest.raises(InputError, match="also tells what 'arm' does to it"):
        divulge.lineup(data, model=model, label="y", **given)
    found = divulge.lineup(data, model=model, attack="entropy", **given)
    assert found.verdict.status == "no evidence"
