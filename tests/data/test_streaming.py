from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from divulge.data import stored, tables
from divulge.errors import InputError
from divulge.games.membership import read as pools
from divulge.games.membership.play import membership
from divulge.types import index_type, permutation, slices


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(stored, "BATCH", 128)


def scores(rows=1000, seed=0, leak=1.0, columns=2):
    rng = np.random.default_rng(seed)
    member = rng.random(rows) < 0.5
    x = rng.normal(size=(rows, columns))
    return pa.table(
        {
            "unused": [f"record {i}" for i in range(rows)],
            "member": np.where(member, "train", "test"),
            "loss": (rng.normal(size=rows) - leak * member).astype(np.float32),
            "other": rng.normal(size=rows),
            **{f"x_{j}": x[:, j] for j in range(columns)},
        }
    )


def write(table, folder, kind):
    """The same rows in the same order, as one file, many row groups, a folder or partitions."""
    if kind == "row groups":
        pq.write_table(table, folder / "t.parquet", row_group_size=97)
        return folder / "t.parquet"
    if kind == "csv":
        pa.csv.write_csv(table, folder / "t.csv")
        return folder / "t.csv"
    parts = folder / "parts"
    size = -(-table.num_rows // 7)
    for k in range(7):
        name = f"day={k}/part.parquet" if kind == "hive" else f"part-{k}.parquet"
        (parts / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.slice(k * size, size), parts / name)
    (parts / "_SUCCESS").touch()
    return parts


@pytest.mark.parametrize("kind", ["row groups", "csv", "folder", "hive"])
def test_batches_give_the_table_that_was_written(kind, tmp_path):
    table = scores()
    found = stored.open_table(write(table, tmp_path, kind))
    assert [c for c in found.columns if c != "day"] == table.column_names
    assert max(b.num_rows for b in found.batches(["loss"])) <= 128 or kind == "csv"
    read = tables.read(found.table(["loss", "member"], words=("member",)))
    np.testing.assert_array_equal(
        tables.compact_numbers(read, "loss", "it").astype(np.float32), table["loss"].to_numpy()
    )
    expected = np.where(table["member"].to_numpy() == "train", 1, -1)
    np.testing.assert_array_equal(tables.truths(read, "member", "it"), expected)


@pytest.mark.parametrize("features", [pytest.param((), marks=pytest.mark.slow), ("x_*",)])
def test_a_result_does_not_depend_on_where_the_table_is(features, tmp_path):
    table = scores(2000)
    options = {"score": ["loss", "other"], "features": features, "estimator": "logistic"}

    def audited(source):
        found = json.loads(membership(source, **options).dumps())
        name = found["provenance"].pop("inputs")[0]["name"]
        return name, found

    (_, here), (name, there) = audited(table), audited(write(table, tmp_path, "folder"))
    assert name == "parts"
    assert here == there
    assert "subset" not in here["diagnostics"]


def test_a_column_of_the_path_can_be_the_truth(tmp_path):
    table = scores()
    member = table["member"].to_numpy() == "train"
    for value in (0, 1):
        folder = tmp_path / f"in={value}"
        folder.mkdir()
        pq.write_table(table.filter(pa.array(member == value)), folder / "a.parquet")
    result = membership(tmp_path, truth="in", score="loss")
    assert result.trials["pool_members"] == member.sum()
    assert result.trials["pool_nonmembers"] == (~member).sum()


def test_only_what_is_needed_is_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(scores(), path)
    found = _pools(path)
    assert found.score.dtype == np.float32
    assert found.truth.dtype == np.int8
    seen = []
    opened = stored.open_table(path)
    original = stored.Stored.batches
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored.Stored, "batches", lambda s, c: seen.append(list(c)) or original(s, c))
        _pools(path)
    assert "unused" in opened.columns
    assert seen == [["member", "loss"]]


def _pools(source, **more):
    given = {
        "members": None, "nonmembers": None, "truth": "member", "score": "loss", "features": (),
        "model": None, "label": None, "lower_is_member": None, "propensity": None,
        "reference_score": None,
    }  # fmt: skip
    return pools.read_pools(source, **{**given, **more})


@pytest.mark.parametrize("rows", [None, 200])
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("loss", np.nan, r"'loss'.*finite.*row 317"),
        ("loss", None, r"'loss'.*finite.*row 317"),
        ("x_1", np.inf, r"'x_1'.*infinite.*row 317"),
        ("member", None, r"'member'.*(row 317|1 missing)"),
    ],
)
def test_a_bad_row_is_named_by_its_place_in_the_whole_table(rows, column, value, message, tmp_path):
    table = scores()
    values = table[column].to_pylist()
    values[317] = value  # in the third batch
    at = table.column_names.index(column)
    table = table.set_column(at, column, pa.array(values, type=table[column].type))
    for source in (write(table, tmp_path, "folder"), table):
        with pytest.raises(InputError, match=message):
            _pools(source, features="x_*", rows=rows)


