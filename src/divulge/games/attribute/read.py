"""From tables or models to what the attribute game needs: values, target and proxy probabilities.

The value is the label, or another column that the records kept to themselves. Training records
come first, held-out records (outside the training set) after them; each in the order of their
content (``data/arranged.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge.data import tables
from divulge.data.arranged import Rows, arranged, order_of, rows_named
from divulge.data.features import Features, encode
from divulge.data.given import Given, read_table
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.games.attribute import asking as probabilities
from divulge.games.attribute.protected import Protected, frequent
from divulge.games.attribute.same_records import overlap, refuse_equal
from divulge.models.handed import described
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index


@dataclass(frozen=True)
class Records:
    """One row per record; the first ``training`` ones were in the training set."""

    codes: Index = field(repr=False)
    """The true value of each record, as a position in ``classes``."""
    classes: tuple[str, ...]
    training: int
    features: Features
    log_target: Array | None = field(repr=False)
    """Log-probabilities of the target; None if they follow from ``likelihood`` and the proxy.
    Without ``heldout_target`` for the training records only."""
    log_proxy: Array | None = field(repr=False)
    """None: divulge fits the proxy."""
    proxy: Array | None = field(default=None, repr=False)
    """The proxy's probabilities as given, zeros included; None: those of ``log_proxy``."""
    likelihood: Array | None = field(default=None, repr=False)
    """Log-likelihood of each record's label for every value of a protected column."""
    heldout_target: bool = False
    """Whether the target's probabilities are known for the held-out records too."""
    overlap: str | None = None
    """Which held-out records are training records as well, in words."""
    value: str = "label"
    inputs: tuple[dict[str, str], ...] = ()
    model: Mapping[str, str] | None = None
    """What a result says of the model that was asked."""
    rows: Rows | None = field(default=None, repr=False)
    """Where the training records stand in the user's table."""
    left_out: int = 0
    """Training records whose value is too rare to be audited."""

    @property
    def outside(self) -> Index:
        """The held-out records."""
        return np.arange(self.training, self.codes.size)


