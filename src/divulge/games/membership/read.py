"""The user's tables as arrays: which columns and rows are read, and what is refused.

Only the columns that are needed are read, in batches. Without features every row is used, in a few
bytes each. With features the nuisance models hold several copies of every column and some more
numbers per row, so at most ``AT_MOST`` numbers are used: a random subset of the rows, chosen before
a truth is looked at. Rows stand in the order of their content (``data/arranged.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.attacks import scoring
from divulge.data import stored, subset, tables
from divulge.data.arranged import arranged, order_of, rows_named
from divulge.data.content import columns_by_content
from divulge.data.features import Features, encode
from divulge.data.given import Given, look_at, read_table
from divulge.data.meanings import Codes
from divulge.errors import CannotConclude, InputError, require
from divulge.games.membership import lessons
from divulge.games.membership.findings import Subset
from divulge.games.membership.pools import Pools
from divulge.games.membership.same_records import refuse_same_table, refuse_shared_records
from divulge.models.handed import described, handed
from divulge.models.source import Source
from divulge.shift import texts
from divulge.trials import check_both_kinds, check_scores
from divulge.types import Array

AT_MOST = 60_000_000
"""Numbers that are used by default: rows x (feature columns + PER_ROW)."""
PER_ROW = 10


def read_pools(
    table: Any,
    *,
    members: Any,
    nonmembers: Any,
    truth: str,
    score: str | Sequence[str] | None,
    features: str | Sequence[str],
    model: Any,
    label: str | None,
    lower_is_member: bool | None,
    propensity: str | None,
    reference_score: str | None,
    heldout: Any = None,
    attack: str | Sequence[str] | None = None,
    text: str | None = None,
    rows: int | None = None,
    seed: int = 0,
    wanted: lessons.Wishes = lessons.NOTHING,
) -> Pools:
    """Read and check the tables; every error says what is wrong and where."""
    given = [source is not None for source in (table, members, nonmembers)]
    require(
        given in ([True, False, False], [False, True, True]),
        "Give one table with a truth column, or members and nonmembers separately.",
    )
    apart = table is None
    where = "the two tables" if apart else "the table"
    sources = (
        [look_at("the members", members), look_at("the non-members", nonmembers)]
        if apart
        else [look_at("the table", table)]
    )
    inputs = [source.fingerprint() for source in sources]
    if apart:
        refuse_same_table(*inputs)
    shared = _Shared([c for c in sources[0].columns if all(c in s.columns for s in sources)])
    require(
        len(shared.columns) > 0,
        "The members and the non-members have no column in common."
        if apart
        else "The table has no columns.",
    )
    names = tables.expand(shared, [features] if isinstance(features, str) else features, where)
    single = [] if apart else [truth]
    tables.require_columns(shared, single, where)
    require(truth not in names, f"The truth column {truth!r} must not be a feature.")
    require(
        wanted.reference_size is None or reference_score is not None,
        "reference_size says what the control learned from: name its score (reference_score).",
    )
    finite = [c for c in (reference_score, propensity) if c is not None]
    if model is None:
        finite += tables.expand(shared, scoring.score_columns(score), where)
    helper_loss = tables.expand(shared, list(wanted.helper_loss), where)
    finite += helper_loss
    tables.require_columns(shared, finite, where)
    seen = lessons.recognise(sources[0], shared.columns, names, text, finite, asked=model)
    names = list(seen.features)
    teaching = label if wanted.helpers and seen.text is None else None
    further = [c for c in (seen.text, teaching, wanted.document) if c is not None]
    tables.require_columns(shared, further, where)
    used = [*single, *finite, *names, *further]
    plan = _Plan(
        columns=tuple(shared.columns if model is not None else dict.fromkeys(used)),
        truth=None if apart else truth,
        finite=tuple(finite),
        features=tuple(names),
        seed=seed,
    )
    width = len(names) + (0 if seen.text is None else texts.COLUMNS)
    fitting = AT_MOST // (width + PER_ROW) if width else None
    frame, truths, numbers, total = _read(sources, plan, fitting if rows is None else rows)
    check_both_kinds(truths, "the input" if apart else repr(truth))
    by_content = columns_by_content(frame, names)  # a model is shown them in the order given
    words = _words(by_content)
    by = names or ([] if seen.text is None else [seen.text])
    order = order_of(frame, by or plan.record, truths, plan.record if by else (), words)
    frame, truths = arranged(frame, order), truths[order]
    numbers = order if numbers is None else numbers[order]
    with rows_named(numbers):
        scores, score_names = scoring.scores(
            frame,
            score=score,
            model=model,
            attack=attack,
            label=label,
            text=seen.text,
            features=names,
            lower_is_member=lower_is_member,
            where=where,
            given=order,
        )
        for j, name in enumerate(score_names):
            check_scores(scores[:, j], f"Score {name!r} of {where}")
            if np.ptp(scores[:, j]) == 0.0:
                raise CannotConclude(f"Score {name!r} of {where} is the same in every row.")
        reference = None
        if reference_score is not None:
            alike = score_names[0] if lower_is_member is None else reference_score
            sign = scoring.direction(alike, lower_is_member)
            reference = sign * tables.numbers(frame, reference_score, where)
        known = None
        if propensity is not None:
            known = tables.numbers(frame, propensity, where)
            inside = bool(np.all((known > 0.0) & (known < 1.0)))
            require(inside, f"Column {propensity!r} of {where} must lie strictly in (0, 1).")
        aside = None if heldout is None else read_table("the held-out table", heldout)
        taught = [] if teaching is None else [teaching]
        described_by = list(dict.fromkeys([*by_content, *taught]))
        encoded, held, held_levels = _encoded(frame, described_by, where, aside, truth, words)
        encoded, of_text = lessons.text_features(frame, seen, wanted, encoded, where)
        encoded, given_helpers = lessons.with_given(encoded, frame, helper_loss, where)
        lessons.refuse_heldout(held, of_text, given_helpers)
        refuse_shared_records(encoded, scores, truths, where)
    source = handed(model)
    if isinstance(source, Source):
        inputs.append(source.described())
    if wanted.public_model is not None:
        inputs.append(lessons.shown_model(wanted.public_model))
    if aside is not None:
        inputs.append(aside.fingerprint("held-out records"))
    pools = Pools(
        truth=truths,
        score=scores,
        features=encoded,
        reference=reference,
        propensity=known,
        score_names=score_names,
        inputs=tuple(inputs),
        heldout=held,
        heldout_levels=held_levels,
        subset=None if len(truths) == total else Subset(len(truths), total),
        text=seen.about_text,
        rows=numbers if encoded.names else None,
        model=None if model is None else described(model),
        given=given_helpers,
        texts=of_text,
        training_size=wanted.training_size,
        reference_size=wanted.reference_size,
    )
    with rows_named(numbers):
        pools = lessons.with_lessons(
            pools, frame, seen, wanted, label=label, features=names, model=model, where=where
        )
        pools = lessons.by_documents(pools, frame, wanted.document)
    del frame
    stored.release()
    return pools


@dataclass(frozen=True)
class _Shared:
    """The columns that every table has."""

    columns: list[str]


@dataclass(frozen=True)
class _Plan:
    """Which columns are read, and what they are."""

    columns: tuple[str, ...]
    truth: str | None
    """None: members and non-members are tables apart."""
    finite: tuple[str, ...]
    features: tuple[str, ...]
    seed: int

    @property
    def record(self) -> tuple[str, ...]:
        """What makes up a record: all that is read of it but its truth."""
        return tuple(c for c in self.columns if c != self.truth)

    @property
    def words(self) -> tuple[str, ...]:
        return () if self.truth is None else (self.truth,)

    def truths(self, frame: tables.Frame, place: int) -> npt.NDArray[np.int8]:
        """+1 and -1; the first of two tables holds the members."""
        if self.truth is None:
            return np.full(len(frame), 1 - 2 * place, dtype=np.int8)
        return tables.truths(frame, self.truth, "the table")


Read = tuple[tables.Frame, npt.NDArray[np.int8], npt.NDArray[Any] | None, int]
"""A table, its truths, its rows in the user's (None: all, in order), and how many that has."""


