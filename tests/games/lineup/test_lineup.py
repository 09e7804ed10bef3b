"""The line-up: three forms of one table, groups, ranks, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import divulge
from divulge.errors import InputError

ROWS, CANDIDATES = 240, 6


def scores(leak=1.5, rows=ROWS, candidates=CANDIDATES, seed=1):
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(rows, candidates))
    out[:, 0] += leak
    return out


def wide(matrix):
    return pd.DataFrame(matrix, columns=[f"s_{j}" for j in range(matrix.shape[1])])


def long(matrix, name="score"):
    rows, candidates = matrix.shape
    return pd.DataFrame(
        {
            "id": np.repeat([f"r{k}" for k in range(rows)], candidates),
            "true": np.tile([1] + [0] * (candidates - 1), rows),
            name: matrix.ravel(),
        }
    )


def values(result):
    return {(b.parameter, b.delta): b.value for b in result.bounds}


@pytest.fixture(scope="module")
def leaking():
    return divulge.lineup(wide(scores()))


def test_a_leak_is_proved_and_robust(leaking):
    assert (leaking.verdict.status, leaking.verdict.robust) == ("leak", True)
    proved = values(leaking)
    assert set(proved) == {("epsilon", 0.0), ("mu", None), ("epsilon", 1e-5)}
    assert proved["epsilon", 0.0] > 2.0
    assert 0.3 < proved["mu", None] < 1.5 * np.sqrt(2.0)
    assert all(b.standing == "proved" and b.headline for b in leaking.bounds)
    assert any("drawn from the true value's own" in a for a in leaking.bounds[0].assumptions)
    assert any("replacement" in a for a in leaking.bounds[0].assumptions)


def test_measurements_are_those_of_the_ranks(leaking):
    matrix = scores()
    rank = 1 + (matrix[:, 1:] > matrix[:, :1]).sum(axis=1)
    found = leaking.measurements
    assert found["mean_rank"] == pytest.approx(rank.mean())
    assert found["top_1"] == pytest.approx((rank == 1).mean())
    assert found["mean_reciprocal_rank"] == pytest.approx((1.0 / rank).mean())
    assert found["exposure_max"] == pytest.approx(np.log2(CANDIDATES))
    shown = leaking.diagnostics.ranks
    assert shown.records == tuple(np.bincount(rank, minlength=CANDIDATES + 1)[1:])
    assert sum(shown.by_chance) == pytest.approx(ROWS)
    assert leaking.diagnostics.draw.learned_from == round(0.3 * ROWS)


def test_nothing_is_claimed_where_nothing_leaks():
    result = divulge.lineup(wide(scores(0.0)))
    assert result.verdict.status == "no evidence"
    assert max(values(result).values()) == 0.0


def test_wide_long_and_lists_in_any_order_are_one_table(leaking):
    matrix = scores()
    shuffled = long(matrix).sample(frac=1.0, random_state=3)
    renamed = wide(matrix)[[f"s_{j}" for j in (3, 5, 0, 1, 2, 4)]].sample(frac=1.0, random_state=1)
    tables = [
        (shuffled, {"id": "id"}),
        (renamed, {}),
        (pd.DataFrame({"score": list(matrix)}), {}),
        (wide(matrix).rename(columns={"s_0": "own"}), {"score": ["own", "s_*"], "truth": "own"}),
        (long(-matrix, "loss"), {"score": "loss", "id": "id"}),
        (long(-matrix), {"lower_is_member": True, "id": "id"}),
    ]
    for table, words in tables:
        assert values(divulge.lineup(table, **words)) == values(leaking)


def test_where_the_true_value_stands_does_not_matter():
    """All scores equal but a few: ties must not fall to the first candidate."""
    matrix = np.zeros((ROWS, 4))
    matrix[0, 1] = 1.0
    result = divulge.lineup(wide(matrix))
    assert max(values(result).values()) == 0.0
    assert 0.15 < result.measurements["top_1"] < 0.35


def test_several_scores_of_each_candidate():
    one, two = scores(0.8), scores(0.8, seed=2)
    table = long(one).assign(other=two.ravel())
    alone = values(divulge.lineup(table[["id", "true", "score"]], id="id"))
    both = values(divulge.lineup(table, score=["score", "other"], id="id"))
    assert both["epsilon", 0.0] > alone["epsilon", 0.0]


def test_a_value_in_several_records_is_one_trial_and_proves_less(leaking):
    matrix = scores()
    twice = pd.concat([wide(matrix).assign(v=np.arange(ROWS))] * 2)
    grouped = divulge.lineup(twice, unit="v")
    assert grouped.trials["lineups"] == ROWS
    assert grouped.trials["records"] == 2 * ROWS
    assert grouped.trials["most_copies"] == 2
    stated = divulge.lineup(wide(matrix).assign(n=2), copies="n")
    for found in (values(grouped), values(stated)):
        assert 0.0 < found["epsilon", 0.0] <= 0.55 * values(leaking)["epsilon", 0.0]
        assert 0.0 < found["mu", None] <= 0.7 * values(leaking)["mu", None]
        assert 0.0 < found["epsilon", 1e-5] <= 0.7 * values(leaking)["epsilon", 1e-5]


def test_equal_values_are_one_draw_only_if_chance_repeats_none(leaking):
    rng = np.random.default_rng(3)
    keys = np.array(["".join(rng.choice(list("0123456789abcdef"), 16)) for _ in range(ROWS)])
    twice = pd.concat([wide(scores()).assign(v=keys, n=np.arange(ROWS))] * 2)
    found = divulge.lineup(twice, value="v")
    assert found.trials["most_copies"] == 2
    assert any("none are equal by chance" in a for b in found.bounds for a in b.assumptions)
    popular = twice.assign(v=rng.choice(["ann", "bob", "eve"], 2 * ROWS))
    with pytest.raises(InputError, match="as unit"):
        divulge.lineup(popular, value="v")
    assert divulge.lineup(popular, unit="n").trials["lineups"] == ROWS
    with pytest.raises(InputError, match="hold different values"):
        divulge.lineup(popular, value="v", unit="n")


def test_alternatives_that_repeat_tell_that_true_values_may():
    rows = [
        {
            "id": i,
            "true": j == 0,
            "score": float(j),
            "v": f"w{(7 * i + j) % 50 if j else i % 40}x{j > 0}",
        }
        for i in range(60)
        for j in range(4)
    ]
    with pytest.raises(InputError, match="stands in another line-up too"):
        divulge.lineup(pd.DataFrame(rows), id="id", value="v")


def test_ranks_are_written_on_request(tmp_path, leaking):
    target = tmp_path / "ranks.csv"
    table = wide(scores()).assign(key=[f"k{i}" for i in range(ROWS)])
    result = divulge.lineup(table, id="key", table=target)
    written = pd.read_csv(target)
    assert list(written.columns) == ["id", "rank", "candidates", "exposure", "copies"]
    assert sorted(written["id"]) == sorted(table["key"])
    assert written["rank"].is_monotonic_increasing
    assert written["rank"].mean() == pytest.approx(result.measurements["mean_rank"])
    matrix = scores()
    own = dict(zip(table["key"], 1 + (matrix[:, 1:] > matrix[:, :1]).sum(axis=1), strict=True))
    assert all(own[i] == r for i, r in zip(written["id"], written["rank"], strict=True))


def test_a_result_survives_its_json(leaking):
    again = divulge.Result.from_json(json.loads(leaking.dumps()))
    assert again.diagnostics.ranks == leaking.diagnostics.ranks


def test_too_little_to_conclude():
    few = divulge.lineup(wide(scores(rows=19)))
    flat = divulge.lineup(wide(np.ones((50, 3))))
    assert few.verdict.status == flat.verdict.status == "cannot conclude"
    assert "19 line-ups are too few" in few.verdict.reasons[0]
    assert "the same score" in flat.verdict.reasons[0]


def changed(table, row, **cells):
    out = table.copy()
    for name, cell in cells.items():
        out.loc[row, name] = cell
    return out


GOOD, LONG = wide(scores(rows=30)), long(scores(rows=30))
VALUED = LONG.assign(v=np.arange(len(LONG)))


@pytest.mark.parametrize(
    ("table", "words", "message"),
    [
        (changed(GOOD, 7, s_2=np.nan), {}, r"'s_2' of the table must be finite.*row 7"),
        (changed(LONG, 8, score=np.inf), {"id": "id"}, r"'score' .* must be finite.*row 8"),
        (GOOD[["s_0"]], {}, "at least 2 candidates"),
        (GOOD[["s_1", "s_2"]], {}, "Which column holds the scores of the true values"),
        (GOOD, {"truth": "s_9"}, "'s_9', is not among the scores"),
        (GOOD.rename(columns=str.upper), {}, "neither columns s_"),
        (LONG.drop(index=4), {"id": "id"}, r"line-up 'r0' .*row 0\) has 5 candidates where .* 6"),
        (changed(LONG, 13, true=1), {"id": "id"}, r"'r2' .* one true candidate. It has 2"),
        (changed(LONG, 12, true=0), {"id": "id"}, r"'r2' .* one true candidate. It has 0"),
        (LONG, {}, "which rows are one line-up as id"),
        (LONG[LONG["true"] == 1], {"id": "id"}, "at least 2 candidates"),
        (changed(VALUED, 14, v=12), {"id": "id", "value": "v"}, r"'r2' \(row 12\): an alternative"),
        (changed(VALUED, 14, v=15), {"id": "id", "value": "v"}, "two alternatives are equal"),
        (GOOD.assign(n=0), {"copies": "n"}, "whole numbers of at least 1.*Found 0 in row 0"),
        (GOOD.assign(n=1), {"copies": "n", "value": "n"}, "not both"),
        (GOOD.assign(v=None), {"value": "v"}, "no value in row 0"),
        (GOOD, {"value": "v"}, "has no column 'v'"),
        (GOOD, {"copies": "s_1"}, "cannot be a score as well"),
        (pd.DataFrame({"score": [[1.0]] * 30}), {}, "at least 2 candidates"),
        (pd.DataFrame({"score": [[1.0, 2.0]] * 29 + [[1.0]]}), {}, r"same length.*row 29"),
    ],
)  # fmt: skip
def test_bad_input_is_one_clear_error(table, words, message):
    with pytest.raises(InputError, match=message):
        divulge.lineup(table, **words)
