"""Odd inputs that are meant: they work, and say the same as their plain form."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
import small_inputs as small
from commands import run
from hostile import ROWS, csv, document, lay_out, numbers, parquet

DAY = datetime.date(2020, 1, 1)
BASE = small.MEMBERSHIP
PLAIN = csv(BASE)
COUNTS = small.FILES["counts.csv"]


def bounds(files: Mapping[str, bytes], folder: Any, *command: str) -> Any:
    """The trials and bounds that a command prints as JSON; its exit code is 0 or 3."""
    lay_out(files, folder)
    done = run(*command, "--json", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    assert done.stderr == "" or "divulge: " not in done.stderr
    found = json.loads(done.stdout)
    return found["trials"], found["bounds"], found["verdict"]


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return bounds({"table.csv": PLAIN}, tmp_path_factory.mktemp("plain"), "membership", "table.csv")


def with_commas(columns: Mapping[str, list[Any]]) -> bytes:
    """Semicolons between cells and decimal commas in them."""
    return csv(columns, ";").replace(b".", b",")


FORMS = {
    "a byte-order mark": ("table.csv", b"\xef\xbb\xbf" + PLAIN),
    "semicolons": ("table.csv", csv(BASE, ";")),
    "semicolons and decimal commas": ("table.csv", with_commas(BASE)),
    "tabs": ("table.tsv", csv(BASE, "\t")),
    "tabs in a .csv": ("table.csv", csv(BASE, "\t")),
    "a .txt": ("table.txt", PLAIN),
    "an ending in capitals": ("table.CSV", PLAIN),
    "line breaks of Windows": ("table.csv", PLAIN.replace(b"\n", b"\r\n")),
    "no line break at the end": ("table.csv", PLAIN.rstrip(b"\n")),
    "empty lines at the end": ("table.csv", PLAIN + b"\n\n"),
    "quoted cells": ("table.csv", b"\n".join(
        b",".join(b'"' + cell + b'"' for cell in line.split(b",")) for line in PLAIN.splitlines()
    )),
    "quoted line breaks": ("table.csv", csv({**BASE, "word": ['"red\nand\n\nblue"'] * ROWS})),
    "quoted delimiters": ("table.csv", csv({**BASE, "word": ['"a,b;c\td"'] * ROWS})),
    "quoted quotes": ("table.csv", csv({**BASE, "word": ['"say ""no"""'] * ROWS})),
    "a delimiter in a name": ("table.csv", csv({**BASE, '"a;b;c;d;e;f"': BASE["x"]})),
    "markup": ("table.csv", csv({**BASE, "<b>x</b>": ["<script>alert(1)</script>"] * ROWS})),
    "formulas": ("table.csv", csv({**BASE, "=1+1": ["=cmd|' /C calc'!A0"] * ROWS})),
    "accents in UTF-8": ("table.csv", csv({**BASE, "größe": ["café"] * ROWS})),
    "a column without a name": ("table.csv", csv({**BASE, "": [1] * ROWS})),
    "escapes in a name": ("table.csv", csv({**BASE, "\x1b[31m": [1] * ROWS})),
    "words for truth": ("table.csv", csv({**BASE, "member": ["out", "in"] * 30})),
    "train and test": ("table.csv", csv({**BASE, "member": ["Test", "TRAIN"] * 30})),
    "truths as -1 and 1": ("table.csv", csv({**BASE, "member": [-1, 1] * 30})),
    "truths as floats": ("table.csv", csv({**BASE, "member": ["0.0", "1.0"] * 30})),
    "exponents": ("table.csv", csv({**BASE, "loss": [f"{v:.17e}" for v in BASE["loss"]]})),
    "blanks around numbers": ("table.csv", csv({**BASE, "loss": [f" {v} " for v in BASE["loss"]]})),
    "Parquet": ("table.parquet", parquet(BASE)),
    "booleans": ("table.parquet", parquet({**BASE, "member": [False, True] * 30})),
    "bytes beside": ("table.parquet", parquet({**BASE, "raw": [b"\xff"] * ROWS})),
    "lists of lists beside": ("table.parquet", parquet({**BASE, "deep": [[[1, 2]]] * ROWS})),
    "categories": ("table.parquet", parquet(
        {**BASE, "member": pa.array(["out", "in"] * 30).dictionary_encode()}
    )),
    "a folder of Parquet": ("table.parquet/part.parquet", parquet(BASE)),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_same_table_in_another_form(form, tmp_path, usual):
    name, content = FORMS[form]
    found = bounds({name: content}, tmp_path, "membership", name.split("/")[0])
    assert found == usual


WIDE = {
    "whole numbers beyond 64 bits": [10**20 + k for k in range(ROWS)],
    "whole numbers as words": [f"0{k}" for k in range(ROWS)],
    "gaps": [None if k % 7 == 0 else k for k in range(ROWS)],
    "dates": [f"2020-01-{1 + k % 28:02d}" for k in range(ROWS)],
    "one value": [1] * ROWS,
    "many words": [f"w{k}" for k in range(ROWS)],
    "truth": ["true", "false"] * 30,
}