def _read(sources: Sequence[Given], plan: _Plan, most: int | None) -> Read:
    """The tables one below the other: all rows, or a random subset of ``most``."""
    in_memory = [len(s.table) for s in sources if not isinstance(s.table, stored.Stored)]
    if most is None or (len(in_memory) == len(sources) and sum(in_memory) <= most):
        frames = [_whole(s, plan.columns, plan.words) for s in sources]
        return _joined(frames, plan, None, sum(map(len, frames)))
    samples = [_sampled(source, place, plan, most) for place, source in enumerate(sources)]
    totals = [total for _, total in samples]
    found = [groups for groups, _ in samples]
    if sum(totals) <= most:
        return _joined(_frames(sources, found), plan, None, sum(totals))
    found = subset.drawn(found, most, plan.seed)
    before = np.cumsum([0, *totals])
    numbers = np.concatenate([g.rows + start for g, start in zip(found, before, strict=False)])
    return _joined(_frames(sources, found), plan, numbers, sum(totals))


def _sampled(source: Given, place: int, plan: _Plan, most: int) -> tuple[subset.Groups, int]:
    """Rows of one table that may be among those used, and how many it has; all are checked."""
    import pyarrow as pa

    check = _Check(source.where, plan.words, plan.finite, plan.features)
    if not isinstance(source.table, stored.Stored):
        frame = source.table
        if len(frame) > most:
            check(frame, 0)
        truth = plan.truths(frame, place)
        groups = subset.Groups.of(frame, truth, 0, record=plan.record, seed=plan.seed)
        return groups, len(frame)
    sample = subset.Sample(most, plan.seed, plan.record)
    for batch in source.table.batches(plan.columns):
        check(pa.Table.from_batches([batch]), sample.total)
        table = pa.Table.from_batches([stored.coded(batch, plan.words)])
        sample.add(table, plan.truths(tables.read(table), place))
    require(sample.total > 0, f"{source.table.path} has no rows.")
    return sample.groups(), sample.total


