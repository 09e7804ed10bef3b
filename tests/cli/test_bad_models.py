"""Models that raise, exit, or answer nonsense; and records that a sound model cannot read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import small_inputs as small
from hostile import ROWS, Case, csv, numbers, parametrised, parquet, refused

RECORDS = {
    "member": [k % 2 for k in range(ROWS)],
    "y": [(k // 2) % 2 for k in range(ROWS)],
    "a": numbers(),
    "b": numbers(0.5),
}
SCORE = ("--data", "data.csv", "--attack", "loss", "--table", "scored.csv", "--no-cache")

FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "raises": ("raise ValueError('no such thing')", ("ValueError: no such thing", "rows 0 to")),
    "raises_key": ("return rows['nobody']", ("KeyError", "nobody")),
    "raises_lines": ("raise RuntimeError('first\\nsecond\\nthird')", ("RuntimeError: first",)),
    "raises_nothing": ("raise RuntimeError", ("RuntimeError",)),
    "raises_escapes": ("raise RuntimeError('\\x1b[31mred')", ("RuntimeError", "red")),
    "raises_import": ("import nowhere_to_be_found", ("ModuleNotFoundError",)),
    "raises_memory": ("raise MemoryError('all gone')", ("MemoryError: all gone",)),
    "divides": ("return 1 / 0", ("ZeroDivisionError",)),
    "recurses": ("return model(rows)", ("RecursionError",)),
    "exits": ("raise SystemExit(0)", ("SystemExit", "rows 0 to")),
    "exits_1": ("import sys; sys.exit(1)", ("SystemExit: 1",)),
    "exits_words": ("raise SystemExit('goodbye')", ("SystemExit: goodbye",)),
    "stops": ("raise StopIteration", ("StopIteration",)),
    "asserts": ("assert False, 'not so'", ("AssertionError: not so",)),
    "says_nothing": ("return None", ("must return one loss per row", "Found 1")),
    "says_words": ("return ['low'] * len(rows)", ("does not hold a number per row",)),
    "says_one": ("return 0.5", ("one loss per row",)),
    "says_fewer": ("return [0.1] * (len(rows) - 1)", ("one loss per row",)),
    "says_more": ("return [0.1] * (len(rows) + 1)", ("one loss per row",)),
    "says_empty": ("return []", ("one loss per row",)),
    "says_ragged": ("return [[1.0], [1.0, 2.0]]", ("does not hold a number per row",)),
    "says_mapping": ("return {'loss': 1}", ("does not hold a number per row",)),
    "says_complex": ("return [1j] * len(rows)", ("does not hold a number per row",)),
    "says_nan": ("return [float('nan')] * len(rows)", ("finite",)),
    "says_inf": ("return [float('inf')] * len(rows)", ("finite",)),
    "says_none": ("return [None] * len(rows)", ("finite",)),
    "says_huge": ("return [10**400] * len(rows)", ("does not hold a number per row",)),
    "says_columns": ("return [[0.9, 0.3]] * len(rows)", ("sum to 1",)),
    "says_negative": ("return [[1.5, -0.5]] * len(rows)", ("sum to 1",)),
    "says_deep": ("return [[[0.5, 0.5]]] * len(rows)", ("one loss per row",)),
    "says_generator": ("return (0.1 for _ in range(len(rows)))", ("number per row",)),
}
"""The body of a function ``model(rows)``, and what is said."""

MODULES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "with_bad_syntax": ("def model(:", "model", ("Cannot import", "SyntaxError")),
    "that_raises": ("raise ValueError('not today')", "model", ("ValueError: not today",)),
    "that_exits": ("import sys; sys.exit(0)", "model", ("Cannot import", "SystemExit")),
    "that_needs_more": ("import nowhere_to_be_found", "model", ("nowhere_to_be_found",)),
    "without_it": ("x = 1", "model", ("has no attribute 'model'",)),
    "of_numbers": ("model = 17", "model", ("predict_proba or a callable",)),
    "of_nothing": ("model = None", "model", ("predict_proba or a callable",)),
    "of_words": ("model = 'best'", "model", ("predict_proba or a callable",)),
    "of_parts": ("def model(rows): return [0.1]", "model.part", ("has no attribute",)),
    "of_gives": (
        "def model(rows): return [0.1]\nmodel.gives = 'magic'",
        "model",
        ("'losses' or 'probabilities'",),
    ),
    "with_null": ("x = '\0'", "model", ("Cannot import",)),
}
"""The text of a module, the name in it, and what is said."""

CLASSIFIERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "raises": ("raise ValueError('X has 2 features')", ("ValueError: X has 2 features",)),
    "exits": ("raise SystemExit(2)", ("SystemExit: 2",)),
    "one_column": ("return [[1.0]] * len(x)", ("one probability per class",)),
    "no_rows": ("return []", ("",)),
    "few_rows": ("return [[0.5, 0.5]]", ("once per record",)),
    "three": ("return [[0.2, 0.3, 0.5]] * len(x)", ("3 outputs", "2 classes")),
    "large": ("return [[50, 50]] * len(x)", ("sum to 1",)),
    "nan": ("return [[float('nan'), 0.5]] * len(x)", ("sum to 1",)),
    "words": ("return [['a', 'b']] * len(x)", ("number per row",)),
    "nothing": ("return None", ("",)),
    "nested": ("return [[[0.5, 0.5]]] * len(x)", ("one probability per class",)),
}
"""The body of ``predict_proba(self, x)`` of a classifier with the classes 0 and 1."""


def files(module: str, text: str, columns: Mapping[str, Any] = RECORDS) -> dict[str, bytes]:
    return {f"{module}.py": text.encode(), "data.csv": csv(columns)}


def function_cases() -> Iterator[Case]:
    for name, (body, says) in FUNCTIONS.items():
        module = f"function_{name}"
        text = f"def model(rows):\n    {body}\n"
        command = ("score", "--model", f"{module}:model", *SCORE)
        label = ("--label", "y") if "[[" in body else ()
        names = (f"{module}:model",) if "failed on" in body else ()
        yield Case(name, (*command, *label), files(module, text), (*names, *says))
    for name in ("raises", "exits", "says_nan", "says_fewer", "says_words"):
        body, says = FUNCTIONS[name]
        module = f"audited_{name}"
        text = f"def model(rows):\n    {body}\n"
        command = ("membership", "data.csv", "--model", f"{module}:model", "--attack", "loss")
        yield Case(name, command, files(module, text), says)
    for name, (text, attribute, says) in MODULES.items():
        module = f"module_{name}"
        command = ("score", "--model", f"{module}:{attribute}", *SCORE)
        yield Case(f"module {name}", command, files(module, text + "\n"), says)
    for name, (body, says) in CLASSIFIERS.items():
        module = f"classifier_{name}"
        text = (
            "class Own:\n    classes_ = [0, 1]\n    def predict_proba(self, x):\n"
            f"        {body}\nmodel = Own()\n"
        )
        asked = ("--features", "a,b", "--label", "y")
        score = ("score", "--model", f"{module}:model", *SCORE, *asked)
        yield Case(f"classifier {name}", score, files(module, text), says)
        audit = ("attribute", "data.csv", "--model", f"{module}:model", *asked)
        if name != "three":  # the classes of an attribute audit are the columns
            yield Case(f"classifier {name}", audit, files(module, text), says)


@parametrised(function_cases(), one_in=3)
def test_a_model_of_ones_own(case, tmp_path):
    refused(case, tmp_path)


FITTED = """
import numpy as np
from sklearn.linear_model import LogisticRegression
x = np.random.default_rng(0).normal(size=(40, 2))
model = LogisticRegression().fit(x, x[:, 0] > 0)
unfitted = LogisticRegression()
regression = __import__("sklearn.linear_model", fromlist=["x"]).LinearRegression().fit(x, x[:, 0])
"""


def fitted(
    name: str, says: tuple[str, ...], *more: str, which: str = "model", data: bytes | None = None
) -> Case:
    table = csv(RECORDS | {"y": ["True", "False"] * 30}) if data is None else data
    place = "data.parquet" if table.startswith(b"PAR1") else "data.csv"
    score = tuple(place if word == "data.csv" else word for word in SCORE)
    typed = ("score", "--model", f"fitted_model:{which}", *score, *more)
    return Case(name, typed, {"fitted_model.py": FITTED.encode(), place: table}, says)


AB = ("--features", "a,b", "--label", "y")
SOUND = RECORDS | {"y": ["True", "False"] * 30}
ESTIMATORS = [
    fitted("too many features", ("3 features", "rows 0 to"), "--features", "a,b,member",
           "--label", "y"),
    fitted("too few features", ("1 features",), "--features", "a", "--label", "y"),
    fitted("no features", ("Name the feature columns",), "--label", "y"),
    fitted("no label", ("Name the label column",), "--features", "a,b"),
    fitted("a label that is not there", ("'nobody'",), "--features", "a,b", "--label", "nobody"),
    fitted("a feature that is not there", ("'nobody'",), "--features", "a,nobody", "--label", "y"),
    fitted("a class that it does not know", ("does not know", "'7'", "row 1"), *AB,
           data=csv({**SOUND, "y": ["True", "7"] * 30})),
    fitted("a label that is missing", ("row 1",), *AB,
           data=csv({**SOUND, "y": ["True", None] * 30})),
    fitted("NaN", ("contains NaN",), *AB, data=csv({**SOUND, "a": ["nan", *numbers()[1:]]})),
    fitted("nothing but NaN", ("no value at all",), *AB, data=csv({**SOUND, "a": ["nan"] * ROWS})),
    fitted("a gap", ("contains NaN",), *AB, data=csv({**SOUND, "a": [None, *numbers()[1:]]})),
    fitted("infinity", ("contains infinity",), *AB, data=csv({**SOUND, "a": ["inf"] * ROWS})),
    fitted("beyond floats", ("contains infinity",), *AB,
           data=csv({**SOUND, "a": ["1e400"] * ROWS})),
    fitted("words", ("must hold numbers",), *AB, data=csv({**SOUND, "a": ["x"] * ROWS})),
    fitted("dates", ("must hold numbers",), *AB, data=csv({**SOUND, "a": ["2020-01-01"] * ROWS})),
    fitted("lists of two lengths", ("same length",), *AB,
           data=parquet({**SOUND, "a": pa.array([[1.0], [1.0, 2.0]] * 30)})),
    fitted("lists of words", ("must hold numbers",), *AB,
           data=parquet({**SOUND, "a": pa.array([["x"]] * ROWS)})),
    fitted("records", ("must hold numbers",), *AB,
           data=parquet({**SOUND, "a": pa.array([{"v": 1}] * ROWS)})),
    fitted("labels in lists", ("",), *AB, data=parquet({**SOUND, "y": pa.array([[1]] * ROWS)})),
    fitted("a model that never learned", ("NotFittedError",), *AB, which="unfitted"),
    fitted("a regression", ("predict_proba or a callable",), *AB, which="regression"),
    fitted("a text", ("",), "--text", "nobody", "--features", "a,b", "--label", "y"),
]  # fmt: skip


@parametrised(ESTIMATORS)
def test_records_that_a_model_cannot_read(case, tmp_path):
    refused(case, tmp_path)


PLACES = [
    ("no such file", "nowhere.skops", "There is no file nowhere.skops"),
    ("no such module", "nowhere_at_all:model", "no module 'nowhere_at_all'"),
    ("a table", "membership.csv", "Cannot tell what kind of model"),
    ("nothing", "", ""),
    ("a pickle", "model.pkl", "--allow-pickle"),
    ("a checkpoint", "model.pt", "can run any code"),
    ("a broken skops file", "model.skops", "model.skops"),
    ("a broken JSON", "model.json", "is not JSON"),
    ("an unknown JSON", "other.json", "neither XGBoost's JSON nor CatBoost's"),
    ("an empty folder", "folder", "folder"),
    ("an address without a host", "http://", ""),
    ("an address with a password", "https://user:secret@localhost/x", "password"),
    ("an address with a space", "http://localhost/a b", "ASCII"),
    ("an address with port 0", "http://localhost:0/", ""),
    ("an address with a bad port", "http://localhost:99999/", "malformed"),
]


@parametrised(
    Case(name, ("score", "--model", place, *small.SCORE_COMMAND[3:]),
         small.FILES | {"model.pkl": b"\x80", "model.pt": b"x", "model.skops": b"PK",
                        "model.json": b"{", "other.json": b"{}", "folder/": b""}, (says,))
    for name, place, says in PLACES
)  # fmt: skip
def test_a_place_without_a_model(case, tmp_path):
    said = refused(case, tmp_path)
    assert "secret" not in said