def read_records(
    table: Any,
    *,
    label: str | None,
    protected: str | Sequence[str] | None = None,
    bins: int | None = None,
    target: str = "p_",
    proxy: str = "q_",
    features: str | Sequence[str] = (),
    model: Any = None,
    proxy_model: Any = None,
    heldout: Any = None,
) -> Records:
    """Read and check everything; each error says what is wrong, where, and what to do.

    Several protected columns are one value: each combination that occurs.
    """
    kept_back = [protected] if isinstance(protected, str) else list(protected or ())
    if not kept_back and label is None:
        raise InputError("Name the label column, or the protected column.")
    values = kept_back or [str(label)]
    sources = [read_table("the table", table)]
    if heldout is not None:
        sources.append(read_table("the held-out table", heldout))
        refuse_equal(*(s.frame for s in sources))
    frame = sources[0].frame
    asked = [features] if isinstance(features, str) else features
    names = tables.expand(frame, asked, "the table")
    for source in sources:
        tables.require_columns(source.frame, [*values, *names], source.where)
    fingerprints = tuple(source.fingerprint() for source in sources)
    shared = overlap(*(s.frame for s in sources)) if len(sources) > 1 else None
    prefixes = (target, proxy) if model is None else ()
    orders = [_order(source.frame, [*values, label, *names], prefixes) for source in sources]
    sources = _arranged(sources, orders)
    posed = model is not None and bool(kept_back)
    with rows_named(orders[0], {sources[-1].where: orders[-1]}):
        what = Protected.of(sources[0].frame, values, bins, posed=posed)
        columns = [what.words(s) for s in sources]
        some = frequent(columns, what.name) if posed else None
    left_out = 0
    if some is not None:
        left_out = len(sources[0].frame) - some[0].size
        orders = [order[rows] for order, rows in zip(orders, some, strict=True)]
        sources = _arranged(sources, some)
        columns = [[c[i] for i in rows] for c, rows in zip(columns, some, strict=True)]
    frame, value = sources[0].frame, what.name
    with rows_named(orders[0], {sources[-1].where: orders[-1]}):
        if model is None:
            require(proxy_model is None, "A proxy model needs a target model beside it.")
            seen = sorted({word for words in columns for word in words})
            found = probabilities.from_columns(sources, target, proxy, seen)
        elif not kept_back:
            inputs = [n for n in names if n != label]
            found = probabilities.from_models(sources, inputs, model, proxy_model)
        else:
            require(proxy_model is None, "The proxy of a protected column is fitted by divulge.")
            if label is None:
                raise InputError("A protected column needs the label that the target predicts.")
            inputs = [n for n in names if n != label]
            stands_for = what.stands_for(sources[0])
            found = probabilities.posed(sources, inputs, model, label, stands_for)
        codes = np.concatenate(
            [
                _codes(w, found.classes, value, s.where)
                for s, w in zip(sources, columns, strict=True)
            ]
        )
        require(
            np.unique(codes[: len(frame)]).size > 1,
            f"Column {value!r} of the table has only one value: there is nothing to leak.",
        )
        if found.target is not None and found.proxy is not None:
            same = np.array_equal(found.target, found.proxy[: len(found.target)])
            require(
                not same, "Target and proxy give the same probabilities: they are the same model."
            )
        shown = [n for n in names if n not in values]
        if kept_back and label is not None and label not in shown:
            shown.append(label)
        require(
            found.proxy is not None or len(shown) > 0,
            f"There is no proxy: give columns {proxy}<class>, a proxy model, or features on "
            "which divulge can fit one.",
        )
        whole = found.target is not None and len(found.target) == codes.size
        return Records(
            codes=codes,
            classes=found.classes,
            training=len(frame),
            features=_encoded(sources, shown),
            log_target=None if found.target is None else log_probabilities(found.target),
            log_proxy=None if found.proxy is None else log_probabilities(found.proxy),
            proxy=None if found.proxy is None else _normalised(found.proxy),
            likelihood=found.likelihood,
            heldout_target=len(sources) > 1 and (whole or found.likelihood is not None),
            overlap=shared,
            value=value,
            inputs=fingerprints,
            model=None if model is None else described(model),
            rows=orders[0],
            left_out=left_out,
        )


def _arranged(sources: Sequence[Given], orders: Sequence[Rows]) -> list[Given]:
    return [
        replace(source, table=arranged(source.frame, order))
        for source, order in zip(sources, orders, strict=True)
    ]


def _order(frame: Frame, names: Sequence[str | None], prefixes: tuple[str, ...]) -> Rows:
    """The order of the rows by all that is used of them."""
    used = [c for c in frame.columns if c in names]
    return order_of(frame, used, also=[c for c in frame.columns if c.startswith(prefixes)])


def _normalised(probabilities: Array) -> Array:
    return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))


def _codes(words: Sequence[str], classes: tuple[str, ...], column: str, where: str) -> Index:
    at = {name: i for i, name in enumerate(classes)}
    codes = np.array([at.get(w, -1) for w in words], dtype=np.intp)
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        shown = ", ".join(repr(c) for c in classes[:8]) + (", ..." if len(classes) > 8 else "")
        raise InputError(
            f"Column {column!r} of {where} has {words[row]!r} in row {row}, which is not one of "
            f"the classes {shown} ({int((codes < 0).sum())} of {codes.size} rows)."
        )
    return codes


def _encoded(sources: Sequence[Given], names: Sequence[str]) -> Features:
    if not names:
        return Features(np.zeros((sum(len(s.frame) for s in sources), 0)), ())
    frame = sources[0].frame.select(*names)
    if len(sources) > 1:
        frame, _ = tables.stack(frame, sources[1].frame.select(*names))
    return encode(frame, names, "the table")
