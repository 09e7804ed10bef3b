"""How much does each record leak through a released mean? From two tables to a Result.

No attack is run and nothing is tested: distances in the covariance of reference records give, under
the model of ``exposure.scores``, what the best possible attack on each record would reach.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import __version__
from divulge.data import tables
from divulge.data.arranged import Rows, order_of, rows_named
from divulge.data.given import read_table
from divulge.data.table_files import require_table_name, write_table
from divulge.errors import CannotConclude, InputError, require, require_probability
from divulge.exposure import binary, exposed
from divulge.exposure import records as records_
from divulge.exposure.covariance import LEAST, LEDOIT_WOLF, Covariance, estimate_covariance
from divulge.exposure.defences import solve_noise, solve_rate
from divulge.exposure.exposed import Release
from divulge.games.leakage import findings
from divulge.games.public import public
from divulge.result import Result
from divulge.result.of_leakage import Defences
from divulge.types import Array, Progress

MEAN = "mean"
NOISY_MEAN = "noisy-mean"
SUBSAMPLED_MEAN = "subsampled-mean"
MECHANISMS = (MEAN, NOISY_MEAN, SUBSAMPLED_MEAN)
EXACT = "exact_"
"""How columns with exact figures begin."""
DELTAS = (1e-5,)
FPRS = (0.01, 0.1)
MOST_EXACT = 2_000
"""Records of 0/1 columns that are computed exactly, where there are more: spread over the ranks."""
STAGES = ("covariance", "distances", "noise and rate", "similar records")


@dataclass(frozen=True)
class Wanted:
    """Which figures are computed, and the advantage that a defence has to reach."""

    deltas: tuple[float, ...] = DELTAS
    fprs: tuple[float, ...] = FPRS
    advantage: float = 0.1
    percentile: float = 99.0

    def __post_init__(self) -> None:
        for delta in self.deltas:
            require_probability("delta", delta)
        for fpr in self.fprs:
            require_probability("fpr", fpr)
        require_probability("advantage", self.advantage)
        inside = 0.0 < self.percentile <= 100.0
        require(inside, f"percentile must lie in (0, 100]. Found {self.percentile!r}.")


@dataclass(frozen=True)
class Tables:
    """The two tables as numbers."""

    data: records_.NumericRecords
    reference: records_.NumericRecords
    ids: Any = field(repr=False)
    """An Arrow column with the identity of every record."""
    dropped: tuple[str, ...]
    inputs: tuple[dict[str, str], ...]
    kept: npt.NDArray[np.bool_] = field(repr=False)
    """Of the columns as given, those that were not dropped."""

    def of_columns(self, noise: tuple[float, ...]) -> tuple[float, ...]:
        """The noise of the columns that are left, from one for each column as given."""
        require(
            len(noise) == self.kept.size,
            f"The noise has {len(noise)} numbers, and the features have {self.kept.size} columns: "
            "give one for all, or one for each.",
        )
        return tuple(v for v, stays in zip(noise, self.kept, strict=True) if stays)


@dataclass(frozen=True)
class Exposures:
    """What was computed for every record, in the order of their content (``data/arranged.py``)."""

    leakage: Array = field(repr=False)
    columns: dict[str, Array] = field(repr=False)
    """advantage, tpr_at_<fpr> and epsilon_at_<delta>."""
    order: npt.NDArray[np.intp] = field(repr=False)
    """Most exposed first; among equals, by content."""

    @property
    def is_exact(self) -> bool:
        """Whether there are exact figures, those of 0/1 columns, beside the normal ones."""
        return EXACT + "advantage" in self.columns

    @property
    def advantage(self) -> Array:
        """The advantage of every record, exact if there is such a figure; NaN if not computed."""
        return self.columns[EXACT + "advantage" if self.is_exact else "advantage"]

    def table(self, ids: Any) -> Any:
        """An Arrow table: id, leakage and the other columns, most exposed first."""
        import pyarrow as pa

        sorted_ids = ids.take(pa.array(self.order))
        numbers = {name: values[self.order] for name, values in self.columns.items()}
        return pa.table({"id": sorted_ids, "leakage": self.leakage[self.order], **numbers})


@public("leakage")
def leakage(
    data: Any,
    *,
    reference: Any,
    features: str | Sequence[str] = (),
    id: str | None = None,
    drop_constant: bool = False,
    rename: Mapping[str, str] | None = None,
    mechanism: str = MEAN,
    noise: float | Sequence[float] | None = None,
    rate: float | None = None,
    size: int | None = None,
    covariance: str = LEDOIT_WOLF,
    advantage: float = 0.1,
    percentile: float = 99.0,
    fprs: Sequence[float] = FPRS,
    deltas: Sequence[float] = DELTAS,
    ids: bool = False,
    table: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Leakage of every record of ``data`` through the mean of its features.

    ``reference`` holds records drawn like them, best ones that are not in the data; mean and
    covariance come from there. ``features`` are columns of numbers, lists of numbers (embeddings,
    gradients) or patterns such as ``x_*``; without them, all columns but ``id``. ``noise`` is the
    standard deviation of the Gaussian noise on every column of the released mean, or a list with
    one for each in the order of the features; ``rate`` the share of the records behind it, ``size``
    the number of records in the whole table if ``data`` holds a part of it. ``table`` is where the
    table of all records goes (Parquet or CSV), most exposed first, with ids and figures only; the
    result names no record unless ``ids`` is true. Also
    solved: the noise, and the rate, that bring this percentile of the records down to the
    advantage.
    """
    wanted = Wanted(tuple(deltas), tuple(fprs), advantage, percentile)
    noise_, rate_ = checked_mechanism(mechanism, noise, rate)
    target = None if table is None else require_table_name(table, (data, reference))
    advance = progress or (lambda stage, done, total: None)
    read = read_tables(data, reference, features, id, drop_constant)
    rows = read.data.matrix
    if len(read.reference.matrix) < LEAST:
        raise CannotConclude(
            f"{len(read.reference.matrix)} reference records are too few for a covariance; at "
            f"least {LEAST} are needed."
        )
    if isinstance(noise_, tuple):
        noise_ = read.of_columns(noise_)
    release = Release(rows.shape[0] if size is None else size, noise_, rate_)
    require(
        release.size >= rows.shape[0],
        f"size must be at least the number of records given, {rows.shape[0]}. Found {size}.",
    )
    advance(STAGES[0], 0, len(STAGES))
    model = estimate_covariance(read.reference.matrix, covariance, read.reference.names)
    advance(STAGES[1], 1, len(STAGES))
    measured = measure(rows, model, release, wanted)
    if not release.noisy and binary.binary_columns(rows, read.reference.matrix).all():
        measured = add_exact(measured, rows, model, release, wanted)
    advance(STAGES[2], 2, len(STAGES))
    defences = solve(rows, model, release, wanted, measured)
    advance(STAGES[3], 3, len(STAGES))
    similar = findings.similar(
        rows, read.reference.matrix, model, release, measured.leakage, measured.order
    )
    advance(STAGES[3], 4, len(STAGES))
    found = findings.result(
        read,
        measured,
        findings.LeakageSetting(mechanism, release, model, wanted, defences, similar, ids),
        command=command,
    )
    if target is not None:
        write_table(target, [measured.table(read.ids)], {"divulge": __version__})
    return found


