"""Tables that can be read but hold the wrong values: NaN, words, dates, lists, one class."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import small_inputs as small
from commands import run
from hostile import (
    ROWS,
    Case,
    contents,
    csv,
    document,
    lay_out,
    numbers,
    parametrised,
    parquet,
    refused,
)
from hostile import replaced as changed

from divulge.errors import CannotConclude

DAY = datetime.date(2020, 1, 1)
FEATURES = (*small.MEMBERSHIP_COMMAND, "--features", "x")
MANY = 600
"""Members enough for a synthetic audit to look at their values."""
TAUGHT = {"loss": numbers(rows=MANY), "x": [v + k for k, v in enumerate(numbers(rows=MANY))]}
MADE = {"loss": numbers(0.5, MANY), "x": [v - k for k, v in enumerate(numbers(0.3, MANY))]}

NOT_NUMBERS: dict[str, Any] = {
    "words": ["much"] * ROWS,
    "one word": [*numbers(rows=ROWS - 1), "much"],
    "dates": [DAY] * ROWS,
    "times": [datetime.time(1, k % 60) for k in range(ROWS)],
    "bytes": [b"\xff"] * ROWS,
    "records": [{"a": 1.0}] * ROWS,
    "nothing": pa.nulls(ROWS),
    "intervals": pa.array([datetime.timedelta(days=1)] * ROWS),
}
"""Columns that are not numbers; the second and the seventh only as CSV and Parquet have them."""


def column(values: Any, of: Mapping[str, Sequence[Any]], name: str) -> bytes:
    """A table as Parquet with one column replaced; of mixed types as CSV."""
    if isinstance(values, list) and len({type(v) for v in values}) > 1:
        return csv({**of, name: values})
    return parquet({**of, name: values})


def swapped(command: tuple[str, ...], file: str, content: bytes) -> tuple[tuple[str, ...], str]:
    """The command on Parquet where the content is Parquet."""
    if not content.startswith(b"PAR1"):
        return command, file
    new = file.replace(".csv", ".parquet")
    return tuple(new if word == file else word for word in command), new


TABLES: list[tuple[str, tuple[str, ...], str, Mapping[str, Sequence[Any]], str]] = [
    ("score", small.MEMBERSHIP_COMMAND, "membership.csv", small.MEMBERSHIP, "loss"),
    ("score of members", small.APART_COMMAND, "members.csv", small.POOL, "loss"),
    ("probability", small.ATTRIBUTE_COMMAND, "attribute.csv", small.ATTRIBUTE, "p_1"),
    ("proxy", small.ATTRIBUTE_COMMAND, "attribute.csv", small.ATTRIBUTE, "q_0"),
    ("record", small.LEAKAGE_COMMAND, "records.csv", small.RECORDS, "a"),
    ("reference", small.LEAKAGE_COMMAND, "reference.csv", small.REFERENCE, "b"),
    ("canary's column", (*small.PLAN_COMMAND, "--strategy", "mahalanobis"), "records.csv",
     small.RECORDS, "a"),
    ("propensity", (*FEATURES, "--propensity", "pi"), "membership.csv",
     {**small.MEMBERSHIP, "pi": [0.5] * ROWS}, "pi"),
    ("reference score", (*FEATURES, "--reference-score", "ref"), "membership.csv",
     {**small.MEMBERSHIP, "ref": numbers()}, "ref"),
]  # fmt: skip
"""Columns of numbers: what they are, a command, the file, its columns, the column."""


def number_cases() -> Iterator[Case]:
    for what, command, file, columns, name in TABLES:
        for kind, values in NOT_NUMBERS.items():
            content = column(values, columns, name)
            typed, place = swapped(command, file, content)
            files = small.FILES | {place: content}
            yield Case(f"{what} of {kind}", typed, files, (f"{name!r}",))
        for value in ("nan", "inf", "-inf", "1e400", None):
            files = small.FILES | {file: csv(changed(columns, name, value))}
            yield Case(f"{what} is {value}", command, files, (f"{name!r}", "row 3"))


@parametrised(number_cases(), one_in=3)
def test_a_column_that_must_hold_numbers(case, tmp_path):
    refused(case, tmp_path)


def membership(name: str, columns: Mapping[str, Any], says: str, *more: str, code: int = 2) -> Case:
    """A table of the membership game, as Parquet where its columns are not plain."""
    plain = all(isinstance(v, list) for v in columns.values())
    flat = plain and not any(
        isinstance(c, list | dict | bytes) for v in columns.values() for c in v
    )
    content = csv(columns) if flat else parquet(columns)
    command, place = swapped((*small.MEMBERSHIP_COMMAND, *more), "membership.csv", content)
    return Case(name, command, {place: content}, (says,), code)


BASE = small.MEMBERSHIP
TRUTHS = [
    membership("all are members", {**BASE, "member": [1] * ROWS}, "holds no non-member"),
    membership("nobody is a member", {**BASE, "member": [0] * ROWS}, "holds no member"),
    membership("three values", {**BASE, "member": [k % 3 for k in range(ROWS)]}, "Found 3"),
    membership("0, 1 and -1", changed(BASE, "member", -1), "Found 3"),
    membership("yes, no, maybe", {**BASE, "member": ["yes", "no", "maybe"] * 20}, "'maybe'"),
    membership("true, false, nothing", changed(BASE, "member", None), "missing"),
    membership("two other words", {**BASE, "member": ["red", "blue"] * 30}, "must have two values"),
    membership("1 and 2", {**BASE, "member": [1, 2] * 30}, "must have two values"),
    membership("halves", {**BASE, "member": [0.5, 1.0] * 30}, "must have two values"),
    membership("NaN among floats", {**BASE, "member": [0.0, 1.0, "nan"] * 20}, "'member'"),
    membership("dates", {**BASE, "member": [DAY] * ROWS}, "must have two values"),
    membership("lists", {**BASE, "member": pa.array([[1]] * ROWS)}, "must have two values"),
    membership("one row", {k: v[:1] for k, v in BASE.items()}, "an audit needs both kinds"),
    membership("a propensity of 0", {**BASE, "pi": [0.0, *([0.5] * (ROWS - 1))]},
               "strictly in (0, 1)", "--features", "x", "--propensity", "pi"),
    membership("a propensity of 1", {**BASE, "pi": [1.0] * ROWS},
               "strictly in (0, 1)", "--features", "x", "--propensity", "pi"),
    membership("an infinite feature", changed(BASE, "x", "inf"), "row 3", "--features", "x"),
    membership("an empty feature", {**BASE, "x": [None] * ROWS}, "no value", "--features", "x"),
    membership("a feature of NaN", {**BASE, "x": ["nan"] * ROWS}, "'x'", "--features", "x"),
    membership("lists that contain lists of two lengths",
               {**BASE, "x": pa.array([[[0.1]], [[0.2, 0.3]]] * 30)},
               "same length", "--features", "x"),
    membership("lists that contain lists and gaps",
               {**BASE, "x": pa.array([[[0.1]], [None]] * 30)}, "'x'", "--features", "x"),
    membership("a feature near the end of floats", changed(BASE, "x", "1e308"),
               "beyond 1e+100 in row 3", "--features", "x"),
    membership("a score near the end of floats", changed(BASE, "loss", "-1e308"),
               "beyond 1e+100 in row 3"),
    membership("a score near the end of single precision",
               {**BASE, "loss": pa.array([3e38, *numbers(rows=ROWS - 1)], pa.float32())},
               "beyond 1e+18 in row 0"),
    membership("a feature of intervals",
               {**BASE, "x": pa.array([datetime.timedelta(days=k) for k in range(ROWS)])},
               "'x'", "--features", "x"),
    membership("a feature of times",
               {**BASE, "x": pa.array([datetime.time(k % 24) for k in range(ROWS)])},
               "'x'", "--features", "x"),
    membership("lists of two lengths", {**BASE, "x": pa.array([[0.1], [0.2, 0.3]] * 30)},
               "same length", "--features", "x"),
    membership("lists of words", {**BASE, "x": pa.array([["a"], ["b"]] * 30)},
               "numbers", "--features", "x"),
    membership("lists with a gap",
               {**BASE, "x": pa.array([[k, k if k != 7 else None] for k in range(ROWS)])},
               "row 7", "--features", "x"),
    membership("a missing list", {**BASE, "x": pa.array([None, [0.2, 0.3]] * 30)},
               "'x'", "--features", "x"),
    membership("empty lists", {**BASE, "x": pa.array([[]] * ROWS, pa.list_(pa.float64()))},
               "'x'", "--features", "x"),
    membership("a feature of records", {**BASE, "x": pa.array([{"a": k} for k in range(ROWS)])},
               "'x'", "--features", "x"),
    membership("a feature of bytes", {**BASE, "x": pa.array([b"\xff"] * ROWS)},
               "'x'", "--features", "x"),
]  # fmt: skip


@parametrised(TRUTHS)
def test_a_membership_table(case, tmp_path):
    refused(case, tmp_path)


def canaries(name: str, says: str, count: int, scores: Sequence[float]) -> Case:
    plan = {**small.PLAN, **{k: small.PLAN[k][:count] for k in ("ids", "rows", "included")}}
    files = {
        "plan.json": document({**plan, "canaries": count}),
        "scores.csv": csv({"row": list(range(count)), "loss": scores}),
    }
    return Case(name, small.AUDIT_COMMAND, files, (says,), 3)


UNDECIDED = [
    membership("two rows", {k: v[:2] for k, v in BASE.items()}, "at least 20", code=3),
    membership("a constant score", {**BASE, "loss": [0.5] * ROWS}, "same in every row", code=3),
    membership("two scores, one constant", {**BASE, "flat": [1] * ROWS}, "'flat'",
               "--score", "loss,flat", code=3),
    Case("a constant score", small.AUDIT_COMMAND,
         small.FILES | {"scores.csv": csv({**small.SCORES, "loss": [1] * small.PLANNED})},
         ("the same for every canary",), 3),
    membership("few rows for features", BASE, "trials are too few", "--features", "x", code=3),
    Case("few training records", small.ATTRIBUTE_COMMAND, small.FILES, ("too few",), 3),
    canaries("few canaries", "too few", 19, numbers(rows=19)),
]  # fmt: skip


@parametrised(UNDECIDED)
def test_nothing_can_be_concluded(case, tmp_path):
    undecided(case, tmp_path)


def undecided(case: Case, tmp_path: Path) -> None:
    """A Result that says why, the same on stdout and in the file, with a report and exit code 3."""
    lay_out(case.files, tmp_path)
    before = contents(tmp_path)
    outputs = ("--json", "--out", "found.json", "--report", "found.html")
    done = run(*case.command, *outputs, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "divulge: " not in done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"]["status"] == "cannot conclude"
    assert found["bounds"] == []
    assert all(word in " ".join(found["verdict"]["reasons"]) for word in case.says)
    assert found["provenance"]["inputs"]
    after = contents(tmp_path)
    assert json.loads(after.pop("found.json") or b"") == found
    assert b"Nothing can be concluded" in (after.pop("found.html") or b"")
    assert after == before
    shown = run(*case.command, cwd=tmp_path)
    assert shown.returncode == 3
    assert "Nothing can be concluded" in shown.stdout


def attribute(name: str, columns: Mapping[str, Any], says: str, *more: str) -> Case:
    plain = all(isinstance(v, list) for v in columns.values())
    content = csv(columns) if plain else parquet(columns)
    command, place = swapped((*small.ATTRIBUTE_COMMAND, *more), "attribute.csv", content)
    return Case(name, command, {place: content}, (says,))


LABELS = small.ATTRIBUTE
NO_PROXY = {k: v for k, v in LABELS.items() if not k.startswith("q_")}
PROBABILITIES = [
    attribute("one class", {**LABELS, "y": [1] * ROWS}, "only one value"),
    attribute("a class without a column", changed(LABELS, "y", 2), "'2' in row 3"),
    attribute("a missing label", changed(LABELS, "y", None), "1 missing values"),
    attribute("a sum of 1.5", changed(LABELS, "p_1", 1.0), "must sum to 1"),
    attribute("a sum of 0", {**LABELS, "p_0": [0.0] * ROWS, "p_1": [0.0] * ROWS}, "sum to 1"),
    attribute("a sum of 0.9", changed(LABELS, "q_0", 0.4), "must sum to 1"),
    attribute("a negative probability", changed(LABELS, "p_0", -0.25), "must hold probabilities"),
    attribute("a probability above 1", changed(LABELS, "p_0", 1.25), "must hold probabilities"),
    attribute("a percentage", {**LABELS, "p_0": [25] * ROWS}, "must hold probabilities"),
    attribute("huge probabilities", changed(LABELS, "p_0", "1e30"), "must hold probabilities"),
    attribute("classes of the proxy differ", {**NO_PROXY, "q_a": [0.5] * ROWS, "q_b": [0.5] * ROWS},
              "differ"),
    attribute("no probabilities", {"y": LABELS["y"], "x": LABELS["x"]}, "has no column 'p_0'"),
    attribute("a proxy that is the target", {**LABELS, "q_0": [0.25] * ROWS, "q_1": [0.75] * ROWS},
              "they are the same model"),
    attribute("an exact proxy that is missing", NO_PROXY, "no proxy to treat as exact",
              "--proxy-exact"),
    attribute("bins of words", {**LABELS, "w": ["a", "b"] * 30}, "must hold numbers",
              "--protected", "w", "--bins", "3"),
    attribute("bins of one value", {**LABELS, "w": [1.0] * ROWS}, "too few distinct values",
              "--protected", "w", "--bins", "3"),
    attribute("an infinite feature", changed(LABELS, "x", "inf"), "row 3"),
    attribute("a feature of ragged lists", {**LABELS, "x": pa.array([[[0.1]], [[]]] * 30)}, "'x'"),
    attribute("labels in lists", {**LABELS, "y": pa.array([[0], [1]] * 30)}, "'y'"),
]  # fmt: skip


@parametrised(PROBABILITIES)
def test_an_attribute_table(case, tmp_path):
    refused(case, tmp_path)


def synthetic(
    name: str, says: str, *more: str, taught: Mapping[str, Any] = TAUGHT,
    made: Mapping[str, Any] = MADE, further: Mapping[str, bytes] | None = None,
) -> Case:  # fmt: skip
    files = {"members.csv": csv(taught), "nonmembers.csv": csv(made), **(further or {})}
    return Case(name, (*small.SYNTHETIC_COMMAND, "--no-cache", *more), files, (says,))


SYNTHETIC = [
    synthetic("copies of the members", "exact copies of members", made=TAUGHT),
    synthetic("a loss of NaN", "'loss'", taught=changed(TAUGHT, "loss", "nan")),
    synthetic("an infinite loss", "'loss'", made=changed(MADE, "loss", "inf")),
    synthetic("losses in words", "'loss'", taught={**TAUGHT, "loss": ["low"] * MANY}),
    synthetic("generated without losses", "'loss'", made={"x": MADE["x"]}),
    synthetic("generated without features", "'x'", made={"loss": MADE["loss"]}),
    synthetic("generated words for numbers", "'x'", made={**MADE, "x": ["a", "b"] * 300}),
    synthetic("no features", "no feature columns", taught={"loss": TAUGHT["loss"]}),
    synthetic("an infinite feature", "'x'", taught=changed(TAUGHT, "x", "inf")),
    synthetic("a feature of NaN", "'x'", taught={**TAUGHT, "x": ["nan"] * MANY},
              made={**MADE, "x": ["nan"] * MANY}),
    synthetic("few real non-members", "too few for a comparison", "--nonmembers", "real.csv",
              further={"real.csv": csv(small.POOL)}),
    synthetic("real non-members without losses", "'loss'", "--nonmembers", "real.csv",
              further={"real.csv": csv({"x": numbers()})}),
]  # fmt: skip


@parametrised(SYNTHETIC)
def test_tables_of_a_synthetic_audit(case, tmp_path):
    refused(case, tmp_path)


def counts(name: str, says: str, **columns: Any) -> Case:
    content = csv({**small.COUNTS, **columns})
    return Case(name, small.RETRAINING_COMMAND, {"counts.csv": content}, (says,))


COUNTS = [
    counts("more errors than models", "", false_positives=[40, 101, 3, 4]),
    counts("negative errors", "", false_negatives=[-1, 0, 1, 2]),
    counts("no models", "", negatives=[0, 100, 100, 100]),
    counts("rates", "whole numbers", false_positives=[0.4, 0.35, 0.1, 0.2]),
    counts("halves", "whole numbers", positives=[99.5, 100, 100, 100]),
    counts("NaN", "row 1", negatives=[100, "nan", 100, 100]),
    counts("infinity", "row 1", positives=[100, "inf", 100, 100]),
    counts("a gap", "row 2", positives=[100, 100, None, 100]),
    counts("words", "must hold numbers", positives=["many"] * 4),
    counts("dates", "must hold numbers", positives=["2020-01-01"] * 4),
    counts("beyond any model", "at most 1e+09", positives=["1e30"] * 4),
    Case("a column is missing", small.RETRAINING_COMMAND,
         {"counts.csv": csv({"false_positives": [1], "negatives": [10], "positives": [10]})},
         ("has no column 'false_negatives'",)),
]  # fmt: skip


@parametrised(COUNTS)
def test_a_table_of_counts(case, tmp_path):
    refused(case, tmp_path)


def leakage(name: str, says: str, *more: str, data: Any = None, reference: Any = None) -> Case:
    files = {}
    command: tuple[str, ...] = (*small.LEAKAGE_COMMAND, *more)
    for file, given, usual in (
        ("records.csv", data, small.RECORDS),
        ("reference.csv", reference, small.REFERENCE),
    ):
        columns = usual if given is None else given
        plain = all(isinstance(v, list) for v in columns.values())
        content = csv(columns) if plain else parquet(columns)
        command, place = swapped(command, file, content)
        files[place] = content
    return Case(name, command, files, (says,))


LISTS = {"e": pa.array([[v, v * v] for v in numbers()])}
LONGER = {"e": pa.array([[v, v * v, 1.0 + v**3] for v in numbers()])}
LEAKAGE = [
    leakage("one record", "at least 2", data={"a": [0.5], "b": [0.5]}),
    leakage("a constant reference", "constant", reference={"a": [0.5] * ROWS, "b": numbers()}),
    leakage("constant throughout", "", "--drop-constant",
            reference={"a": [0.5] * ROWS, "b": [0.5] * ROWS}),
    leakage("words", "no encoding is chosen", data={"a": ["x"] * ROWS, "b": numbers()}),
    leakage("a column less", "has no column 'b'", reference={"a": numbers()}),
    leakage("lists of another length", "differ in length", data=LISTS, reference=LONGER),
    leakage("lists that contain lists of words", "'e'",
            data={"e": pa.array([[["a"]]] * ROWS)}, reference=LISTS),
    leakage("an id that is a feature", "must not be a feature", "--id", "a", "--features", "a,b"),
    leakage("numbers near the end of floats", "beyond 1e+100",
            data={"a": ["1e308", "-1e308"] * 30, "b": numbers()}),
    leakage("a reference near the end of floats", "beyond 1e+100",
            reference={"a": ["1e308", "-1e308"] * 30, "b": numbers()}),
]  # fmt: skip


@parametrised(LEAKAGE)
def test_tables_of_leakage(case, tmp_path):
    refused(case, tmp_path)


def planned(name: str, says: str, *more: str, **columns: Any) -> Case:
    content = csv({**small.RECORDS, **columns})
    return Case(name, (*small.PLAN_COMMAND, *more), {"records.csv": content}, (says,))


IDS = [
    planned("ids twice", "the id 0 twice", "--id", "who", who=[0, 0, *range(2, ROWS)]),
    planned("ids missing", "1 missing ids", "--id", "who", who=[None, *range(1, ROWS)]),
    planned("broken ids", "must hold ids", "--id", "who", who=numbers()),
    planned("truths as ids", "must hold ids", "--id", "who", who=["true", "false"] * 30),
    planned("dates as ids", "must hold ids", "--id", "who", who=["2020-01-01"] * ROWS),
    planned("a column of row numbers", "Give --id row", row=list(range(ROWS))),
    planned("an infinite record", "'c'", "--strategy", "norm", c=["inf", *([1] * (ROWS - 1))]),
    planned("words to measure", "'c'", "--strategy", "norm", c=["x"] * ROWS),
]


@parametrised(IDS)
def test_records_that_become_canaries(case, tmp_path):
    refused(case, tmp_path)


def scored(name: str, says: str, columns: Mapping[str, Any]) -> Case:
    files = small.FILES | {"scores.csv": csv(columns)}
    return Case(name, small.AUDIT_COMMAND, files, (says,))


SCORES = small.SCORES
SCORED = [
    scored("a canary less", "1 of 24 canaries have no score",
           {k: v[1:] for k, v in SCORES.items()}),
    scored("a row more", "1 rows of the scores are not canaries",
           {"row": [*SCORES["row"], 99], "loss": [*SCORES["loss"], 0.1]}),
    scored("a canary twice", "twice", {"row": [0, *SCORES["row"]], "loss": [0.1, *SCORES["loss"]]}),
    scored("ids in words", "the plan's ids are numbers, those of the scores text",
           {"row": [f"r{k}" for k in SCORES["row"]], "loss": SCORES["loss"]}),
    scored("NaN", "row 3", changed(SCORES, "loss", "nan")),
    scored("infinity", "row 3", changed(SCORES, "loss", "inf")),
    scored("a gap", "row 3", changed(SCORES, "loss", None)),
    scored("words", "must hold numbers", changed(SCORES, "loss", "low")),
    scored("a missing id", "missing ids", changed(SCORES, "row", None)),
]  # fmt: skip


@parametrised(SCORED)
def test_scores_of_canaries(case, tmp_path):
    refused(case, tmp_path)


UNDECIDED_LATER = [
    synthetic("few members", "too few", taught=small.POOL),
    synthetic("few generated records", "generated records are left", made=small.OTHER_POOL),
    synthetic("a constant loss", "the same for every record",
              taught={**TAUGHT, "loss": [0.5] * MANY}, made={**MADE, "loss": [0.5] * MANY}),
    leakage("few reference records", "too few", reference={"a": [0.5], "b": [0.5]}),
]  # fmt: skip


@parametrised(UNDECIDED_LATER)
def test_nothing_can_be_concluded_either(case, tmp_path):
    undecided(case, tmp_path)


def test_a_table_is_not_written_where_nothing_is_computed(tmp_path):
    lay_out(small.FILES | {"reference.csv": csv({"a": [0.5], "b": [0.5]})}, tmp_path)
    done = run(*small.LEAKAGE_COMMAND, "--table", "table.csv", cwd=tmp_path)
    assert done.returncode == 3
    assert not (tmp_path / "table.csv").exists()


def test_retraining_ends_in_the_same_way(tmp_path, monkeypatch):
    """Counts always say something: here reading them is made to find nothing."""
    from divulge.games.retraining import play

    def nothing(*args: Any, **given: Any) -> Any:
        raise CannotConclude("no counts")

    monkeypatch.setattr(play, "read_counts", nothing)
    undecided(Case("none", small.RETRAINING_COMMAND, small.FILES, ("no counts",), 3), tmp_path)