def _frames(sources: Sequence[Given], found: Sequence[subset.Groups]) -> list[tables.Frame]:
    """The rows themselves."""
    return [
        tables.read(groups.table)
        if isinstance(source.table, stored.Stored)
        else source.table[groups.rows]
        for source, groups in zip(sources, found, strict=True)
    ]


def _whole(source: Given, columns: Sequence[str], words: Sequence[str]) -> tables.Frame:
    if isinstance(source.table, stored.Stored):
        return tables.read(source.table.table(columns, words))
    return source.table


def _joined(
    frames: Sequence[tables.Frame],
    plan: _Plan,
    numbers: npt.NDArray[Any] | None,
    total: int,
) -> Read:
    truths = np.concatenate([plan.truths(frame, place) for place, frame in enumerate(frames)])
    frame = frames[0] if len(frames) == 1 else tables.stack(frames[0], frames[1])[0]
    return frame, truths, numbers, total


@dataclass(frozen=True)
class _Check:
    """Refuses a batch with a bad value, by its row in the whole table."""

    where: str
    complete: tuple[str, ...]
    finite: tuple[str, ...]
    bounded: tuple[str, ...]

    def __call__(self, batch: Any, first: int) -> None:
        """Missing truths, scores that are not finite, features that are infinite."""
        frame = tables.read(batch)
        for name in self.complete:
            missing = frame[name].is_null().to_numpy()
            self._refuse(missing, f"Column {name!r} of {self.where} has no value", first)
        for name in self.finite:
            bad = ~np.isfinite(tables.numbers(frame, name, self.where, finite=False))
            self._refuse(bad, f"Column {name!r} of {self.where} must be finite, and is not", first)
        for name in self.bounded:
            if frame[name].dtype.is_numeric():
                bad = np.isinf(tables.numbers(frame, name, self.where, finite=False))
                self._refuse(bad, f"Feature {name!r} of {self.where} is infinite", first)

    def _refuse(self, bad: npt.NDArray[np.bool_], message: str, first: int) -> None:
        if bad.any():
            row = first + int(np.argmax(bad))
            raise InputError(f"{message} in row {row}. Remove or repair such rows.")


def _words(features: Sequence[str]) -> dict[str, str]:
    """Features by their places, so that a draw does not depend on what they are called."""
    return {name: f"feature {k}" for k, name in enumerate(features)}


def _encoded(
    frame: tables.Frame,
    names: Sequence[str],
    where: str,
    heldout: Given | None,
    truth: str,
    words: Mapping[str, str],
) -> tuple[Features, tuple[Array, Array] | None, Codes | None]:
    """Features of the pools, and of held-out records if any, encoded together."""
    if heldout is None:
        return encode(frame, names, where), None, None
    require(len(names) > 0, "Held-out records are used to fit the propensity: name the features.")
    further = heldout.frame
    tables.require_columns(further, [truth, *names], heldout.where)
    truths = tables.truths(further, truth, heldout.where).astype(float)
    order = order_of(further, names, truths, words=words)
    further, truths = arranged(further, order), truths[order]
    check_both_kinds(truths, heldout.where)
    both, _ = tables.stack(frame.select(*names), further.select(*names))
    encoded = encode(both, names, where)
    own = np.arange(len(encoded)) < len(frame)
    further_ones = encoded.rows(np.flatnonzero(~own))
    pools = encoded.rows(np.flatnonzero(own))
    return pools, (further_ones.matrix, truths), further_ones.levels
