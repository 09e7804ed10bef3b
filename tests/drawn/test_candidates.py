"""Line-ups from texts and tables, and the scores of their versions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from divulge.bounds.direct import bet_values
from divulge.bounds.forecasting import forecast
from divulge.drawn import scored
from divulge.drawn.candidates import line_ups
from divulge.drawn.recipes import parse
from divulge.drawn.scored import score_versions
from divulge.errors import InputError

HEX = parse("hex:12")


@pytest.fixture
def arms(tmp_path):
    path = tmp_path / "arms.txt"
    path.write_text("treated\ncontrol\n")
    return parse(f"choice:{path}")


def letters(n: int = 60, copies: int = 1) -> pd.DataFrame:
    keys = [k for k in HEX.draw(n, np.random.default_rng(1)) for _ in range(copies)]
    text = [f"Letter {i}: the key is {k}. Yes, {k}!" for i, k in enumerate(keys)]
    return pd.DataFrame({"text": text, "key": keys, "n": range(len(keys))})


def knows(words):
    """A model of texts that knows some words by heart."""

    def losses(rows):
        return np.array(
            [-sum(w in t for w in words) for t in rows["text"].to_pylist()], dtype=float
        )

    return losses


def test_every_occurrence_is_replaced_in_every_version(rng):
    data = letters()
    found = line_ups(data, HEX, rng, text="text", value="key", candidates=5)
    assert len(found) == 60
    assert [c[0] for c in found.candidates] == data["key"].tolist()
    assert len({c for own in found.candidates for c in own}) == 300  # disjoint
    places, order = scored._places(found)
    versions = scored._versions(found, scored.tables.read(places))["text"].to_list()
    for version, at in zip(versions, order, strict=True):
        line, which = divmod(int(at), 5)
        own = found.candidates[line]
        assert version == data["text"][line].replace(own[0], own[which])
        assert version.count(own[which]) == 2
    assert (found.void, found.doubts, found.cautions) == (0, (), ())
    assert any("salted" in a for a in found.assumptions)


def test_the_order_of_versions_does_not_tell_the_true_one(rng):
    found = line_ups(letters(400), HEX, rng, text="text", candidates=4)
    _, order = scored._places(found)
    first = np.flatnonzero(order % 4 == 0) % 4  # where the true version stands in its line-up
    assert np.bincount(first, minlength=4).min() > 70


def test_the_value_is_found_by_its_form(rng):
    data = letters()
    named = line_ups(data, HEX, rng, text="text", value="key", candidates=3)
    found = line_ups(data[["text"]], HEX, rng, text="text", candidates=3)
    assert [c[0] for c in found.candidates] == [c[0] for c in named.candidates]
    data.loc[7, "text"] += " Or was it 0123456789ab?"
    with pytest.raises(InputError, match=r"row 7 must hold one value of hex:12, not 2"):
        line_ups(data, HEX, rng, text="text")
    data.loc[7, "text"] = "Nothing."
    with pytest.raises(InputError, match=r"row 7 must hold one value of hex:12, not 0"):
        line_ups(data, HEX, rng, text="text")
    with pytest.raises(InputError, match="name the column of values"):
        line_ups(data, parse("own_recipes:plates"), rng, text="text")


def test_texts_that_share_a_value_are_one_trial(rng):
    data = letters(20, copies=3)
    quoted = {"text": f"FW: {data['key'][0].upper()} and more", "key": None, "n": 99}
    plain = {"text": f"again {data['key'][3]}, {data['key'][3]}", "key": None, "n": 99}
    data = pd.concat([data, pd.DataFrame([quoted, plain])], ignore_index=True)
    found = line_ups(data, HEX, rng, text="text", value="key", candidates=4)
    assert len(found) == 20
    assert found.copies.tolist() == [4, 4] + [3] * 18
    assert [len(r) for r in found.rows] == [3, 4] + [3] * 18  # capitals cannot be replaced
    scores, copies = score_versions(found, knows([data["key"][0]]))
    assert scores.shape == (20, 4)
    assert scores[0].tolist() == [3.0, 0.0, 0.0, 0.0]  # summed over its texts
    assert not scores[1:].any()
    assert copies is found.copies


def test_a_true_value_that_stands_once_more_in_its_text_is_void(rng):
    """As a draw that stands there is: to leave out only those would point at the others."""
    data = letters(40)
    data.loc[5, "text"] += f" Its number is 00{data['key'][5]}00."
    found = line_ups(data, HEX, rng, text="text", value="key", candidates=4)
    assert found.void == 1
    assert 5 not in [int(rows[0]) for rows in found.rows]


def test_values_of_an_own_recipe_that_repeat_need_a_unit(rng):
    recipe = parse("own_recipes:plates")
    data = pd.DataFrame({"word": recipe.draw(40, rng), "n": range(40)})
    data.loc[7, "word"] = data.loc[3, "word"]
    with pytest.raises(InputError, match="Rows 3 and 7 hold the same value"):
        line_ups(data, recipe, rng, value="word", candidates=4)
    assert len(line_ups(data, recipe, rng, value="word", unit="n", candidates=4)) > 20


def test_a_text_with_two_values_shows_neither(rng):
    data = letters(30)
    data.loc[4, "text"] += f" See also {data['key'][9]}."
    found = line_ups(data, HEX, rng, text="text", value="key", candidates=3)
    assert data["key"][4] not in {c[0] for c in found.candidates}
    own = next(k for k, c in enumerate(found.candidates) if c[0] == data["key"][9])
    assert (found.rows[own].tolist(), found.copies[own]) == ([9], 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("key", 5, "0123"), r"row 5 that hex:12 cannot draw: it has 4 characters"),
        (("text", 5, "no key"), r"row 5 does not hold its value"),
        (("text", 5, None), r"Row 5 does not"),
    ],
)
def test_bad_rows(change, message, rng):
    data = letters()
    column, row, value = change
    data.loc[row, column] = value
    with pytest.raises(InputError, match=message):
        line_ups(data, HEX, rng, text="text", value="key")


def test_another_spelling_is_refused(rng):
    data = letters()
    data.loc[3, "text"] += data["key"][3].upper()
    with pytest.raises(InputError, match="row 3 holds its value in another spelling"):
        line_ups(data, HEX, rng, text="text", value="key")
    recipe = parse("uuid4")
    keys = recipe.draw(20, rng)
    text = [f"{k} {k.replace('-', '') if i == 6 else ''}" for i, k in enumerate(keys)]
    with pytest.raises(InputError, match="row 6 holds its value in another spelling"):
        line_ups({"text": text, "key": keys}, recipe, rng, text="text", value="key")


def test_what_is_shown_beside_the_value_must_not_repeat_it(rng):
    data = letters()
    with pytest.raises(InputError, match="'key' repeats the values"):
        line_ups(data, HEX, rng, text="text", value="key", features=["key"])
    data["again"] = data["key"]
    with pytest.raises(InputError, match="'again' repeats the values"):
        line_ups(data, HEX, rng, value="key")
    with pytest.raises(InputError, match="at least 2 candidates"):
        line_ups(data, HEX, rng, text="text", candidates=1)
    with pytest.raises(InputError, match="Name the column"):
        line_ups(data, HEX, rng)


def test_values_that_were_not_drawn_are_doubted(rng):
    data = letters(100)
    for row, key in enumerate(data["key"]):
        data.loc[row, "text"] = data["text"][row].replace(key, "00" + key[2:])
    found = line_ups(data[["text"]], HEX, rng, text="text", candidates=3)
    assert any("'0' is character" in why for why in found.doubts)


def test_short_values_stand_in_texts_by_chance(rng):
    two = parse("digits:2")
    pins = two.draw(200, rng)
    numbers = [" ".join(two.draw(3, rng)) for _ in pins]
    data = {"text": [f"x {p} y {n}" for p, n in zip(pins, numbers, strict=True)], "pin": pins}
    found = line_ups(data, two, rng, text="text", value="pin", candidates=4)
    assert any("by chance" in why for why in found.doubts)
    assert found.void > 0
    for own, rows in zip(found.candidates, found.rows, strict=True):
        rest = data["text"][rows[0]].replace(own[0], "#")
        assert not any(c in rest for c in own)


def test_copies_among_few_values_are_noticed(rng):
    four = parse("digits:4")
    pins = four.draw(400, rng)
    alone = line_ups({"pin": pins}, four, rng, value="pin", candidates=32)
    assert (alone.doubts, len(alone)) == ((), 400)
    assert any("drawn on its own" in a for a in alone.assumptions)
    copied = {"pin": pins * 3, "owner": [*range(400)] * 3}
    found = line_ups(copied, four, rng, value="pin", candidates=32)
    assert any("name the unit" in why for why in found.doubts)
    by_unit = line_ups(copied, four, rng, value="pin", unit="owner", candidates=32)
    assert (len(by_unit), by_unit.doubts, set(by_unit.copies)) == (400, (), {3})
    copied["pin"][0] = "0000" if pins[0] != "0000" else "1111"
    with pytest.raises(InputError, match="Rows 0 and 400 are one unit"):
        line_ups(copied, four, rng, value="pin", unit="owner")


def test_own_draws_are_void_where_they_are_not_distinct(rng):
    recipe = parse("own_recipes:plates")
    plates = recipe.draw(100, rng)
    found = line_ups({"plate": plates}, recipe, rng, value="plate", candidates=8)
    assert 0 <= found.void < 50
    assert all(len(set(own)) == 8 for own in found.candidates)


def test_a_randomised_column_of_a_table(arms, rng):
    """The model has learned who was treated: bets prove it, and nothing where it has not."""
    from sklearn.linear_model import LogisticRegression

    n = 400
    x, arm = rng.normal(size=n), np.array(arms.draw(n, rng))
    treated = (arm == "treated").astype(float)
    y = (x + 3.0 * treated + rng.normal(size=n) > 1.5).astype(int)
    data = pd.DataFrame({"x": x, "arm": treated.astype(int), "y": y})
    model = LogisticRegression().fit(data[["x", "arm"]], y)
    zero_one = arms.__class__("choice", ("0", "1"), frozenset({"0", "1"}))
    found = line_ups(
        data, zero_one, rng, value="arm", features=["x", "arm"], label="y", candidates=32
    )
    assert any("allows 2 candidates" in c for c in found.cautions)
    assert found.copies.tolist() == [1] * n
    scores, _ = score_versions(found, model)
    prior, value = np.full(scores.shape, 0.5), np.zeros(n, dtype=np.intp)
    bound = bet_values(forecast(scores, prior, value), prior, value)
    assert bound.epsilon > 0.5  # the arm's effect on y, not a leak: the game refuses such a label
    logs = model.predict_log_proba(data[["x", "arm"]])
    assert scores[:, 0] == pytest.approx(logs[np.arange(n), y])
    bare = line_ups(data, zero_one, rng, value="arm", features=["x"], label="y")
    model = LogisticRegression().fit(data[["x"]], y)
    with pytest.raises(InputError, match="is not shown the column 'arm'"):
        score_versions(bare, model)


def test_equal_arms_are_a_caution(arms, rng):
    found = line_ups({"arm": ["treated", "control"] * 50}, arms, rng, value="arm")
    assert any("halved" in c for c in found.cautions)
    found = line_ups({"arm": ["treated", "control"] * 50 + ["control"] * 9}, arms, rng, value="arm")
    assert not any("halved" in c for c in found.cautions)


def test_the_order_of_lists(rng):
    recipe = parse("permutation:, ")
    lists = [recipe.of("a, b, c, d, e").draw(1, rng)[0] for _ in range(50)]
    data = {"text": [f"She bought {v}." for v in lists], "list": lists}
    found = line_ups(data, recipe, rng, text="text", value="list", candidates=6)
    for own in found.candidates:
        assert {"".join(sorted(c)) for c in own} == {"".join(sorted(own[0]))}
        assert len(set(own)) == 6


@pytest.mark.parametrize("jobs", [{}, {"n_jobs": 2}])
def test_scores_do_not_depend_on_chunks_or_workers(jobs, rng, tmp_path):
    data = letters(40)
    found = line_ups(data, HEX, rng, text="text", value="key", candidates=4)
    whole, _ = score_versions(found, "own_recipes:lengths")
    seen = []
    words = {"chunk": 50, "cache": tmp_path, **jobs}
    parts, _ = score_versions(
        found, "own_recipes:lengths", progress=lambda *a: seen.append(a), **words
    )
    assert (parts == whole).all()
    assert seen == [(50, 160), (100, 160), (150, 160), (160, 160)]
    assert len(list(tmp_path.glob("lineup-*.piece"))) == 4
    again, _ = score_versions(found, "own_recipes:lengths", **words)
    assert (again == whole).all()


def test_what_cannot_be_a_score(rng):
    found = line_ups(letters(10), HEX, rng, text="text", value="key", candidates=2)
    with pytest.raises(InputError, match="finite losses"):
        score_versions(found, lambda rows: np.full(len(rows), np.nan))
    with pytest.raises(InputError, match="looks at all records"):
        score_versions(found, knows([]), attack="lira_offline")


def test_no_false_claim_where_the_model_saw_no_value(rng):
    """A model that knows the population, and whose scores tie, proves nothing."""
    false = 0
    for seed in range(20):
        data = letters(100)
        found = line_ups(data, HEX, np.random.default_rng(seed), text="text", candidates=8)
        scores, _ = score_versions(found, "own_recipes:lengths")
        prior, value = np.full(scores.shape, 1 / 8), np.zeros(len(scores), dtype=np.intp)
        false += bet_values(forecast(scores, prior, value), prior, value).epsilon > 0.0
    assert false <= 4


def test_a_place_in_a_batch_proves_nothing(rng):
    """Last bits of a score depend on where a version stands; that must not tell the true one."""
    found = line_ups(letters(300), HEX, rng, text="text", candidates=4)
    scores, _ = score_versions(found, lambda rows: 1e-9 * (np.arange(len(rows)) % 4))
    prior, value = np.full(scores.shape, 1 / 4), np.zeros(len(scores), dtype=np.intp)
    assert bet_values(forecast(scores, prior, value), prior, value).epsilon == 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("torch", reason="needs the extra 'language'")
    pytest.importorskip("transformers", reason="needs the extra 'language'")
    from divulge.models import finetune

    tokenizer = finetune.byte_pairs(["the key of somebody is a number of eight digits"], 320)
    network = finetune.tiny(320, 32, np.random.default_rng(1), layers=1, width=16, heads=2)
    return finetune.save(network, tokenizer, tmp_path_factory.mktemp("model"))


def test_a_language_model_reads_every_version(folder, rng, tmp_path):
    from divulge.models import language

    recipe = parse("digits:8")
    keys = recipe.draw(12, rng)
    data = {"text": [f"the key is {k}" for k in keys]}
    found = line_ups(data, recipe, rng, text="text", candidates=3)
    scores, copies = score_versions(found, folder, cache=tmp_path)
    model = language.load(folder)
    for k, own in enumerate(found.candidates):
        answers = model.ask([f"the key is {c}" for c in own])
        total = np.nansum(answers.log_probabilities, axis=1)
        assert scores[k] == pytest.approx(total, abs=1e-4)
    assert copies.tolist() == [1] * 12
    mean, _ = score_versions(found, folder, attack="loss")
    assert mean == pytest.approx(scores / (len(model.encode(data["text"])[0]) - 1), rel=0.5)
    with pytest.raises(InputError, match=r"reads text, and is not shown"):
        score_versions(line_ups({"key": keys}, recipe, rng, value="key"), folder)
