"""The same rows in another order, in another file or of another type: the same result."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.errors import InputError
from divulge.games.attribute.play import attribute
from divulge.games.membership.play import membership
from divulge.games.retraining.play import retraining
from divulge.games.synthetic.play import synthetic

ROWS = 600


def records(rows=ROWS, seed=0):
    """Shifted members, ties, missing values, categories, dates and an embedding."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(rows, 3)), 2)
    member = rng.random(rows) < expit(0.5 * x[:, 0])
    member[40:60] = member[20:40]
    x[40:60] = x[20:40]  # equal rows
    y = (x[:, 0] + rng.normal(size=rows) > 0).astype(int)
    loss = np.round(rng.normal(size=rows) - member, 3)
    loss[40:60] = loss[20:40]
    table = {
        "member": member,
        "loss": loss,
        "margin": rng.integers(0, 5, rows),
        "pi": expit(0.5 * x[:, 0]),
        "control": rng.normal(size=rows),
        **{f"x_{j}": x[:, j] for j in range(3)},
        "whole": rng.integers(0, 9, rows),
        "gap": np.where(rng.random(rows) < 0.1, np.nan, x[:, 1]),
        "kind": rng.choice(["a", "b", "ü"], rows),
        "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 90, rows), "D"),
        "y": y,
        "p_1": np.clip(expit(x[:, 0] + 2.0 * y - 1.0), 0.01, 0.99),
        "q_1": expit(0.8 * x[:, 0]),
    }
    for name in ("margin", "pi", "control", "whole", "gap", "kind", "day", "y", "p_1", "q_1"):
        column = np.array(table[name])
        column[40:60] = column[20:40]
        table[name] = column
    return pd.DataFrame(table)


TABLE = records()
FEATURES = ["x_*", "whole", "gap", "kind", "day"]


def shuffled(table=TABLE, seed=3):
    return table.sample(frac=1.0, random_state=seed)


def told(result):
    """All that a result says, but which file it came from and where in it a row stands."""
    found = json.loads(result.dumps())
    found["provenance"].pop("inputs", None)
    found["diagnostics"].get("duplicates", {}).pop("first_rows", None)
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"score": ["loss", "margin"], "reference_score": "control"},
        {"propensity": "pi"},
        pytest.param(
            {"features": FEATURES, "estimator": "logistic", "bootstrap": 4}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"features": ["x_*", "kind"], "combine": "learned", "rows": 500}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"features": ["x_*", "gap"], "heldout": records(500, seed=1)}, marks=pytest.mark.slow
        ),
    ],
    ids=["scores", "control", "propensity", "bootstrap", "learned", "heldout"],
)
def test_membership(options):
    given = {"score": "loss", **options}
    other = {**given, **({"heldout": shuffled(given["heldout"])} if "heldout" in given else {})}
    assert told(membership(TABLE, **given)) == told(membership(shuffled(), **other))


def test_another_order_was_another_draw_before():
    """What the test above is about: with the rows as they come, a shuffle is a second draw."""
    from dataclasses import replace

    from divulge.games.membership.play import audit_pools
    from divulge.games.membership.read import read_pools

    options = dict.fromkeys(
        ("members", "nonmembers", "model", "label", "lower_is_member", "propensity",
         "reference_score")
    )  # fmt: skip
    pools = read_pools(TABLE, truth="member", score="loss", features=(), **options)
    mixed = np.random.default_rng(0).permutation(ROWS)
    other = replace(pools, truth=pools.truth[mixed], score=pools.score[mixed])
    assert told(audit_pools(pools)) != told(audit_pools(other))


def write(table, folder, kind):
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    if kind == "csv":
        pa.csv.write_csv(arrow, folder / "t.csv")
        return folder / "t.csv"
    if kind == "parquet":
        pq.write_table(arrow, folder / "t.parquet", row_group_size=100)
        return folder / "t.parquet"
    for k in range(3):
        pq.write_table(arrow.slice(k * 250, 250), folder / f"part-{k}.parquet")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet", "folder", "polars", "arrow", "types", "apart"])
def test_membership_from_any_source(kind, tmp_path):
    options = {"score": ["loss", "margin"], "features": FEATURES, "estimator": "logistic"}
    expected = told(membership(TABLE, **options))
    table = shuffled()
    if kind in ("csv", "parquet", "folder"):
        source = write(table, tmp_path, kind)
    elif kind == "polars":
        source = pl.from_pandas(table)
    elif kind == "arrow":
        source = pa.Table.from_pandas(table)
    elif kind == "apart":
        alone = table.drop(columns="member")
        options |= {"members": alone[table.member], "nonmembers": alone[~table.member]}
        source = None
    else:
        source = table.assign(
            member=np.where(table.member, "train", "test"),
            whole=table.whole.astype(float),
            margin=table.margin.astype(np.int16),
            kind=table.kind.astype("category"),
        )[table.columns[::-1]]
        options["features"] = ["x_0", "x_1", "x_2", *FEATURES[1:]]
    assert told(membership(source, **options)) == expected


