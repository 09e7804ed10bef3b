"""Crafted records as canaries of black-box audits: mislabelled, or like no record of the data.

A canary takes the place of a record drawn at random; the original is trained on by nobody, whether
the canary is included or not. ``mislabelled`` changes the label to another of its values;
``out-of-distribution`` draws every column by itself from the column's own values (every entry of a
list by itself), so that each value is plausible and their combination is not. All of this follows
from the plan's key and not from its coins: left-out canaries are crafted just like included ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.data import content, tables
from divulge.data.arranged import order_of
from divulge.data.tables import Frame
from divulge.errors import InputError, require, require_probability, require_seed
from divulge.games.canaries import coins, planted
from divulge.games.canaries.choosing import ids_of
from divulge.games.canaries.planning import DATA, LEAST, ROW, Crafted, Plan

MISLABELLED, STRANGE = "mislabelled", "out-of-distribution"
RECORDS = (MISLABELLED, STRANGE)


def plan_records(
    data: Any,
    strategy: str,
    *,
    features: str | Sequence[str] = (),
    label: str | None = None,
    id: str | None = None,
    count: int,
    probability: float = 0.5,
    seed: int | None = None,
) -> Plan:
    """Craft ``count`` canaries in the place of random records, and flip a coin for each."""
    require(data is not None, f"{strategy} canaries take the place of records: give the data.")
    require_probability("probability", probability)
    if seed is not None:
        require_seed(seed)
    frame = tables.read(data)
    ids = ids_of(frame, id)
    if not LEAST <= count <= len(frame):
        raise InputError(
            f"The number of canaries must lie between {LEAST} and the {len(frame)} records of the "
            f"data. Found {count}."
        )
    used = coins.secret_seed() if seed is None else int(seed)
    digest = content.digest(frame, frame.columns)
    key = coins.mix(used, digest)
    order = order_of(frame, frame.columns)  # the same canaries however the data are sorted
    rows = order[planted.generator(key, "rows").choice(len(frame), count, replace=False)]
    table = frame.to_arrow().select(frame.columns)  # without the index of pandas
    if strategy == MISLABELLED:
        require(label is not None, "mislabelled canaries need the label: name its column.")
        assert label is not None
        tables.require_columns(frame, [label], DATA)
        changed = [label]
        crafted = _mislabelled(frame, table.take(pa.array(rows)), label, rows, key)
    else:
        names = [features] if isinstance(features, str) else list(features)
        changed = tables.expand(frame, names, DATA) if names else list(frame.columns)
        changed += [label] if label is not None and label not in changed else []
        changed = [name for name in changed if name != id]
        tables.require_columns(frame, changed, DATA)
        crafted = _strange(frame, table.take(pa.array(rows)), changed, order, key)
    included = coins.flip(key, count, probability)
    others = np.setdiff1d(np.arange(len(frame)), rows)
    whole = pa.concat_tables([table.take(pa.array(others)), crafted.filter(pa.array(included))])
    places = np.concatenate([others, rows[np.array(included)]])
    shown = crafted.append_column(ROW, pa.array(rows, pa.int64())) if id is None else crafted
    return Plan(
        ids=tuple(ids[r] for r in rows.tolist()),
        rows=tuple(rows.tolist()),
        included=included,
        id=id,
        strategy=strategy,
        seed=used,
        probability=probability,
        input=tables.fingerprint(data, frame, "data"),
        details={
            "crafted": "records",
            "changed": changed,
            "coins": coins.RULE,
            "content_sha256": digest,
        },
        crafted=Crafted(whole.take(pa.array(np.argsort(places))), shown),
    )


def _mislabelled(frame: Frame, canaries: Any, label: str, rows: Any, key: bytes) -> Any:
    """The canaries with another label than their own, each as likely as any other."""
    own = frame[label].to_list()
    values = sorted({v for v in own if v is not None}, key=lambda v: (str(type(v)), v))
    require(len(values) >= 2, f"Column {label!r} of {DATA} has fewer than two labels.")
    require(
        len(values) < len(frame),
        f"Column {label!r} of {DATA} has a value of its own in every record: it is no label.",
    )
    rng = planted.generator(key, "labels")
    found = []
    for row in rows.tolist():
        rest = [v for v in values if v != own[row]]
        found.append(rest[int(rng.integers(len(rest)))])
    at = canaries.schema.get_field_index(label)
    kind = canaries.schema.field(at)
    return canaries.set_column(at, kind, pa.array(found, _plain(kind.type)).cast(kind.type))


def _strange(frame: Frame, canaries: Any, changed: Sequence[str], order: Any, key: bytes) -> Any:
    """The canaries with every column, and every entry of a list, drawn by itself."""
    table = frame.to_arrow()
    for name in changed:
        rng = planted.generator(key, f"column {name}")
        at = canaries.schema.get_field_index(name)
        kind = canaries.schema.field(at).type
        if not pa.types.is_nested(kind):
            drawn = order[rng.integers(len(frame), size=canaries.num_rows)]
            canaries = canaries.set_column(at, name, table[name].take(pa.array(drawn)))
            continue
        listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        listed = listed or pa.types.is_fixed_size_list(kind)
        require(
            listed and not pa.types.is_nested(kind.value_type),
            f"Column {name!r} of {DATA} holds {kind}: numbers, words or flat lists can be drawn.",
        )
        values = tables.lists(frame, name, DATA)
        which = order[rng.integers(len(frame), size=(canaries.num_rows, values.shape[1]))]
        mixed = values[which, np.arange(values.shape[1])]
        cells = pa.array(mixed.tolist()).cast(kind)
        canaries = canaries.set_column(at, name, cells)
    return canaries


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
