"""Members and non-members that are the same records are refused, whatever their number or form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from divulge.errors import InputError
from divulge.games.membership.play import membership
from divulge.games.membership.read import read_pools


def records(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"loss": rng.exponential(size=rows), "x_0": rng.normal(size=rows)})


def read(members, nonmembers, **options):
    return read_pools(
        None, members=members, nonmembers=nonmembers, truth="member", score="loss",
        model=None, label=None, lower_is_member=None, propensity=None, reference_score=None,
        **{"features": "x_*", **options},
    )  # fmt: skip


@pytest.mark.parametrize("rows", [1, 30, 600, 1500, 3000])
def test_the_same_file_twice(tmp_path, rows):
    records(rows).to_parquet(tmp_path / "all.parquet")
    with pytest.raises(InputError, match="same table"):
        read(tmp_path / "all.parquet", tmp_path / "all.parquet")


@pytest.mark.parametrize("features", ["x_*", ()])
@pytest.mark.parametrize("rows", [6, 30, 600, 1000, 1500, 3000])
def test_the_same_records_in_another_format_and_order(tmp_path, rows, features):
    records(rows).to_parquet(tmp_path / "in.parquet")
    shuffled = records(rows).sample(frac=1.0, random_state=1)
    shuffled[["x_0", "loss"]].to_csv(tmp_path / "out.csv", index=False)
    with pytest.raises(InputError, match="cannot be both"):
        read(tmp_path / "in.parquet", tmp_path / "out.csv", features=features)


@pytest.mark.parametrize("rows", [40, 3000])
def test_the_same_records_with_many_ties(rows):
    tied = records(rows).round(1)
    with pytest.raises(InputError, match="cannot be both"):
        read(tied, tied.sample(frac=1.0, random_state=2))


def test_half_of_the_non_members_are_members():
    members, others = records(400), records(200, seed=1)
    with pytest.raises(InputError, match=r"200 of 400 .* cannot be both"):
        read(members, pd.concat([members[:200], others]))


def test_one_table_that_holds_every_record_twice():
    twice = pd.concat([records(50).assign(member=True), records(50).assign(member=False)])
    with pytest.raises(InputError, match="cannot be both"):
        membership(twice, score="loss", features="x_*")


def test_a_few_values_given_equally_often_are_a_coincidence():
    answers = np.array([0.0, 1.0, 1.0, 2.0] * 25)
    pools = read({"loss": answers}, {"loss": np.sort(answers)}, features=())
    assert pools.truth.size == 200


@pytest.mark.parametrize("rows", [30, 3000])
def test_other_records_are_not_refused(rows):
    some = pd.concat([records(rows, seed=1), records(rows)[: rows // 4]])
    assert read(records(rows), some).truth.size == 2 * rows + rows // 4
    rounded = records(rows).round(1)[["loss"]], records(rows, seed=1).round(1)[["loss"]]
    assert read(*rounded, features=()).truth.size == 2 * rows
