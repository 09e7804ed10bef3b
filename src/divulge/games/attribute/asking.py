"""Probabilities of target and proxy: from columns, from models, or by posing a protected value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from divulge.attacks import scoring
from divulge.data import tables
from divulge.data.given import Given
from divulge.errors import InputError, require
from divulge.games.attribute.protected import word
from divulge.models.handed import open_model
from divulge.shift.pooling import FLOOR
from divulge.types import Array

MOST_CLASSES = 1000
_SUM_TOLERANCE = 0.01


@dataclass(frozen=True)
class Found:
    """Per record (of all sources, or of the first alone) and class."""

    classes: tuple[str, ...]
    target: Array | None = field(repr=False)
    proxy: Array | None = field(repr=False)
    likelihood: Array | None = field(default=None, repr=False)


def from_columns(sources: Sequence[Given], target: str, proxy: str, seen: list[str]) -> Found:
    """``p_<class>`` and ``q_<class>``; one column suffices for two classes.

    A held-out table without the target's columns still serves the proxy.
    """
    classes, first = _columns(sources[0], target, seen)
    given = [first]
    for source in sources[1:]:
        if any(c.startswith(target) for c in source.frame.columns):
            given.append(_matching(source, target, seen, classes, target))
    if len(given) < len(sources):
        given = given[:1]
    if not any(c.startswith(proxy) for c in sources[0].frame.columns):
        return Found(classes, np.concatenate(given), None)
    guess = [_matching(s, proxy, seen, classes, target) for s in sources]
    return Found(classes, np.concatenate(given), np.concatenate(guess))


def _matching(
    source: Given, prefix: str, seen: list[str], classes: tuple[str, ...], like: str
) -> Array:
    own, matrix = _columns(source, prefix, seen)
    _require_same(classes, own, f"{like}* of the table", f"{prefix}* of {source.where}")
    return matrix[:, [own.index(c) for c in classes]]


def _require_same(first: Sequence[str], second: Sequence[str], one: str, other: str) -> None:
    for c in (*first, *second):
        if c not in first or c not in second:
            lacking = one if c not in first else other
            raise InputError(f"The classes of {one} and {other} differ: {lacking} lacks {c!r}.")


def _columns(source: Given, prefix: str, seen: list[str]) -> tuple[tuple[str, ...], Array]:
    frame, where = source.frame, source.where
    names = [c for c in frame.columns if c.startswith(prefix) and len(c) > len(prefix)]
    if not names:
        tables.require_columns(frame, [f"{prefix}{seen[0]}"], where)
    require(len(names) <= MOST_CLASSES, f"{where} has {len(names)} columns {prefix}*: too many.")
    classes = tuple(n[len(prefix) :] for n in names)
    matrix = np.column_stack([tables.numbers(frame, n, where) for n in names])
    bad = (matrix < 0.0) | (matrix > 1.0 + 1e-9)
    if bad.any():
        row, column = (int(v[0]) for v in np.nonzero(bad))
        raise InputError(
            f"Column {names[column]!r} of {where} must hold probabilities. Found "
            f"{matrix[row, column]:g} in row {row}."
        )
    if len(names) == 1 and len(seen) == 2 and classes[0] in seen:
        other = next(c for c in seen if c != classes[0])
        return (classes[0], other), np.column_stack([matrix, 1.0 - matrix])
    total = matrix.sum(axis=1)
    off = np.abs(total - 1.0) > _SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise InputError(
            f"The columns {prefix}* of {where} must sum to 1. Found {total[row]:.4g} in row {row} "
            f"({int(off.sum())} of {total.size} rows): {', '.join(names[:6])}."
        )
    return classes, matrix


def from_models(
    sources: Sequence[Given], inputs: Sequence[str], model: Any, proxy_model: Any
) -> Found:
    """``predict_proba`` of the target, and of the proxy if there is one."""
    classes, target = _predicted(sources, inputs, model, "target")
    if proxy_model is None:
        return Found(classes, target, None)
    own, proxy = _predicted(sources, inputs, proxy_model, "proxy")
    _require_same(classes, own, "the target", "the proxy")
    return Found(classes, target, proxy[:, [own.index(c) for c in classes]])


def _predicted(
    sources: Sequence[Given], inputs: Sequence[str], model: Any, role: str
) -> tuple[tuple[str, ...], Array]:
    asked = open_model(model, f"the {role}")
    parts = [scoring.probabilities(asked, s.frame, inputs) for s in sources]
    return tuple(word(c) for c in parts[0][1]), np.concatenate([p for p, _ in parts])


def posed(
    sources: Sequence[Given],
    inputs: Sequence[str],
    model: Any,
    label: str,
    stands_for: Mapping[str, Mapping[str, Any]],
) -> Found:
    """Ask the target for each record's own label, with every value of the protected columns.

    Bayes' rule makes it a posterior of the value: ``q(v | x) M(x, v)[y]``, normalised.
    """
    for name in next(iter(stands_for.values())):
        require(
            name in inputs,
            f"The target does not read the column {name!r}: name it among the features, or give "
            "its probabilities as columns.",
        )
    answers = [
        np.concatenate([_likelihood(model, s, inputs, label, v) for s in sources])
        for v in stands_for.values()
    ]
    return Found(tuple(stands_for), None, None, np.column_stack(answers))


def _likelihood(
    model: Any, source: Given, inputs: Sequence[str], label: str, value: Mapping[str, Any]
) -> Array:
    """Log-probability of each record's label had the protected columns these values."""
    kinds = source.frame.schema
    changed = source.frame.with_columns(
        *(nw.lit(v).cast(kinds[name]).alias(name) for name, v in value.items())
    )
    loss = scoring.losses(model, changed, inputs, label, source.where)
    return np.asarray(np.maximum(-loss, np.log(FLOOR)))
