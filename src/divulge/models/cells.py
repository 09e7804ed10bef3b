"""Rows of numbers from a server as log-probabilities, and columns of a table as JSON."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models.base import Answers, log_softmax, logarithms
from divulge.models.endpoint import Endpoint, spread, within
from divulge.types import Array

Outputs = Literal["probabilities", "logits"]
OUTPUTS: tuple[Outputs, ...] = ("probabilities", "logits")
PER_ROW, PER_CLASS, PER_REPLY = 1 << 16, 64, 1 << 16
"""Bytes of a reply expected at most per record, or per class of a record, and beside them."""


class Classifier(ABC):
    """What classifiers behind an endpoint share: how rows are spread over the connections."""

    endpoint: Endpoint
    per_request: int
    connections: int

    @property
    def name(self) -> str:
        """Where it is."""
        return self.endpoint.address

    @property
    def batch(self) -> int:
        """As many records as all connections take at once."""
        return self.per_request * self.connections

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities of the classes."""
        return spread(
            len(records),
            self.per_request,
            self.connections,
            lambda part: within(part, lambda p: self._body(records[p]), self._ask),
        )

    @abstractmethod
    def _body(self, records: Frame) -> bytes:
        """What is sent to ask about these records."""

    @abstractmethod
    def _ask(self, part: slice, body: bytes) -> Answers:
        """Send it, and read what comes back."""


def expected(rows: int, classes: int) -> int:
    """Most bytes of a reply about so many records, with as many classes as are known of."""
    return PER_REPLY + rows * max(PER_ROW, PER_CLASS * classes)


def read(endpoint: Endpoint, values: Any, rows: int, outputs: Outputs) -> Array:
    """Log-probabilities, one row per record; InputError that says what came back instead."""
    try:
        found = np.asarray(values, dtype=float) if _numeric(values) else None
    except (ValueError, OverflowError):  # rows of unequal length, numbers beyond floats
        found = None
    if found is None or found.ndim not in (1, 2) or found.shape[0] != rows or not found.size:
        endpoint.fail(f"must give a row of numbers for each of {rows} records", values)
    if not np.isfinite(found).all():
        endpoint.fail("gave numbers that are not finite", values)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if outputs == "logits":
        two_sided = np.column_stack([np.zeros(rows), found]) if found.ndim == 1 else found
        return log_softmax(two_sided)
    try:
        return logarithms(found, endpoint.address)
    except InputError as error:
        raise InputError(f"{error} If these are logits, say so (--with outputs=logits).") from None


def _numeric(values: Any) -> bool:
    """Whether all of it is numbers or lists of numbers: no text, no null, no true or false."""
    if not isinstance(values, list):
        return False
    return all(
        type(v) in (int, float) or (type(v) is list and all(type(w) in (int, float) for w in v))
        for v in values
    )


def cells(records: Frame, column: str, name: str, *, missing: bool) -> list[Any]:
    """A column as JSON values: numbers, text, true and false; null only where it is allowed."""
    values = records[column].to_list()
    out: list[Any] = []
    for i, value in enumerate(values):
        absent = value is None or (isinstance(value, float) and not math.isfinite(value))
        if absent and missing and (value is None or math.isnan(value)):
            out.append(None)
            continue
        require(
            not absent and isinstance(value, bool | int | float | str),
            f"Column {column!r} cannot be sent to {name}: found {value!r} in row {i} of "
            f"{len(values)} asked about at once. Send numbers or text without gaps.",
        )
        out.append(value)
    return out
