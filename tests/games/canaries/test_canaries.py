"""The canary game: the plan is fair, complete and honest; the audit joins by id and holds."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from divulge import canaries
from divulge.errors import InputError
from divulge.games.canaries import coins
from divulge.games.canaries.planning import Plan
from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import GaussianMechanism
from divulge.proof.rule import Named


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3))
    x[:60] *= 8.0
    return pd.DataFrame(
        {"key": [f"r{i:03}" for i in range(500)], "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}
    )


def scored(made: Plan, leak: float, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    loss = -leak * (made.truth > 0) + rng.normal(size=len(made))
    table = pd.DataFrame({made.key: list(made.ids), "loss": loss})
    return table.sample(frac=1.0, random_state=seed)


def value(result, parameter, delta=None):
    return next(b.value for b in result.headline() if (b.parameter, b.delta) == (parameter, delta))


def test_the_far_records_are_chosen_and_the_coins_are_fair(data):
    made = canaries.plan(data, count=60, features=["a", "b", "c"], id="key", seed=0)
    assert np.mean([r < 60 for r in made.rows]) > 0.9
    assert list(made.ids) == [f"r{r:03}" for r in made.rows]
    flips = [canaries.plan(data, count=60, strategy="random", id="key", seed=k) for k in range(40)]
    shares = np.concatenate([p.included for p in flips])
    assert abs(shares.mean() - 0.5) < 4 * 0.5 / np.sqrt(shares.size)
    rows = np.concatenate([p.rows for p in flips])
    inside = np.concatenate([p.included for p in flips])
    assert abs(np.corrcoef(rows, inside)[0, 1]) < 4 / np.sqrt(rows.size)


def test_the_coins_do_not_depend_on_what_is_measured(data):
    one = canaries.plan(data, count=60, strategy="norm", id="key", seed=3)
    two = canaries.plan(data, count=60, strategy="random", id="key", seed=3)
    other = canaries.plan(data, count=60, strategy="random", id="key", seed=4)
    assert one.included == two.included != other.included
    assert set(one.rows) != set(two.rows)


def test_nobody_can_recompute_the_coins_without_the_seed(data):
    one, two = (canaries.plan(data, count=60, strategy="random", id="key") for _ in range(2))
    assert one.seed != two.seed
    assert one.included != two.included
    assert Plan.from_json(json.loads(one.dumps())).seed == one.seed
    again = canaries.plan(data, count=60, strategy="random", id="key", seed=one.seed)
    assert again == one


def test_two_data_sets_have_their_own_coins_under_one_seed(data):
    one = canaries.plan(data, count=60, strategy="random", id="key", seed=3)
    other = canaries.plan(
        data.assign(a=data["a"] + 1.0), count=60, strategy="random", id="key", seed=3
    )
    assert one.included != other.included
    same = np.mean(np.array(one.included) == np.array(other.included))
    assert 0.2 < same < 0.8


def test_coins_can_be_checked_without_divulge():
    key = hashlib.sha256(b"divulge canary plan\n7\nabc").digest()
    by_hand = [hashlib.sha256(key + k.to_bytes(8, "big")).digest()[0] < 0x80 for k in range(50)]
    assert list(coins.flip(coins.mix(7, "abc"), 50, 0.5)) == by_hand
    many = coins.flip(coins.mix(7, "abc"), 20_000, 0.8)
    assert abs(np.mean(many) - 0.8) < 4 * np.sqrt(0.16 / 20_000)
    with pytest.raises(InputError, match="at least 0"):
        coins.mix(-1, "abc")


def test_a_plan_whose_coins_were_changed_is_refused_and_older_plans_are_read(data):
    text = canaries.plan(data, count=30, strategy="random", id="key", seed=0).to_json()
    turned = {**text, "included": [not use for use in text["included"]]}
    with pytest.raises(InputError, match="not those of its seed and its data"):
        Plan.from_json(turned)
    older = {**turned, "details": {k: v for k, v in text["details"].items() if k != "coins"}}
    assert Plan.from_json(older).included == tuple(turned["included"])


def test_the_trainer_gets_everything_but_the_canaries_left_out(data):
    made = canaries.plan(data, count=80, strategy="random", id="key", seed=0)
    kept = made.records(data)["key"].to_list()
    left_out = [i for i, use in zip(made.ids, made.included, strict=True) if not use]
    assert sorted(kept + left_out) == sorted(data["key"])
    assert made.canaries(data)["key"].to_list() == list(made.ids)
    with pytest.raises(InputError, match="SHA-256 differs"):
        made.records(data.assign(a=0.0))


def test_without_an_id_rows_are_named(data):
    made = canaries.plan(data.drop(columns="key"), count=40, seed=0)
    assert made.key == "row"
    assert made.ids == made.rows
    assert made.canaries(data.drop(columns="key"))["row"].to_list() == list(made.rows)
    result = canaries.audit(made, scored(made, 2.0), seed=1)
    assert result.trials["members"] + result.trials["nonmembers"] == 40


def test_gradients_of_several_steps_choose_by_rank(data):
    rng = np.random.default_rng(0)
    loud = np.arange(100, 130)
    steps = []
    for _ in range(3):
        g = rng.normal(size=(500, 5))
        g[loud] *= 6.0
        g[rng.integers(0, 500, 3)] *= 20.0  # one step's outliers do not rule
        steps.append({"g": g})
    made = canaries.plan(data, count=30, id="key", gradients=steps, noise=0.01, seed=0)
    assert np.isin(made.rows, loud).mean() > 0.8
    assert len(made.details["gradients"]) == 3
    with pytest.raises(InputError, match="a row for each of the 500"):
        canaries.plan(data, count=30, id="key", gradients=[{"g": g[:10]}])
    swapped = pd.DataFrame({"key": data["key"][::-1].to_list(), "g": g[:, 0]})
    with pytest.raises(InputError, match="in their order"):
        canaries.plan(data, count=30, id="key", gradients=[swapped])


def test_a_plan_survives_its_file_and_says_what_it_is(data, tmp_path):
    made = canaries.plan(data, count=30, features="a", id="key", probability=0.8, seed=0)
    made.save(tmp_path / "plan.json")
    text = json.loads((tmp_path / "plan.json").read_text())
    assert "truths" in text["warning"]
    assert "Keep it" in text["warning"]
    assert text["schema"] == 1
    again = Plan.load(tmp_path / "plan.json")
    assert (again.ids, again.included, again.probability) == (made.ids, made.included, 0.8)
    assert again.input["sha256"] == made.input["sha256"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d | {"kind": "something"}, "not a canary plan"),
        (lambda d: d | {"schema": 7}, "schema 7"),
        (lambda d: d | {"included": [1] * 30}, "damaged"),
        (lambda d: d | {"ids": d["ids"][:-1]}, "do not match"),
        (lambda d: d | {"ids": [d["ids"][0]] * 30}, "do not match"),
        (lambda d: {k: v for k, v in d.items() if k != "seed"}, "seed"),
        (lambda d: d | {"probability": 1.0}, "probability"),
        (lambda d: [d], "not a canary plan"),
    ],
)
def test_a_damaged_plan_is_said(data, damage, message):
    good = canaries.plan(data, count=30, strategy="random", id="key", seed=0).to_json()
    Plan.from_json(json.loads(json.dumps(good)))
    with pytest.raises(InputError, match=message):
        Plan.from_json(damage(json.loads(json.dumps(good))))


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({}, {"count": 501}, "between 20 and the 500"),
        ({}, {"count": 19}, "between 20 and the 500"),
        ({}, {"strategy": "best"}, "Unknown strategy"),
        ({}, {"features": ["key"]}, "not numbers"),
        ({}, {"features": ["aa"]}, "no column 'aa'"),
        ({}, {"noise": -1.0}, "noise must be"),
        ({}, {"averaged": 0.0}, "averaged"),
        ({}, {"probability": 1.0}, "probability"),
        ({}, {"id": "kye"}, "Did you mean 'key'"),
        ({"key": "same"}, {}, "twice"),
        ({"key": 0.5}, {}, "must hold ids"),
        ({"a": 1.0}, {}, "'a' is constant"),
        ({"a": np.nan}, {}, "must be finite"),
        ({"row": 1}, {"id": None, "features": ["a"]}, "--id row"),
    ],
)
def test_bad_plans_are_said(data, change, words, message):
    with pytest.raises(InputError, match=message):
        canaries.plan(
            data.assign(**change), **{"count": 30, "features": ["a", "b"], "id": "key", **words}
        )


def test_a_leak_is_proved_and_none_is_not_invented(data):
    made = canaries.plan(data, count=400, strategy="random", id="key", seed=0)
    leaking = canaries.audit(made, scored(made, 3.0))
    assert leaking.game == "canaries"
    assert leaking.verdict.status == "leak"
    assert leaking.verdict.robust
    assert 1.0 < value(leaking, "mu") < 3.0
    assert value(leaking, "epsilon", 0.0) > 2.0
    assert value(leaking, "epsilon", 1e-5) > 2.0
    assert {b.correction for b in leaking.bounds} == {"none"}
    assert leaking.trials["kept"] == 400
    silent = canaries.audit(made, scored(made, 0.0))
    assert silent.verdict.status == "no evidence"


def test_loaded_coins_are_not_taken_for_a_leak(data):
    made = canaries.plan(data, count=400, strategy="random", id="key", probability=0.9, seed=0)
    assert np.mean(made.included) > 0.8
    result = canaries.audit(made, scored(made, 0.0))
    assert result.verdict.status == "no evidence"
    assert {b.correction for b in result.headline()} == {"balanced", "prior"}
    blind = audit_trials(scored(made, 0.0)["loss"].to_numpy(), made.truth)
    assert max(b.value for b in blind.bounds) > 1.0  # had the coins been taken for fair ones


def test_several_scores_and_their_direction(data):
    made = canaries.plan(data, count=400, strategy="random", id="key", seed=0)
    table = scored(made, 3.0)
    table["grade"] = -table["loss"]
    table["noise"] = np.random.default_rng(0).normal(size=len(table))
    one = canaries.audit(made, table, score="grade")
    same = canaries.audit(made, table, score="loss")
    assert one.measurements["auc"] == pytest.approx(same.measurements["auc"])
    wrong = canaries.audit(made, table, score="loss", lower_is_member=False)
    assert wrong.measurements["auc"] == pytest.approx(1 - same.measurements["auc"])
    both = canaries.audit(made, table, score=["loss", "noise"])
    assert value(both, "mu") > 1.0
    assert both.trials["scores"] == ["loss", "noise"]


def test_the_order_of_the_rows_plays_no_part(data):
    made = canaries.plan(data, count=100, strategy="random", id="key", seed=0)
    table = scored(made, 2.0)
    first = canaries.audit(made, table)
    second = canaries.audit(made, table.iloc[::-1])
    assert [b.value for b in first.bounds] == [b.value for b in second.bounds]


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (lambda t: t.iloc[:-3], {}, "3 of 50 canaries have no score"),
        (lambda t: pd.concat([t, t.iloc[:1]]), {}, "twice"),
        (lambda t: pd.concat([t, t.iloc[:1].assign(key="new")]), {}, "not canaries of the plan"),
        (lambda t: t.assign(loss=np.where(t.loss > t.loss.median(), np.inf, 0.0)), {}, "finite"),
        (lambda t: t.assign(loss=None), {}, "numbers"),
        (lambda t: t.assign(key=range(50)), {}, "the plan's ids are text, those of the scores num"),
        (lambda t: t.rename(columns={"key": "id"}), {}, "no column 'key'"),
        (lambda t: t, {"score": "lss"}, "Did you mean 'loss'"),
        (lambda t: t, {"error": 0.0}, "error"),
        (lambda t: t, {"deltas": (0.0,)}, "delta"),
    ],
)
def test_bad_scores_are_said(data, change, words, message):
    made = canaries.plan(data, count=50, strategy="random", id="key", seed=0)
    with pytest.raises(InputError, match=message):
        canaries.audit(made, change(scored(made, 1.0)), **words)


def test_other_rows_may_be_ignored_and_bad_ones_among_them_do_not_matter(data):
    made = canaries.plan(data, count=50, strategy="random", id="key", seed=0)
    table = scored(made, 1.0)
    more = pd.concat([table, table.iloc[:2].assign(key=["u", "v"])])
    result = canaries.audit(made, more, ignore_others=True)
    assert result.diagnostics.plan.rows_of_other_records == 2
    alone = canaries.audit(made, table)
    assert [b.value for b in alone.bounds] == [b.value for b in result.bounds]


def test_constant_scores_and_few_canaries_conclude_nothing(data):
    made = canaries.plan(data, count=20, strategy="random", id="key", seed=0)
    flat = canaries.audit(made, scored(made, 1.0).assign(loss=1.0))
    assert flat.verdict.status == "cannot conclude"
    assert "same for every canary" in flat.verdict.reasons[0]
    few = Plan(**{**made.__dict__, "ids": made.ids[:9], "rows": made.rows[:9],
                  "included": made.included[:9]})  # fmt: skip
    result = canaries.audit(few, scored(few, 1.0))
    assert result.verdict.status == "cannot conclude"
    assert result.bounds == ()


def test_files_appear_together_or_not_at_all(data, tmp_path):
    source = tmp_path / "data.parquet"
    data.to_parquet(source)
    made = canaries.plan(source, count=30, strategy="random", id="key", seed=0)
    gone = tmp_path / "nowhere" / "plan.json"
    with pytest.raises(InputError, match="There is no folder"):
        canaries.write_plan(made, source, plan=gone, records=tmp_path / "in.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["data.parquet"]
    out, kept = tmp_path / "plan.json", tmp_path / "in.csv"
    canaries.write_plan(made, source, plan=out, records=kept, canaries=tmp_path / "c.parquet")
    assert len(pd.read_csv(kept)) == 500 - 30 + sum(made.included)
    assert pyarrow.parquet.read_table(tmp_path / "c.parquet").column_names == list(data.columns)
    before = out.read_bytes()
    with pytest.raises(InputError, match="--overwrite"):
        canaries.write_plan(made, source, plan=out, records=kept)
    assert out.read_bytes() == before
    assert Plan.load(out).details["records_to_train_on"] == 470 + sum(made.included)
    with pytest.raises(InputError, match="name the same file"):
        canaries.write_plan(made, source, plan=kept, records=kept, overwrite=True)
    with pytest.raises(InputError, match=r"\.parquet or \.csv"):
        canaries.write_plan(made, source, plan=out, records=tmp_path / "in.json", overwrite=True)


@pytest.mark.slow
def test_false_claims_are_rare_on_a_known_mechanism():
    """40 audits at an error of 10%: more than 10 false ones would have probability 0.002."""
    mechanism = GaussianMechanism(1.0)
    false = 0
    for seed in range(40):
        drawn = mechanism.sample(200, np.random.default_rng(seed))
        result = audit_trials(drawn.score, drawn.truth, error=0.1, seed=seed)
        false += value(result, "mu") > 1.0 or value(result, "epsilon", 1e-5) > 4.3772
    assert false <= 10


@pytest.mark.parametrize(
    ("headline", "stated"),
    [(None, True), ("mu", True), ("epsilon", False), ("independent:mu", False)],
)
def test_a_smaller_mu_is_proved_by_the_same_count(headline, stated):
    """No headline, and at the confidence of mu; where another count is kept, none is stated."""
    drawn = GaussianMechanism(2.0).sample(600, np.random.default_rng(0))
    result = audit_trials(drawn.score, drawn.truth, headline=Named.of(headline))
    proved = [b for b in result.bounds if b.method == "tangents"]
    assert len(proved) == stated
    for bound in proved:
        mu = next(b for b in result.bounds if b.parameter == "mu")
        assert (mu.standing, bound.standing) == ("numerical", "proved")
        assert not bound.headline
        assert bound.confidence == mu.confidence
        assert 0.0 < bound.value < mu.value


def test_an_error_below_the_steps_of_a_float_is_an_error():
    """One less it is 1; the bounds are computed from the error itself."""
    drawn = GaussianMechanism(2.0).sample(200, np.random.default_rng(0))
    result = audit_trials(drawn.score, drawn.truth, error=1e-17)
    assert all(b.value >= 0.0 for b in result.bounds)