def checked_mechanism(
    mechanism: str, noise: float | Sequence[float] | None, rate: float | None
) -> tuple[float | tuple[float, ...], float]:
    """The noise and the rate of a mechanism; InputError for one that it does not have."""
    require(
        mechanism in MECHANISMS,
        f"Unknown mechanism {mechanism!r}. Choose from {', '.join(MECHANISMS)}.",
    )
    loud = 0.0 if noise is None else noise
    if not isinstance(loud, int | float):
        loud = tuple(float(v) for v in loud)
        require(len(loud) > 0, "noise must be a number, or one for each column. Found none.")
    checked = Release(10**12, loud, 1.0 if rate is None else rate)
    if mechanism == MEAN and checked.noisy:
        raise InputError("The mechanism 'mean' adds no noise. Use 'noisy-mean' with noise.")
    if mechanism == NOISY_MEAN:
        require(noise is not None, "The mechanism 'noisy-mean' needs noise: its deviation.")
    if mechanism == SUBSAMPLED_MEAN:
        require(rate is not None, "The mechanism 'subsampled-mean' needs rate: the share sampled.")
    elif rate is not None and rate != 1.0:
        raise InputError(
            f"The mechanism {mechanism!r} uses every record, found rate {rate!r}. Use "
            "'subsampled-mean' with rate."
        )
    return checked.noise, checked.rate