def test_a_later_block_of_a_csv_may_be_finer_or_bad(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "BLOCK", 4096)
    path = tmp_path / "t.csv"
    rows = [f"{i % 2},{i}" for i in range(2000)]
    path.write_text("member,loss\n" + "\n".join(rows) + "\n1,0.5\n")
    assert -0.5 in _pools(path).score[:, 0]
    path.write_text("member,loss\n" + "\n".join(rows) + "\n1,low\n")
    with pytest.raises(InputError, match=r"Cannot read .*low"):
        _pools(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.mkdir(), "holds no Parquet"),
        (lambda p: None, "no file"),
        (lambda p: (p.mkdir(), (p / "a.parquet").write_text("x")), "Cannot read"),
    ],
)
def test_folders_that_hold_no_table_are_refused(make, message, tmp_path):
    make(tmp_path / "t")
    with pytest.raises(InputError, match=message):
        stored.open_table(tmp_path / "t")


def test_the_fingerprint_of_a_folder_follows_names_and_content(tmp_path):
    path = write(scores(), tmp_path, "folder")
    first = stored.fingerprint(path)
    assert stored.fingerprint(path) == first
    (path / "part-0.parquet").rename(path / "part-9.parquet")
    renamed = stored.fingerprint(path)
    pq.write_table(scores(10), path / "part-9.parquet")
    assert len({first, renamed, stored.fingerprint(path)}) == 3


def losses_of(source, seed=0, rows=150, **more):
    """The scores of the rows that are used, and their truths, in the order of the pools."""
    found = _pools(source, rows=rows, seed=seed, **more)
    assert found.subset.used == len(found.truth) == rows
    return found.score[:, 0].astype(np.float32), found.truth


@pytest.mark.parametrize("kind", ["row groups", "csv", "folder", "hive"])
def test_the_subset_depends_on_the_seed_and_the_records_alone(kind, tmp_path, monkeypatch):
    table = scores()
    table = table.set_column(2, "loss", table["loss"].cast(pa.float64()))
    expected = losses_of(table)
    shuffled = table.take(np.random.default_rng(1).permutation(1000))
    path = write(shuffled, tmp_path, kind)
    for batch in (128, 50, 1000):
        monkeypatch.setattr(stored, "BATCH", batch)
        for found, those in zip(losses_of(path), expected, strict=True):
            np.testing.assert_array_equal(found, those)
    turned = ["test" if v == "train" else "train" for v in table["member"].to_pylist()]
    other = table.set_column(1, "member", pa.array(turned))
    np.testing.assert_array_equal(losses_of(other)[0], expected[0])
    np.testing.assert_array_equal(losses_of(other)[1], -expected[1])
    assert not np.array_equal(losses_of(table, seed=1)[0], expected[0])


@pytest.mark.parametrize("levels", [2, 40])
def test_rows_that_are_equal_stay_in_proportion(levels, tmp_path, monkeypatch):
    """Where all distinct records fit, their rows are a uniform sample: none is lost for another."""
    monkeypatch.setattr(stored, "BATCH", 3000)
    rng = np.random.default_rng(0)
    member = rng.random(20_000) < 0.5
    loss = rng.integers(0, levels, 20_000)
    table = pa.table({"member": member, "loss": loss})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    used, truth = losses_of(path, rows=4000)
    for level in range(levels):
        here = -used == level
        assert abs(here.sum() - 4000 / levels) < 5 * np.sqrt(4000 / levels)
        assert abs(truth[here].mean()) < 6 / np.sqrt(here.sum())
    order = rng.permutation(20_000)
    for found, those in zip(losses_of(table.take(order), rows=4000), (used, truth), strict=True):
        np.testing.assert_array_equal(found, those)


