"""Error counts from a table: near column names are understood, dependent rows pooled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.bounds.checks import COLUMNS, check_error_counts
from divulge.data import tables
from divulge.data.arranged import arranged, order_of
from divulge.errors import InputError, require
from divulge.types import Array

_NEAR = {
    "false_positives": ("falsepositives", "falsepositive", "fp", "fps", "x", "xfp", "nfp", "typei"),
    "negatives": ("negatives", "negative", "n0", "nnegatives", "h0", "m0", "without"),
    "false_negatives": (
        "falsenegatives",
        "falsenegative",
        "fn",
        "fns",
        "y",
        "yfn",
        "nfn",
        "typeii",
    ),
    "positives": ("positives", "positive", "n1", "npositives", "h1", "m1", "with"),
}
_BOTH = ("n", "models", "challenges", "trials", "total")
"""One column for both totals."""


@dataclass(frozen=True)
class ErrorCounts:
    """Counts as read, and as the posterior uses them."""

    rows: Array
    """False positives, negatives, false negatives, positives; by content (``data/arranged.py``)."""
    pooled: Array
    """One row per group; the same as ``rows`` without groups. Need not be whole numbers."""
    groups: int | None
    keys: tuple[str, ...]
    """The group of every row; none without groups."""
    intraclass: float
    """Correlation of decisions within a group beyond that within one attack."""
    columns: tuple[str, ...]


def read_counts(
    table: Any, *, group: str | None = None
) -> tuple[ErrorCounts, list[dict[str, str]]]:
    """The counts of a table and its fingerprint; InputError names the column and the row."""
    if isinstance(table, np.ndarray | list):
        frame = tables.read(dict(zip(COLUMNS, check_error_counts(table).T, strict=True)))
    else:
        frame = tables.read(table)
    frame = _counted(frame)
    names = [_find(frame, name) for name in COLUMNS]
    inputs = [tables.fingerprint(table, frame, "counts")]
    columns = [tables.numbers(frame, name, "the table") for name in names]
    for name, values in zip(names, columns, strict=True):
        broken = np.flatnonzero(values != np.floor(values))
        if broken.size:
            raise InputError(
                f"Column {name!r} must hold whole numbers. Found {values[broken[0]]:g} in row "
                f"{int(broken[0])}. Give counts, not rates."
            )
    check_error_counts(np.column_stack(columns))
    if group is not None:
        tables.require_columns(frame, [group], "the table")
    frame = arranged(frame, order_of(frame, [*names, *([] if group is None else [group])]))
    counts = np.column_stack([tables.numbers(frame, name, "the table") for name in names])
    if group is None:
        return ErrorCounts(counts, counts, None, (), 0.0, tuple(names)), inputs
    keys = [str(v) for v in frame[group].to_list()]
    pooled, correlation = pool(counts, keys)
    return ErrorCounts(counts, pooled, len(pooled), tuple(keys), correlation, tuple(names)), inputs


_RATES = {
    "false_positives": ("negatives", ("fpr", "falsepositiverate", "typeirate", "alpha")),
    "false_negatives": ("positives", ("fnr", "falsenegativerate", "typeiirate", "beta")),
}
"""Rates of errors, and the totals that make counts of them."""


def _counted(frame: tables.Frame) -> tables.Frame:
    """A table with rates and their totals as one of counts; any other as it is."""
    plain = {re.sub(r"[^a-z0-9]", "", c.lower()): c for c in frame.columns}
    made: dict[str, Array] = {}
    for name, (total, words) in _RATES.items():
        rate = next((plain[word] for word in words if word in plain), None)
        of = near(frame.columns, total)
        if near(frame.columns, name) is not None or rate is None or of is None:
            continue
        n = tables.numbers(frame, of, "the table")
        counts = tables.numbers(frame, rate, "the table") * n
        whole = np.round(counts)
        off = np.flatnonzero(np.abs(counts - whole) > 1e-3 * np.maximum(1.0, whole))
        require(
            off.size == 0,
            f"Column {rate!r} times {of!r} must be a whole number of errors"
            + (f". Found {counts[off[0]]:g} in row {int(off[0])}." if off.size else "."),
        )
        made[name] = whole
    if not made:
        return frame
    columns = {c: frame[c].to_arrow() for c in frame.columns}
    return tables.read({**columns, **made})


def near(columns: Sequence[str], name: str) -> str | None:
    """The column of that name, or of one that says the same."""
    if name in columns:
        return name
    plain = {re.sub(r"[^a-z0-9]", "", c.lower()): c for c in columns}
    words = (*_NEAR[name], *(_BOTH if name in ("negatives", "positives") else ()))
    return next((plain[word] for word in words if word in plain), None)


def _find(frame: tables.Frame, name: str) -> str:
    found = near(frame.columns, name)
    if found is None:
        tables.require_columns(frame, [name], "the table")
        raise AssertionError("unreachable")
    return found


def pool(counts: Array, groups: list[str]) -> tuple[Array, float]:
    """Dependent attacks as one each (Appendix C): counts added up, their variance matched.

    Attacks of a group have error rates that scatter about a common one. Their excess scatter over
    binomial counts gives the correlation r of two decisions of one attack (moments, pooled over
    groups and both errors); a sum of N decisions then has ``1 + r (sum N_j^2 - N) / N`` times the
    variance of a binomial, and enters as that many fewer decisions at the same rate.
    """
    require(len(groups) == len(counts), "Every row needs a group.")
    keys = list(dict.fromkeys(groups))
    members = [np.flatnonzero([g == key for g in groups]) for key in keys]
    excess, room = 0.0, 0.0
    for rows in members:
        for wrong, total in ((0, 1), (2, 3)):
            x, n = counts[rows, wrong], counts[rows, total]
            rate = x.sum() / n.sum()
            if rows.size < 2 or not 0.0 < rate < 1.0:
                continue
            scatter = np.sum(n * (x / n - rate) ** 2) / (rate * (1.0 - rate))
            excess += scatter - (rows.size - 1)
            room += n.sum() - np.sum(n**2) / n.sum() - (rows.size - 1)
    correlation = float(np.clip(excess / room, 0.0, 1.0)) if room > 0.0 else 0.0
    out = np.empty((len(keys), 4))
    for i, rows in enumerate(members):
        for wrong, total in ((0, 1), (2, 3)):
            n = counts[rows, total]
            factor = 1.0 + correlation * (np.sum(n**2) - n.sum()) / n.sum()
            factor = factor if rows.size > 1 else 1.0
            out[i, wrong] = counts[rows, wrong].sum() / factor
            out[i, total] = n.sum() / factor
    return out, correlation
