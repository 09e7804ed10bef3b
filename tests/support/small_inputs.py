"""Small sound inputs of every command, from which the bad ones are made by one change."""

from __future__ import annotations

from typing import Any

from hostile import ROWS, csv, document, numbers

MEMBERSHIP = {
    "member": [k % 2 for k in range(ROWS)],
    "loss": numbers(),
    "x": numbers(0.1),
    "word": ["red" if k % 3 else "blue" for k in range(ROWS)],
}
POOL = {"loss": numbers(), "x": numbers(0.2)}
OTHER_POOL = {"loss": numbers(0.5), "x": numbers(0.3)}
ATTRIBUTE = {
    "y": [k % 2 for k in range(ROWS)],
    "x": numbers(),
    "p_0": [0.25] * ROWS,
    "p_1": [0.75] * ROWS,
    "q_0": [0.5] * ROWS,
    "q_1": [0.5] * ROWS,
}
COUNTS = {
    "false_positives": [40, 35, 38, 41],
    "negatives": [100] * 4,
    "false_negatives": [38, 41, 36, 40],
    "positives": [100] * 4,
}
RECORDS = {"a": numbers(), "b": [v * v for v in numbers(0.5)]}
REFERENCE = {"a": numbers(0.01), "b": [v * v for v in numbers(0.4)]}
PLANNED = 24
PLAN: dict[str, Any] = {
    "schema": 1,
    "kind": "divulge canary plan",
    "warning": "",
    "divulge": "0",
    "ids": list(range(PLANNED)),
    "rows": list(range(PLANNED)),
    "included": [k % 2 == 0 for k in range(PLANNED)],
    "id": None,
    "strategy": "random",
    "seed": 0,
    "probability": 0.5,
    "input": {"name": "data.csv", "sha256": "0" * 64},
    "details": {},
    "canaries": PLANNED,
}
SCORES = {"row": list(range(PLANNED)), "loss": numbers(rows=PLANNED)}
RESULT: dict[str, Any] = {
    "schema": 1,
    "game": "membership",
    "verdict": {"status": "leak", "robust": True, "sentence": "A leak.", "reasons": []},
    "bounds": [
        {
            "parameter": "epsilon",
            "delta": 1e-5,
            "value": 1.25,
            "confidence": 0.95,
            "method": "recursion",
            "correction": "none",
            "headline": True,
            "theorem": "",
            "assumptions": [],
        }
    ],
    "measurements": {},
    "trials": {},
    "diagnostics": {},
    "provenance": {},
}
LOSS_MODULE = b"def loss(rows):\n    return [float(v) for v in rows['x'].to_pylist()]\n"

FILES = {
    "membership.csv": csv(MEMBERSHIP),
    "members.csv": csv(POOL),
    "nonmembers.csv": csv(OTHER_POOL),
    "attribute.csv": csv(ATTRIBUTE),
    "counts.csv": csv(COUNTS),
    "records.csv": csv(RECORDS),
    "reference.csv": csv(REFERENCE),
    "plan.json": document(PLAN),
    "scores.csv": csv(SCORES),
    "result.json": document(RESULT),
    "own_loss.py": LOSS_MODULE,
}

MEMBERSHIP_COMMAND = ("membership", "membership.csv")
APART_COMMAND = ("membership", "--members", "members.csv", "--nonmembers", "nonmembers.csv")
ATTRIBUTE_COMMAND = ("attribute", "attribute.csv", "--label", "y", "--features", "x")
SYNTHETIC_COMMAND = (
    "synthetic", "--members", "members.csv", "--generated", "nonmembers.csv",
    "--target-loss", "loss",
)  # fmt: skip
RETRAINING_COMMAND = ("retraining", "counts.csv")
LEAKAGE_COMMAND = ("leakage", "records.csv", "--reference", "reference.csv")
PLAN_COMMAND = (
    "canaries", "plan", "records.csv", "--count", "20", "--strategy", "random",
    "--records", "train.csv", "--plan", "new_plan.json",
)  # fmt: skip
AUDIT_COMMAND = ("canaries", "audit", "plan.json", "scores.csv")
SCORE_COMMAND = (
    "score", "--model", "own_loss:loss", "--data", "membership.csv", "--attack", "loss",
    "--columns", "member", "--table", "scored.csv", "--no-cache",
)  # fmt: skip
CHECK_COMMAND = ("check", "result.json", "--claim", "epsilon=8,delta=1e-5")
REPORT_COMMAND = ("report", "result.json", "--report", "report.html")
BOUND_COMMAND = ("bound", "--trials", "1000", "--guesses", "100", "--correct", "80")
SELFTEST_COMMAND = ("selftest", "--only", "binomial | null | m=10", "--repeats", "2")
DEMO_COMMAND = ("demo",)