@pytest.mark.parametrize("kind", WIDE)
def test_odd_features_are_read(kind, tmp_path):
    files = {"table.csv": csv({**BASE, "odd": WIDE[kind]})}
    trials, _, verdict = bounds(files, tmp_path, "membership", "table.csv", "--features", "x,odd")
    assert verdict["status"] == "cannot conclude"  # for these are too few rows
    assert trials["features"] >= 1


NESTED = {
    "lists": pa.array([[v, v + 1] for v in numbers()]),
    "lists of lists": pa.array([[[v], [v + 1]] for v in numbers()]),
    "lists of fixed size": pa.array([[v, 1.0] for v in numbers()], pa.list_(pa.float64(), 2)),
    "decimals": pa.array([f"{v:.3f}" for v in numbers()]).cast(pa.decimal128(9, 3)),
    "unsigned": pa.array([2**64 - 1 - k * 10**15 for k in range(ROWS)], pa.uint64()),
    "nanoseconds": pa.array([1_600_000_000_000_000_000 + k * 10**9 for k in range(ROWS)]),
    "stamps of nanoseconds": pa.array(
        [1_600_000_000_000_000_001 + 1_000 * k for k in range(ROWS)], pa.timestamp("ns")
    ),
    "a day that never comes": pa.array([datetime.date(9999, 12, 31), DAY] * 30),
    "days of milliseconds": pa.array([DAY, datetime.date(1850, 1, 1)] * 30, pa.date64()),
    "half precision": pa.array(numbers(), pa.float16()),
}


@pytest.mark.parametrize("kind", NESTED)
def test_odd_types_of_features_are_read(kind, tmp_path):
    files = {"table.parquet": parquet({**BASE, "odd": NESTED[kind]})}
    command = ("membership", "table.parquet", "--features", "x,odd")
    assert bounds(files, tmp_path, *command)[0]["features"] >= 2


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("FP", "N0", "FN", "N1"), marks=pytest.mark.slow),
        ("False Positives", "Negatives", "False-Negatives", "Positives"),
        ("\ufefffalse_positives", "negatives", "false_negatives", "positives"),
    ],
)
def test_counts_under_near_names(names, tmp_path):
    columns = dict(zip(names, small.COUNTS.values(), strict=True))
    trials, found, _ = bounds({"counts.csv": csv(columns)}, tmp_path, "retraining", "counts.csv")
    assert trials["attacks"] == 4
    assert found


def test_semicolons_in_every_command(tmp_path):
    lay_out(small.FILES, tmp_path)
    lay_out(
        {
            "records.csv": with_commas(small.RECORDS),
            "reference.csv": csv(small.REFERENCE, ";"),
            "scores.csv": with_commas(small.SCORES),
            "counts.csv": csv(small.COUNTS, ";"),
            "attribute.csv": with_commas(small.ATTRIBUTE),
            "membership.csv": with_commas(small.MEMBERSHIP),
        },
        tmp_path,
    )
    for command, code in (
        (small.LEAKAGE_COMMAND, 0),
        (small.AUDIT_COMMAND, 0),
        (small.RETRAINING_COMMAND, 0),
        (small.ATTRIBUTE_COMMAND, 3),
        (small.PLAN_COMMAND, 0),
        (small.SCORE_COMMAND, 0),
    ):
        done = run(*command, cwd=tmp_path)
        assert done.returncode == code, done.stderr


def test_a_plan_with_words_as_ids(tmp_path):
    ids = [f"<{k}>" for k in range(small.PLANNED)]
    files = {
        "plan.json": document({**small.PLAN, "ids": ids, "id": "who"}),
        "scores.csv": csv({"who": ids, "loss": small.SCORES["loss"]}),
    }
    trials, _, _ = bounds(files, tmp_path, "canaries", "audit", "plan.json", "scores.csv")
    assert trials["members"] + trials["nonmembers"] == small.PLANNED


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2**31, 2**32, 2**63, 10**30])
def test_large_seeds_are_seeds(seed, tmp_path):
    lay_out(small.FILES, tmp_path)
    for command in (small.MEMBERSHIP_COMMAND, small.AUDIT_COMMAND, small.PLAN_COMMAND):
        more = ("--overwrite",) if command is small.PLAN_COMMAND else ()
        assert run(*command, "--seed", str(seed), *more, cwd=tmp_path).returncode == 0


def test_no_command_shows_the_help(tmp_path):
    done = run(cwd=tmp_path)
    assert done.returncode in (0, 2)
    assert "membership" in done.stdout + done.stderr


def test_whole_numbers_beyond_2_to_53_beside_floats(tmp_path):
    members = {"loss": numbers(), "x": pa.array([2**60 + k for k in range(ROWS)])}
    others = {"loss": numbers(0.5), "x": pa.array([float(k) for k in range(ROWS)])}
    files = {"members.parquet": parquet(members), "others.parquet": parquet(others)}
    command = ("membership", "--members", "members.parquet", "--nonmembers", "others.parquet")
    assert bounds(files, tmp_path, *command, "--features", "x")[0]["features"] == 1