def read_tables(
    data: Any, reference: Any, features: str | Sequence[str], id: str | None, drop_constant: bool
) -> Tables:
    """Read and check both tables; every error says what is wrong and where."""
    where, there = "the data", "the reference"
    given, beside = read_table(where, data), read_table(there, reference)
    frame, other = given.frame, beside.frame
    if id is not None:
        tables.require_columns(frame, [id], where)
    patterns = [features] if isinstance(features, str) else list(features)
    names = tables.expand(frame, patterns, where) or [c for c in frame.columns if c != id]
    require(id not in names, f"The id column {id!r} must not be a feature.")
    tables.require_columns(other, names, there)
    order = order_of(frame, names, also=() if id is None else (id,))
    own = records_.read_records(frame, names, where, order)
    theirs = records_.read_records(other, names, there, order_of(other, names))
    if own.names != theirs.names:
        raise InputError(
            f"The features have {len(own.names)} columns in the data and {len(theirs.names)} in "
            "the reference: the lists differ in length."
        )
    dropped: tuple[str, ...] = ()
    kept = np.ones(len(own.names), dtype=bool)
    if drop_constant:
        flat = records_.constant_columns(theirs.matrix)
        if flat.any():
            dropped = tuple(n for n, f in zip(own.names, flat, strict=True) if f)
            require(not flat.all(), "Every feature is constant over the reference records.")
            with rows_named(order):
                _refuse_outside(own, theirs, flat)
            own, theirs, kept = own.columns(~flat), theirs.columns(~flat), ~flat
    inputs = (given.fingerprint(), beside.fingerprint(there))
    return Tables(own, theirs, _ids(frame, id, order), dropped, inputs, kept)


def _refuse_outside(
    own: records_.NumericRecords, theirs: records_.NumericRecords, flat: npt.NDArray[np.bool_]
) -> None:
    """A record that differs where the reference never does is exposed beyond any distance."""
    for j in np.flatnonzero(flat):
        differs = own.matrix[:, j] != theirs.matrix[0, j]
        if differs.any():
            row = int(np.argmax(differs))
            raise InputError(
                f"Column {own.names[j]!r} is {theirs.matrix[0, j]:g} in every reference record but "
                f"{own.matrix[row, j]:g} in row {row} of the data ({int(differs.sum())} such "
                "rows): leaving it out would hide what gives these records away. Give more "
                "reference records, or leave the column out of the features."
            )


def _ids(frame: tables.Frame, id: str | None, order: Rows) -> Any:
    import pyarrow as pa

    if id is None:
        return pa.array(order)
    column = frame[id].to_arrow()
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.take(pa.array(order))


def measure(rows: Array, model: Covariance, release: Release, wanted: Wanted) -> Exposures:
    """Leakage, advantage, power and epsilon of every record."""
    m = exposed.leakage_scores(rows, model, release)
    columns = {"advantage": exposed.advantage(m, release.rate)}
    for fpr in wanted.fprs:
        columns[f"tpr_at_{fpr:g}"] = exposed.power(m, fpr, release.rate)
    for delta in wanted.deltas:
        columns[f"epsilon_at_{delta:g}"] = exposed.epsilon(m, delta, release.rate)
    return Exposures(m, columns, np.argsort(-m, kind="stable"))


def add_exact(
    measured: Exposures, rows: Array, model: Covariance, release: Release, wanted: Wanted
) -> Exposures:
    """The exact figures of 0/1 columns, taken to be independent, beside the normal ones.

    Of very many records only the most exposed and others spread over the ranks; NaN elsewhere.
    """
    order = measured.order
    spread = order[np.linspace(0, order.size - 1, min(order.size, MOST_EXACT)).astype(np.intp)]
    chosen = np.union1d(order[: findings.SHOWN], spread)
    found = binary.exact(rows[chosen], model.mean, release, fprs=wanted.fprs, deltas=wanted.deltas)
    values = {"advantage": found.advantage}
    values |= {f"tpr_at_{f:g}": v for f, v in zip(wanted.fprs, found.power, strict=True)}
    values |= {f"epsilon_at_{d:g}": v for d, v in zip(wanted.deltas, found.epsilon, strict=True)}
    columns = dict(measured.columns)
    for name, some in values.items():
        columns[EXACT + name] = np.full(order.size, np.nan)
        columns[EXACT + name][chosen] = some
    return Exposures(measured.leakage, columns, order)


def solve(
    rows: Array, model: Covariance, release: Release, wanted: Wanted, measured: Exposures
) -> Defences:
    """Noise at the rate as it is, and rate at the noise as it is."""
    goal = {"advantage": wanted.advantage, "percentile": wanted.percentile}
    known = None if release.noisy else measured.leakage
    noise = solve_noise(rows, model, release, leakage=known, **goal)
    rate = solve_rate(rows, model, release, **goal)
    spread = np.sqrt(np.median(model.variances) / release.behind)
    return Defences(
        **goal,
        now=findings.percentile(measured.advantage, wanted.percentile),
        noise=noise,
        noise_over_spread=float(noise / spread),
        rate=rate,
    )
