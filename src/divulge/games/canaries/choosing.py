"""Which records of the data are canaries, and how their coins fall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from divulge.data import content, tables
from divulge.data.arranged import Rows, order_of
from divulge.data.given import look_at
from divulge.data.tables import Frame
from divulge.errors import require, require_choice, require_probability
from divulge.exposure.records import read_records
from divulge.exposure.selection import (
    MAHALANOBIS,
    RANDOM,
    STRATEGIES,
    exposure,
    most_exposed,
    rank_sum,
)
from divulge.games.canaries import coins
from divulge.games.canaries.planning import DATA, LEAST, ROW, Name, Plan, names_of
from divulge.games.public import check_words
from divulge.types import Array
from divulge.work.threads import single


def require_count(count: int, records: int) -> None:
    """InputError unless so many of the records can be canaries."""
    require(
        LEAST <= count <= records,
        f"The number of canaries must lie between {LEAST} and the {records} records of the data. "
        f"Found {count}.",
    )


@single
def choose(
    data: Any,
    *,
    reference: Any = None,
    gradients: Sequence[Any] = (),
    features: str | Sequence[str] = (),
    id: str | None = None,
    count: int = 1000,
    strategy: str = MAHALANOBIS,
    noise: float | Sequence[float] = 0.0,
    averaged: float | None = None,
    probability: float = 0.5,
    seed: int | None = None,
    exposures: Array | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Plan:
    """Choose canaries among the records of ``data`` and flip a coin for each.

    ``strategy``: 'mahalanobis' (farthest from the reference records, in units of their spread and
    of the noise), 'norm' (longest) or 'random'. ``features`` names columns of numbers or lists of
    numbers (embeddings); by default all columns. With ``gradients``, one table of clipped gradients
    per step, a row for each record, the ranks of the steps are summed (004, Algorithm 6).
    ``reference`` are other records than the data to measure from. ``noise`` is the standard
    deviation of the noise on every column of a mean of ``averaged`` records, one for all columns or
    one for each, by default all of the data; for DP-SGD ``sigma c / B`` on a mean of B gradients.
    ``exposures`` were measured elsewhere, one per record. Coins and choice follow from ``seed``
    and the data's SHA-256; by default the operating system draws the seed, and the plan
    stores it.
    """
    require_choice("strategy", strategy, STRATEGIES)
    if seed is not None:
        check_words({"seed": seed})
    require_probability("probability", probability)
    loud = np.asarray(noise, dtype=float)
    require(
        loud.ndim <= 1 and bool(((loud >= 0.0) & (loud < np.inf)).all()),
        f"noise must be at least 0 and finite. Found {noise!r}.",
    )
    frame = tables.read(data)
    mean_of = len(frame) if averaged is None else averaged
    require(0.0 < mean_of < np.inf, f"averaged must be above 0. Found {averaged!r}.")
    ids = ids_of(frame, id)
    require_count(count, len(frame))
    require(
        not (len(gradients) > 0 and reference is not None),
        "Gradients are measured from each other: give --gradients or --reference, not both.",
    )
    if progress is not None:
        progress("choosing canaries", 0, 2)
    used = coins.secret_seed() if seed is None else int(seed)
    order = order_of(frame, frame.columns)  # the plan is the same however the data are sorted
    digest = content.digest(frame, frame.columns)
    key = coins.mix(used, digest)
    choose, shuffle = np.random.default_rng(int.from_bytes(key, "big")).spawn(2)
    each = loud * np.sqrt(mean_of)
    if exposures is None:
        values, names = _exposures(frame, order, strategy, features, id, reference, gradients, each)
    else:
        require(
            exposures.shape == (len(frame),),
            f"There must be one exposure for each of the {len(frame)} records. Found "
            f"{exposures.size}.",
        )
        values, names = exposures[order], []
    rows = order[shuffle.permutation(most_exposed(values, count, choose))]
    details: dict[str, Any] = {
        "features": names,
        "noise": loud.tolist(),
        "averaged": mean_of,
        "coins": coins.RULE,
        "content_sha256": digest,
    }
    if reference is not None:
        details["reference"] = look_at("the reference", reference).fingerprint()
    if len(gradients) > 0:
        details["gradients"] = [
            look_at(f"gradients {k}", g).fingerprint() for k, g in enumerate(gradients)
        ]
    return Plan(
        ids=tuple(ids[r] for r in rows.tolist()),
        rows=tuple(rows.tolist()),
        included=coins.flip(key, count, probability),
        id=id,
        strategy=strategy,
        seed=used,
        probability=probability,
        input=tables.fingerprint(data, frame, "data"),
        details=details,
    )


def _exposures(
    frame: Frame,
    order: Rows,
    strategy: str,
    features: str | Sequence[str],
    id: str | None,
    reference: Any,
    gradients: Sequence[Any],
    noise: Array,
) -> tuple[Array, list[str]]:
    """How exposed each record is, in this order of the rows, and the columns that say so."""
    if strategy == RANDOM:
        return np.zeros(len(frame)), []
    if len(gradients) > 0:
        steps = [tables.read(g) for g in gradients]
        for k, step in enumerate(steps):
            require(
                len(step) == len(frame),
                f"Gradients {k} must have a row for each of the {len(frame)} records, in their "
                f"order. Found {len(step)}.",
            )
            if id is not None and id in step.columns:
                same = names_of(step, id, f"gradients {k}") == names_of(frame, id, DATA)
                require(same, f"Gradients {k} must have the ids of the data, in their order.")
        read = (
            read_records(step, _columns(step, (), id, ""), f"gradients {k}", order)
            for k, step in enumerate(steps)
        )
        return rank_sum(exposure(r.matrix, strategy, noise=noise, names=r.names) for r in read), []
    columns = _columns(frame, features, id, DATA)
    seen = read_records(frame, columns, DATA, order)
    others = None
    if reference is not None:
        further = tables.read(reference)
        tables.require_columns(further, columns, "the reference")
        known = read_records(further, columns, "the reference", order_of(further, columns))
        require(
            known.names == seen.names, "The reference must have embeddings as long as the data's."
        )
        others = known.matrix
    values = exposure(seen.matrix, strategy, reference=others, noise=noise, names=seen.names)
    return values, columns


def _columns(frame: Frame, asked: str | Sequence[str], id: str | None, where: str) -> list[str]:
    """The columns to measure by; all but the id by default."""
    names = [asked] if isinstance(asked, str) else list(asked)
    return tables.expand(frame, names, where) if names else [c for c in frame.columns if c != id]


def ids_of(frame: Frame, id: str | None) -> list[Name]:
    """The name of every record: its id, or its row number."""
    if id is None:
        require(
            ROW not in frame.columns,
            f"Without --id records are named by their row number, but the data have a column "
            f"{ROW!r}. Give --id {ROW}, or rename it.",
        )
        return list(range(len(frame)))
    tables.require_columns(frame, [id], DATA)
    return names_of(frame, id, DATA)