def test_members_and_others_that_are_equal_stay_or_go_together(tmp_path, monkeypatch):
    """A record that stands in the table very often: its truths keep their odds in every subset."""
    monkeypatch.setattr(stored, "BATCH", 2500)
    rng = np.random.default_rng(0)
    often = np.arange(6000) < 3000
    loss = np.where(often, 7.0, rng.normal(size=6000))
    member = rng.random(6000) < np.where(often, 0.7, 0.5)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"member": member, "loss": loss}), path)
    shares = []
    for seed in range(60):
        used, truth = losses_of(path, seed=seed, rows=900)
        here = used == -7.0
        assert here.sum() in (0, *range(600, 800))
        shares += [float((truth[here] > 0).mean())] if here.any() else []
    assert 5 < len(shares) < 35
    assert abs(np.mean(shares) - 0.7) < 0.02
    assert np.std(shares) < 0.04


def test_every_row_is_as_likely_to_stay():
    table = scores(60).select(["member", "loss"])
    losses = np.sort(-table["loss"].to_numpy())
    stays = np.zeros(60)
    for seed in range(400):
        stays[np.searchsorted(losses, losses_of(table, seed=seed, rows=20)[0])] += 1
    assert stays.sum() == 400 * 20
    expected = 400 / 3
    assert ((stays - expected) ** 2 / (expected * 2 / 3)).sum() < 100  # chi-square, 59 degrees


def test_tables_apart_are_one_table(tmp_path):
    table = scores()
    member = table["member"].to_numpy() == "train"
    expected = losses_of(table)
    alone = table.drop_columns(["member"])
    ins, outs = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(alone.filter(pa.array(member)), ins)
    pq.write_table(alone.filter(pa.array(~member)), outs)
    apart = losses_of(None, members=ins, nonmembers=outs)
    for found, those in zip(apart, expected, strict=True):
        np.testing.assert_array_equal(found, those)


def test_features_limit_the_rows_and_the_result_says_so(monkeypatch):
    monkeypatch.setattr(pools, "AT_MOST", 800 * (2 + pools.PER_ROW))
    result = membership(scores(2000), score="loss", features="x_*", estimator="logistic")
    said = result.diagnostics.subset
    assert (said.rows, said.used) == (2000, 800)
    assert "800 of 2,000 rows" in said.sentence
    assert result.trials["pool_members"] + result.trials["pool_nonmembers"] == 800
    assert (result.trials["rows_of_the_table"], result.trials["rows_used"]) == (2000, 800)
    assert said.sentence in " ".join(str(result).split())
    whole = membership(scores(2000), score="loss")
    assert whole.diagnostics.subset is None
    with pytest.raises(InputError, match="rows must be"):
        membership(scores(2000), score="loss", rows=0)


def test_short_numbers_that_coincide_are_not_taken_for_the_same_records():
    """With few distinct scores most non-members equal some member, by chance."""
    rng = np.random.default_rng(0)
    member = rng.random(60_000) < 0.5
    loss = np.round(rng.normal(size=60_000), 4)
    membership({"member": member, "loss": loss}, score="loss", corrections=("prior",))
    with pytest.raises(InputError, match="cannot be both"):
        membership(members={"loss": loss}, nonmembers={"loss": loss[::-1]}, score="loss")


def test_compact_orders_are_the_usual_ones():
    for size in (1, 7, 1000):
        usual = np.random.default_rng(3).permutation(size)
        np.testing.assert_array_equal(permutation(size, np.random.default_rng(3)), usual)
    assert index_type(2**32) is np.uint32
    assert index_type(2**32 + 1) is np.uint64
    assert list(slices(5)) == [slice(0, 5)]
    assert list(slices(3, 3)) == []


def test_slices_change_nothing_but_rounding(monkeypatch):
    from divulge import types

    table = scores(4000)
    whole = json.loads(membership(table, score="loss").dumps())
    monkeypatch.setattr(types, "AT_ONCE", 777)
    sliced = json.loads(membership(table, score="loss").dumps())
    assert [b["value"] for b in sliced["bounds"]] == pytest.approx(
        [b["value"] for b in whole["bounds"]]
    )
    assert sliced["diagnostics"]["draw"] == whole["diagnostics"]["draw"]
    assert sliced["diagnostics"]["overlap"] == whole["diagnostics"]["overlap"]


@pytest.mark.slow
def test_ten_million_rows(tmp_path, monkeypatch):
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    member = rng.random(10_000_000) < 0.5
    loss = (rng.standard_normal(member.size, dtype=np.float32) - 0.5 * member).astype(np.float32)
    pq.write_table(pa.table({"member": member, "loss": loss}), tmp_path / "t.parquet")
    result = membership(tmp_path / "t.parquet", score="loss")
    assert result.trials["pool_members"] == member.sum()
    assert result.verdict.status == "leak"
    mu = next(b.value for b in result.bounds if b.headline and b.parameter == "mu")
    assert 0.2 < mu < 0.5