@pytest.mark.slow
def test_membership_with_a_model():
    names = ["x_0", "x_1", "x_2"]
    model = LogisticRegression().fit(TABLE[names][:300], TABLE.y[:300])
    numbered = TABLE.assign(row=np.arange(ROWS))
    again = shuffled().assign(row=np.arange(ROWS))
    options = {"model": model, "label": "y", "features": names, "estimator": "logistic"}
    assert told(membership(numbered, **options)) == told(membership(again, **options))


def test_a_function_of_a_table_sees_it_as_it_was_given():
    """It may know its rows by their place."""
    seen = []

    def losses(table):
        seen.append(list(table["loss"]))
        return np.asarray(TABLE.loss)

    by_model = membership(TABLE, model=losses)
    assert seen[-1] == list(TABLE.loss)
    assert by_model.measurements["auc"] > 0.7


def test_rows_are_named_as_the_user_knows_them():
    table = shuffled().reset_index(drop=True)
    table.loc[123, "x_1"] = np.inf
    with pytest.raises(InputError, match="row 123"):
        membership(table, score="loss", features="x_*")
    both = pd.concat([TABLE, TABLE.assign(member=~TABLE.member, loss=0.5)])
    found = membership(both, score="loss", features="x_*", estimator="logistic")
    rows = found.diagnostics.duplicates.first_rows
    assert len(rows) == 10
    keys = both[["x_0", "x_1", "x_2"]].to_numpy()
    truth = both.member.to_numpy()
    for row in rows:
        assert not truth[row]
        assert (keys[truth] == keys[row]).all(axis=1).any()


@pytest.mark.parametrize(
    "options",
    [
        {"label": "y", "proxy_exact": True},
        {"label": "y", "features": "x_*", "heldout": records(420, seed=2)},
        {"label": "y", "features": ["x_*", "kind"]},
    ],
    ids=["exact", "heldout", "blind"],
)
def test_attribute(options):
    other = dict(options)
    if "heldout" in options:
        other["heldout"] = shuffled(options["heldout"])
    given, table = {"repeats": 3, **options}, TABLE[:420]
    assert told(attribute(table, **given)) == told(attribute(shuffled(table), **{**given, **other}))


@pytest.mark.slow
def test_synthetic():
    rng = np.random.default_rng(0)

    def some(rows, offset):
        x = rng.normal(size=(rows, 2))
        loss = rng.normal(size=rows) + offset
        return pd.DataFrame({"x_0": x[:, 0], "x_1": x[:, 1], "loss": loss})

    members, made = some(460, 0.0), some(460, 0.3)
    first = synthetic(members, generated=made, target_loss="loss")
    second = synthetic(shuffled(members), generated=shuffled(made, 4), target_loss="loss")
    assert told(first) == told(second)


def test_canaries():
    named = TABLE.assign(id=[f"r{i}" for i in range(ROWS)])
    options = {"count": 60, "features": "x_*", "id": "id", "seed": 5}
    plans = [divulge.canaries.plan(t, **options) for t in (named, shuffled(named))]
    assert plans[0].ids == plans[1].ids
    assert plans[0].included == plans[1].included
    scores = named.set_index("id").loc[list(plans[0].ids)].reset_index()
    first, second = (
        divulge.canaries.audit(plans[0], s, score="loss") for s in (scores, shuffled(scores))
    )
    assert told(first) == told(second)


def test_leakage_and_retraining():
    data, reference = TABLE.assign(id=range(ROWS)), records(seed=1)
    options = {"features": "x_*", "id": "id"}
    first = divulge.leakage(data, reference=reference, **options)
    second = divulge.leakage(shuffled(data), reference=shuffled(reference), **options)
    assert told(first) == told(second)
    counts = pd.DataFrame(
        {
            "false_positives": [3, 5, 2, 9],
            "negatives": 100,
            "false_negatives": [60, 55, 70, 50],
            "positives": 100,
        }
    )
    assert told(retraining(counts)) == told(retraining(shuffled(counts)))


@pytest.mark.slow
def test_names_and_order_of_columns_do_not_matter():
    """Categories of many levels, too; a name is shown, and that is all."""
    rng = np.random.default_rng(4)
    table = TABLE[:500].assign(town=rng.choice([f"town {k}" for k in range(60)], 500))
    names = ["x_0", "x_1", "x_2", "gap", "kind", "town"]
    renamed = {name: f"column {7 * k % 6}" for k, name in enumerate(names)}
    given = told(membership(table, score="loss", features=names))
    turned = table[table.columns[::-1]].rename(columns=renamed)
    other = json.dumps(
        told(membership(turned, score="loss", features=list(renamed.values())[::-1]))
    )
    for name, shown in renamed.items():
        other = other.replace(shown, name)
    assert given == json.loads(other)
