"""Leakage per record, from tables to a result."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge
from divulge.errors import InputError
from divulge.exposure import binary, records
from divulge.exposure import exposed as scores
from divulge.exposure.covariance import estimate_covariance, known
from divulge.exposure.exposed import Release, leakage_scores, power
from divulge.games.leakage import findings
from divulge.games.leakage.play import FPRS, leakage
from divulge.result import Result
from divulge.text import rounding

D = 5


def people(count, seed, **more):
    rng = np.random.default_rng(seed)
    x = rng.standard_t(6, size=(count, D)) * np.geomspace(0.5, 20.0, D) + 3.0
    table = {f"x_{j}": x[:, j] for j in range(D)}
    return {**table, "key": [f"p{i:03d}" for i in range(count)], **more}


def matrix(table):
    return np.column_stack([table[f"x_{j}"] for j in range(D)])


DATA, REFERENCE = people(300, 1), people(400, 2)


@pytest.mark.parametrize(
    ("mechanism", "options", "release"),
    [
        ("mean", {}, Release(300)),
        ("noisy-mean", {"noise": 0.3}, Release(300, 0.3)),
        ("subsampled-mean", {"rate": 0.5}, Release(300, 0.0, 0.5)),
        ("subsampled-mean", {"rate": 0.5, "noise": 0.1}, Release(300, 0.1, 0.5)),
    ],
)
def test_the_table_holds_what_the_formulas_say(tmp_path, mechanism, options, release):
    path = tmp_path / "leakage.parquet"
    result = divulge.leakage(
        DATA, reference=REFERENCE, features="x_*", id="key", mechanism=mechanism, table=path,
        deltas=(1e-5, 1e-3), ids=True, **options,
    )  # fmt: skip
    table = pq.read_table(path)
    assert table.column_names == [
        "id", "leakage", "advantage", "tpr_at_0.01", "tpr_at_0.1", "epsilon_at_1e-05",
        "epsilon_at_0.001",
    ]  # fmt: skip
    frame = table.to_pandas()
    assert frame["leakage"].is_monotonic_decreasing
    model = estimate_covariance(matrix(REFERENCE))
    m = scores.leakage_scores(matrix(DATA), model, release)
    by_id = dict(zip(DATA["key"], m, strict=True))
    np.testing.assert_allclose(frame["leakage"], [by_id[k] for k in frame["id"]])
    np.testing.assert_allclose(frame["advantage"], scores.advantage(frame["leakage"], release.rate))
    for fpr in FPRS:
        expected = scores.power(frame["leakage"], fpr, release.rate)
        np.testing.assert_allclose(frame[f"tpr_at_{fpr:g}"], expected)
    expected = scores.epsilon(frame["leakage"], 1e-3, release.rate)
    np.testing.assert_allclose(frame["epsilon_at_0.001"], expected)
    assert result.measurements["leakage"]["largest"] == pytest.approx(m.max())
    assert result.diagnostics.most_exposed[0]["id"] == frame["id"][0]
    assert frame["id"][0] not in result.verdict.sentence


def test_the_result_is_computed_and_says_so():
    result = leakage(DATA, reference=REFERENCE, features="x_*", id="key", advantage=0.05)
    assert result.game == "leakage"
    assert result.verdict.status == "computed"
    assert result.bounds == ()
    assert "no attack was run" in result.verdict.reasons[0]
    assert result.trials == {
        "records": 300, "size": 300, "behind": 300.0, "reference": 400, "columns": D,
    }  # fmt: skip
    again = Result.from_json(json.loads(result.dumps()))
    assert again.to_json() == result.to_json()
    goal = result.diagnostics.defences
    assert goal.now > 0.05
    assert f"{goal.percentile:g}th percentile" in result.verdict.sentence
    exposed = result.diagnostics.most_exposed
    assert len(exposed) == 20
    assert all(row["advantage_by_similar"] <= row["advantage"] + 1e-12 for row in exposed)
    assert sum(result.diagnostics.exposure.records) == 300
    assert result.diagnostics.covariance.distance_ratio == pytest.approx(1.0, abs=0.25)
    assert str(result).startswith("COMPUTED")


def test_the_solved_noise_and_rate_keep_their_word(tmp_path):
    goal = {"advantage": 0.04, "percentile": 95.0, "features": "x_*", "id": "key"}
    found = leakage(DATA, reference=REFERENCE, **goal).diagnostics.defences
    assert found.noise > 0.0
    assert 0.0 < found.rate < 1.0
    for options in (
        {"mechanism": "noisy-mean", "noise": found.noise},
        {"mechanism": "subsampled-mean", "rate": found.rate},
    ):
        then = leakage(DATA, reference=REFERENCE, **goal, **options)
        assert then.diagnostics.defences.now <= 0.04
        assert then.diagnostics.defences.now > 0.039
        assert "No further noise" in then.verdict.sentence


def test_the_same_input_gives_the_same_bytes(tmp_path):
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    first, second = (
        leakage(DATA, reference=REFERENCE, features="x_*", id="key", table=p).dumps() for p in paths
    )
    assert first == second
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_size_of_the_whole_table_may_be_larger():
    part = leakage(DATA, reference=REFERENCE, features="x_*", id="key", size=3000)
    whole = leakage(DATA, reference=REFERENCE, features="x_*", id="key")
    ratio = whole.measurements["leakage"]["median"] / part.measurements["leakage"]["median"]
    assert ratio == pytest.approx(10.0)
    with pytest.raises(InputError, match="size must be at least the number of records given, 300"):
        leakage(DATA, reference=REFERENCE, features="x_*", id="key", size=10)


def test_lists_are_columns_and_rows_have_numbers(tmp_path):
    path = tmp_path / "table.csv"
    lists = [{"e": matrix(t)} for t in (DATA, REFERENCE)]
    one = leakage(lists[0], reference=lists[1], table=path)
    other = leakage(DATA, reference=REFERENCE, features="x_*", id="key", ids=True)
    assert all("id" not in record for record in one.diagnostics.most_exposed)
    assert one.measurements["leakage"] == pytest.approx(other.measurements["leakage"])
    table = pd.read_csv(path)
    assert sorted(table["id"]) == list(range(300))
    assert int(table["id"][0]) == int(other.diagnostics.most_exposed[0]["id"][1:])


def test_more_columns_than_reference_records():
    rng = np.random.default_rng(0)
    data, reference = ({"e": rng.normal(size=(40, 200))} for _ in range(2))
    result = leakage(data, reference=reference)
    covariance = result.diagnostics.covariance
    assert covariance.shrinkage > 0.9
    assert covariance.distance_ratio == pytest.approx(1.0, abs=0.2)
    diagonal = leakage(data, reference=reference, covariance="diagonal")
    assert diagonal.diagnostics.covariance.correlated == 0


def test_records_that_stand_in_the_reference_are_counted():
    both = {k: [*DATA[k][:7], *REFERENCE[k]] for k in DATA}
    result = leakage(DATA, reference=both, features="x_*", id="key")
    assert result.diagnostics.covariance.shared_with_reference == 7
    assert "7 of the records are also in the reference" in result.verdict.reasons[-1]
    clean = leakage(DATA, reference=REFERENCE, features="x_*", id="key")
    assert clean.diagnostics.covariance.shared_with_reference == 0


def test_shared_rows_treat_both_zeros_alike():
    first, second = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[-0.0, 1.0], [1.0, 0.0]])
    assert records.shared_rows(first, second) == 1


def test_a_similar_record_keeps_a_share():
    rng = np.random.default_rng(3)
    reference = rng.normal(size=(300, 20))
    near = reference[:50] + 0.05 * rng.normal(size=(50, 20))
    far = rng.normal(size=(50, 20))
    shares = [
        leakage({"e": z}, reference={"e": reference}).diagnostics.similar.median_share
        for z in (near, far)
    ]
    assert shares[0] > 0.97
    assert shares[1] < 0.8


def test_constant_columns_are_an_error_unless_left_out():
    data, reference = ({**t, "x_9": np.full(len(t["key"]), 0.1)} for t in (DATA, REFERENCE))
    with pytest.raises(InputError, match="Column 'x_9' is constant over the 400 reference"):
        leakage(data, reference=reference, features="x_*", id="key")
    result = leakage(data, reference=reference, features="x_*", id="key", drop_constant=True)
    assert result.diagnostics.covariance.dropped_columns == ("x_9",)
    assert result.trials["columns"] == D
    data["x_9"][17] = 5.0
    with pytest.raises(InputError, match=r"'x_9' is 0.1 in every reference record but 5 in row 17"):
        leakage(data, reference=reference, features="x_*", id="key", drop_constant=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "key", "id": None}, "Column 'key' of the data holds String, not numbers"),
        ({"features": "y_*"}, "No column of the data matches"),
        ({"features": ["x_0", "key"]}, "The id column 'key' must not be a feature"),
        ({"id": "kee"}, "Did you mean 'key'"),
        ({"mechanism": "median"}, "Unknown mechanism 'median'"),
        ({"noise": 1.0}, "adds no noise. Use 'noisy-mean'"),
        ({"mechanism": "noisy-mean"}, "needs noise"),
        ({"mechanism": "noisy-mean", "noise": -1.0}, "noise must be finite and at least 0"),
        ({"mechanism": "noisy-mean", "noise": 1.0, "rate": 0.5}, "uses every record"),
        ({"mechanism": "subsampled-mean"}, "needs rate"),
        ({"mechanism": "subsampled-mean", "rate": 0.0}, r"rate must lie in \(0, 1\]"),
        ({"mechanism": "subsampled-mean", "rate": 1.5}, r"rate must lie in \(0, 1\]"),
        ({"mechanism": "subsampled-mean", "rate": 1e-5}, "less than one record"),
        ({"deltas": (0.0,)}, "delta must lie in"),
        ({"fprs": (1.0,)}, "fpr must lie in"),
        ({"advantage": 0.0}, "advantage must lie in"),
        ({"percentile": 101.0}, "percentile must lie in"),
        ({"covariance": "full"}, "Unknown covariance 'full'"),
        ({"table": "table.json"}, "must end in .parquet or .csv"),
        ({"table": "nowhere/table.csv"}, "no folder nowhere"),
    ],
)
def test_bad_input(options, message):
    words = {"features": "x_*", "id": "key", **options}
    with pytest.raises(InputError, match=message):
        leakage(DATA, reference=REFERENCE, **words)


def test_bad_tables():
    with pytest.raises(InputError, match="the reference has no column 'x_4'"):
        leakage(DATA, reference={k: v for k, v in REFERENCE.items() if k != "x_4"}, id="key")
    broken = {**DATA, "x_2": np.where(np.arange(300) == 17, np.nan, DATA["x_2"])}
    with pytest.raises(InputError, match=r"'x_2' of the data must be finite\. Found nan in row 17"):
        leakage(broken, reference=REFERENCE, features="x_*", id="key")
    with pytest.raises(InputError, match="lists differ in length"):
        leakage({"e": np.ones((20, 3))}, reference={"e": np.ones((20, 2))})
    ragged = pa.table({"e": [[1.0, 2.0], [1.0]] * 10})
    with pytest.raises(InputError, match=r"a list of the same length\. Found lengths 2, 1"):
        leakage(ragged, reference=ragged)
    infinite = {"e": np.where(np.eye(20) > 0, math.inf, 1.0)}
    with pytest.raises(InputError, match=r"must be finite\. It is not in row 0"):
        leakage(infinite, reference=infinite)
    words = pa.table({"e": [["a", "b"]] * 20})
    with pytest.raises(InputError, match=r"must hold numbers\. Found string"):
        leakage(words, reference=words)


def test_a_table_that_fails_leaves_nothing_behind(tmp_path):
    path = tmp_path / "leakage.parquet"
    with pytest.raises(InputError, match="constant"):
        leakage({"e": np.ones((20, 3))}, reference={"e": np.ones((20, 3))}, table=path)
    assert list(tmp_path.iterdir()) == []


def rare_answers(count, seed, p=(0.02, 0.3, 0.5)):
    """0/1 columns, one of them rare; the first two records have the rare one."""
    rng = np.random.default_rng(seed)
    x = (rng.random((count, len(p))) < np.array(p)).astype(int)
    x[:2, 0] = 1
    return {f"b_{j}": x[:, j] for j in range(len(p))}


def test_zeros_and_ones_are_computed_exactly(tmp_path):
    data, reference = rare_answers(60, 1), rare_answers(3000, 2)
    path = tmp_path / "leakage.parquet"
    result = leakage(data, reference=reference, features="b_*", table=path)
    table = pq.read_table(path).to_pandas()
    rows = np.column_stack([data[f"b_{j}"] for j in range(3)]).astype(float)[table["id"]]
    p = np.column_stack([reference[f"b_{j}"] for j in range(3)]).mean(axis=0)
    found = binary.exact(rows, p, Release(60), fprs=FPRS, deltas=(1e-5,))
    assert table["exact_advantage"].to_numpy() == pytest.approx(found.advantage)
    assert table["exact_tpr_at_0.01"].to_numpy() == pytest.approx(found.power[0])
    assert np.isinf(table["exact_epsilon_at_1e-05"][0])
    assert table["leakage"].is_monotonic_decreasing
    assert rounding.short(found.advantage[0]) in result.verdict.sentence
    said = " ".join(result.verdict.reasons)
    assert "are exact" in said
    assert "close to normal (many records" not in said
    assert "epsilon at delta 1e-05 is infinite for" in said
    top = result.diagnostics.most_exposed[0]
    assert top["exact_epsilon_at_1e-05"] == "infinite"
    assert result.diagnostics.normality[0].column == "b_0"
    assert result.diagnostics.power.largest[1] < result.diagnostics.power.largest[-1]
    again = Result.from_json(json.loads(result.dumps()))
    assert again.measurements["exact_epsilon_at_1e-05"]["largest"] == "infinite"


def test_of_many_records_some_are_computed_exactly(monkeypatch):
    monkeypatch.setattr("divulge.games.leakage.play.MOST_EXACT", 5)
    data = rare_answers(100, 3)
    measured = []
    kept = findings.result

    def keep(read, found, setting, **more):
        measured.append(found)
        return kept(read, found, setting, **more)

    monkeypatch.setattr(findings, "result", keep)
    leakage(data, reference=rare_answers(2000, 4), features="b_*")
    known = ~np.isnan(measured[0].columns["exact_advantage"])
    assert findings.SHOWN <= known.sum() <= findings.SHOWN + 5
    assert known[measured[0].order[: findings.SHOWN]].all()


def test_a_mean_that_is_not_normal_is_said():
    rng = np.random.default_rng(5)
    data, reference = (
        {**rare_answers(n, s), "z": np.exp(2.0 * rng.normal(size=n))}
        for n, s in ((60, 6), (900, 7))
    )
    result = leakage(data, reference=reference)
    assert "exact_advantage" not in result.measurements
    warning = next(r for r in result.verdict.reasons if "not close to normal" in r)
    assert "'z'" in warning
    assert "'b_0'" in warning
    assert "'b_2'" not in warning
    assert {row.column for row in result.diagnostics.normality} == {"z", "b_0"}
    fine = leakage(DATA, reference=REFERENCE, features="x_*")
    assert not any("not close to normal" in r for r in fine.verdict.reasons)
    noisy = leakage(
        rare_answers(60, 1), reference=rare_answers(3000, 2), features="b_*",
        mechanism="noisy-mean", noise=0.2,
    )  # fmt: skip
    assert "exact_advantage" not in noisy.measurements
    assert noisy.diagnostics.normality is None


def test_noise_by_column_is_that_of_the_columns_that_are_left():
    """A column that is dropped takes its own noise with it, and no other."""
    rng = np.random.default_rng(5)
    data, other = rng.normal(size=(60, 3)), rng.normal(size=(200, 3))
    data[:, 1], other[:, 1] = 2.0, 2.0

    def table(values):
        return {name: values[:, j] for j, name in enumerate("abc")}

    words = {"mechanism": "noisy-mean", "drop_constant": True}
    found = divulge.leakage(table(data), reference=table(other), noise=[0.1, 9.0, 0.3], **words)
    assert found.diagnostics.mechanism.noise_by_column == (0.1, 0.3)
    with pytest.raises(InputError, match="at least 0"):
        divulge.leakage(table(data), reference=table(other), noise=[0.1, 0.1, -0.3], **words)


def test_the_power_under_noise_by_column_is_that_of_games_played():
    """Theorem 4.1 with C_gamma: 40,000 games of either kind, at three false-positive rates."""
    rng = np.random.default_rng(6)
    size, games, gamma = 50, 40_000, np.array([0.0, 0.05, 0.4])
    spread = np.array([1.0, 0.5, 2.0])
    target = np.array([4.0, -3.0, 9.0])
    release = Release(size, tuple(gamma))
    model = known(np.zeros(3), spread**2)
    m = float(leakage_scores(target, model, release))

    def released(inside: bool) -> np.ndarray:
        behind = size - inside
        total = rng.normal(0.0, spread * np.sqrt(behind), (games, 3)) + inside * target
        return total / size + rng.normal(size=(games, 3)) * gamma

    noisy = release.covariance(model)
    out, within = (noisy.inner(released(b), np.tile(target, (games, 1))) for b in (False, True))
    for fpr in (0.01, 0.1, 0.4):
        seen = np.mean(within > np.quantile(out, 1.0 - fpr))
        expected = float(power(m, fpr))
        assert seen == pytest.approx(expected, abs=0.012)
