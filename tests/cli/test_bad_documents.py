"""Plans and results that are cut off, altered, or something else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import small_inputs as small
from hostile import Case, document, numbers, parametrised, refused

PLAN = small.FILES["plan.json"]
RESULT = small.FILES["result.json"]


def not_documents(sound: bytes) -> Iterator[tuple[str, bytes, str]]:
    """Files that are no JSON object at all: a name, the bytes, what is said."""
    yield "no byte", b"", "is not JSON"
    yield "cut in half", sound[: len(sound) // 2], "is not JSON"
    yield "one bracket less", sound[:-1], "is not JSON"
    yield "two documents", sound + sound, "is not JSON"
    yield "words", b"a plan", "is not JSON"
    yield "bytes", b"\xff\xfe\x00\x80", "Cannot read"
    yield "Latin-1", b'{"kind": "caf\xe9"}', "Cannot read"
    yield "a null byte", sound + b"\0", "is not JSON"
    yield "a list", b"[1, 2]", ""
    yield "a number", b"17", ""
    yield "nothing", b"null", ""
    yield "a text", b'"divulge"', ""
    yield "an empty object", b"{}", ""
    yield "another schema", sound.replace(b'"schema": 1', b'"schema": 99'), "schema"
    yield "no schema", sound.replace(b'"schema": 1, ', b""), "schema"
    yield "schema in words", sound.replace(b'"schema": 1', b'"schema": "one"'), "schema"
    yield "a deep nest", b"[" * 100_000 + b"]" * 100_000, ""
    yield "a long number", b'{"schema": ' + b"9" * 5_000 + b"}", ""


DOCUMENTS = {
    "plan.json": (small.AUDIT_COMMAND, PLAN),
    "result.json": (small.CHECK_COMMAND, RESULT),
}


def document_cases() -> Iterator[Case]:
    for file, (command, sound) in DOCUMENTS.items():
        for name, content, says in not_documents(sound):
            yield Case(f"{file}, {name}", command, small.FILES | {file: content}, (says,))
        others = {k: v for k, v in small.FILES.items() if k != file}
        yield Case(f"no {file}", command, others, (file,))
        yield Case(f"{file} is a folder", command, others | {f"{file}/": b""}, (file,))
    for name, content, says in not_documents(RESULT):
        files = small.FILES | {"result.json": content}
        yield Case(f"report of {name}", small.REPORT_COMMAND, files, (says,))
    for file in ("membership.csv", "plan.json"):
        check = ("check", file, "--claim", "mu=1")
        yield Case(f"{file} as a result", check, small.FILES, ())
    yield Case("a result as a plan", ("canaries", "audit", "result.json", "scores.csv"),
               small.FILES, ("is not a canary plan",))  # fmt: skip


@parametrised(document_cases())
def test_a_document_that_is_none(case, tmp_path):
    refused(case, tmp_path)


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k != name}


N = small.PLANNED
ALTERED_PLANS: dict[str, tuple[dict[str, Any], str]] = {
    **{f"no {k}": (without(small.PLAN, k), k) for k in
       ("ids", "rows", "included", "id", "strategy", "seed", "probability", "input")},
    "ids twice": ({"ids": [0] * N}, "do not match one to one"),
    "an id less": ({"ids": list(range(N - 1))}, "do not match one to one"),
    "a coin less": ({"included": [True] * (N - 1)}, "do not match one to one"),
    "no canary": ({"ids": [], "rows": [], "included": []}, "do not match one to one"),
    "coins as numbers": ({"included": [0, 1] * (N // 2)}, "damaged"),
    "coins as words": ({"included": ["true"] * N}, "damaged"),
    "coins as one word": ({"included": "x" * N}, "damaged"),
    "coins missing": ({"included": [None] * N}, "damaged"),
    "ids of lists": ({"ids": [[k] for k in range(N)]}, "damaged"),
    "ids of truths": ({"ids": [True] * N}, "damaged"),
    "rows in words": ({"rows": ["first"] * N}, "damaged"),
    "rows twice": ({"rows": [0] * N}, "damaged"),
    "negative rows": ({"rows": [-k - 1 for k in range(N)]}, "damaged"),
    "broken rows": ({"rows": [k + 0.5 for k in range(N)]}, "damaged"),
    "rows are a number": ({"rows": 3}, "damaged"),
    "probability 0": ({"probability": 0}, "probability must lie"),
    "probability 1": ({"probability": 1}, "probability must lie"),
    "probability NaN": ({"probability": float("nan")}, "probability"),
    "probability in words": ({"probability": "half"}, "damaged"),
    "probability of a list": ({"probability": [0.5]}, "damaged"),
    "seed in words": ({"seed": "luck"}, "damaged"),
    "seed of infinity": ({"seed": float("inf")}, ""),
    "input in words": ({"input": "data.csv"}, "damaged"),
    "input of a list": ({"input": [1]}, "damaged"),
    "input without a digest": ({"input": {"name": "data.csv"}}, "damaged"),
    "input without a name": ({"input": {"sha256": "0" * 64}}, "damaged"),
    "details in words": ({"details": "none"}, "damaged"),
    "another kind": ({"kind": "recipe"}, "is not a canary plan"),
    "a count that is wrong": ({"canaries": 7}, "damaged"),
    "other ids": ({"ids": list(range(100, 100 + N))}, "have no score"),
}  # fmt: skip


def altered(change: dict[str, Any]) -> bytes:
    whole = change if "schema" in change else {**small.PLAN, **change}
    return document(whole)


@parametrised(
    Case(name, small.AUDIT_COMMAND, small.FILES | {"plan.json": altered(change)}, (says,))
    for name, (change, says) in ALTERED_PLANS.items()
)
def test_a_plan_that_was_altered(case, tmp_path):
    refused(case, tmp_path)


BOUND = small.RESULT["bounds"][0]
ALTERED_RESULTS: dict[str, dict[str, Any]] = {
    **{f"no {k}": without(small.RESULT, k) for k in ("game", "verdict", "bounds")},
    **{f"a verdict without {k}": {"verdict": without(small.RESULT["verdict"], k)}
       for k in ("status", "robust", "sentence")},
    **{f"a bound without {k}": {"bounds": [without(BOUND, k)]}
       for k in ("parameter", "value", "confidence", "method", "correction", "headline")},
    "bounds are a number": {"bounds": 3},
    "bounds of numbers": {"bounds": [3]},
    "bounds of words": {"bounds": ["large"]},
    "a value in words": {"bounds": [{**BOUND, "value": "large"}]},
    "a value that is missing": {"bounds": [{**BOUND, "value": None}]},
    "a value of a list": {"bounds": [{**BOUND, "value": [1.0]}]},
    "a confidence in words": {"bounds": [{**BOUND, "confidence": "sure"}]},
    "a verdict in words": {"verdict": "leak"},
    "a verdict of a list": {"verdict": [1]},
    "no verdict": {"verdict": None},
}  # fmt: skip


@parametrised(
    Case(
        f"{name}, {command[0]}",
        command,
        small.FILES | {"result.json": document(c if "schema" in c else {**small.RESULT, **c})},
    )
    for name, c in ALTERED_RESULTS.items()
    for command in (small.CHECK_COMMAND, small.REPORT_COMMAND)
)
def test_a_result_that_was_altered(case, tmp_path):
    refused(case, tmp_path)


def test_a_plan_of_other_data(tmp_path):
    """The audit needs no data; whoever asks the plan for its records is told that they differ."""
    import pytest

    from divulge.errors import InputError
    from divulge.games.canaries.planning import Plan

    plan = Plan.from_json(json.loads(PLAN))
    with pytest.raises(InputError, match="SHA-256 differs"):
        plan.records({"a": numbers()})
