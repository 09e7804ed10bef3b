"""The membership game: known members against known non-members, after the fact (Zero-Run).

From a table of scores (or a model and records) to a Result. The draw, the order of revelation and
every rule are fixed by the seed before a truth is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from divulge import tables
from divulge.errors import CannotConclude, InputError, require, require_probability
from divulge.games import corrections as corrections_
from divulge.games import draw as draw_
from divulge.games import findings, scoring
from divulge.games.provenance import DELTAS, versions
from divulge.pieces import Pieces
from divulge.result import Result
from divulge.shift import adjust
from divulge.shift.features import Features, duplicates, encode
from divulge.shift.propensity import CALIBRATIONS
from divulge.trials import check_both_kinds, check_scores
from divulge.work import SERIAL, Engine

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pools:
    """The user's table as arrays: one entry per row."""

    truth: Array = field(repr=False)
    score: Array = field(repr=False)
    features: Features
    reference: Array | None = field(repr=False)
    propensity: Array | None = field(repr=False)
    score_names: tuple[str, ...]
    inputs: tuple[dict[str, str], ...]
    heldout: tuple[Array, Array] | None = field(default=None, repr=False)
    """Features and truths of records that serve the propensity only."""


def membership(
    table: Any = None,
    *,
    members: Any = None,
    nonmembers: Any = None,
    truth: str = "member",
    score: str | Sequence[str] | None = None,
    features: str | Sequence[str] = (),
    model: Any = None,
    label: str | None = None,
    text: str | None = None,
    lower_is_member: bool | None = None,
    propensity: str | None = None,
    reference_score: str | None = None,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    corrections: Sequence[str] = corrections_.CORRECTIONS,
    estimator: str = "auto",
    calibration: str = "platt",
    heldout: Any = None,
    attack: str = "scores",
    bootstrap: int = 0,
    rng: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Audit what a model gives away about its members, with or without distribution shift.

    One table with a two-valued ``truth`` column, or ``members`` and ``nonmembers`` apart. The score
    is one column or several, or comes from ``model``: a file (``divulge.models.Source``), a fitted
    object with ``predict_proba`` or a callable that returns a loss per row; then ``score`` names
    attacks, ``label`` the column that the model predicts from the features, and ``text`` the column
    that a model of texts reads. ``features`` are what the record alone shows, and what the correction for shift is fitted
    on; ``propensity`` names a column with known probabilities of membership instead.
    ``heldout`` is a further table with truth and features, on which the propensity is fitted.
    ``attack="learned"`` lets the attack combine scores and features by boosting.
    ``reference_score`` is the same score from a model that never saw the members (a negative
    control). The headline bounds hold together with confidence ``1 - error``. The resamples of the
    ``bootstrap`` are done by ``n_jobs`` processes, ``backend`` and ``address``
    (``divulge.work.Engine``), and kept in the folder ``cache``.
    """
    engine = Engine(backend, n_jobs, address)
    require_probability("error", error)
    for delta in deltas:
        require_probability("delta", delta)
    unknown = [c for c in corrections if c not in corrections_.CORRECTIONS]
    require(
        not unknown,
        f"Unknown correction {unknown[:1]}. Choose from {', '.join(corrections_.CORRECTIONS)}.",
    )
    for name, value, allowed in (
        ("estimator", estimator, adjust.ESTIMATORS),
        ("calibration", calibration, CALIBRATIONS),
        ("attack", attack, adjust.ATTACKS),
    ):
        require(value in allowed, f"Unknown {name} {value!r}. Choose from {', '.join(allowed)}.")
    pools = read_pools(
        table,
        members=members,
        nonmembers=nonmembers,
        truth=truth,
        score=score,
        features=features,
        model=model,
        label=label,
        text=text,
        lower_is_member=lower_is_member,
        propensity=propensity,
        reference_score=reference_score,
        heldout=heldout,
    )
    return audit_pools(
        pools,
        deltas=deltas,
        error=error,
        corrections=corrections,
        estimator=estimator,
        calibration=calibration,
        attack=attack,
        bootstrap=bootstrap,
        seed=rng,
        engine=engine,
        pieces=Pieces.at(cache),
        command=command,
        progress=progress,
    )


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
    text: str | None,
    lower_is_member: bool | None,
    propensity: str | None,
    reference_score: str | None,
    heldout: Any = None,
) -> Pools:
    """Read and check the tables; every error says what is wrong and where."""
    require(
        (table is None) == (members is not None and nonmembers is not None),
        "Give one table with a truth column, or members and nonmembers apart.",
    )
    sources = (
        [("the table", table)]
        if table is not None
        else [("the members", members), ("the non-members", nonmembers)]
    )
    frames = [(where, tables.read(source)) for where, source in sources]
    if table is not None:
        frame = frames[0][1]
        tables.require_columns(frame, [truth], "the table")
        truths = tables.truths(frame, truth, "the table")
    else:
        frame, truths = tables.stack(frames[0][1], frames[1][1])
    where = "the table" if table is not None else "the two tables"
    check_both_kinds(truths, repr(truth) if table is not None else "the input")
    names = tables.expand(frame, [features] if isinstance(features, str) else features, where)
    require(truth not in names, f"The truth column {truth!r} must not be a feature.")
    scores, score_names = scoring.scores(
        frame,
        score=score,
        model=model,
        label=label,
        text=text,
        features=names,
        lower_is_member=lower_is_member,
        where=where,
    )
    for j, name in enumerate(score_names):
        check_scores(scores[:, j], f"Score {name!r} of {where}")
        if np.ptp(scores[:, j]) == 0.0:
            raise CannotConclude(f"Score {name!r} of {where} is the same in every row.")
    reference = None
    if reference_score is not None:
        tables.require_columns(frame, [reference_score], where)
        sign = scoring.direction(reference_score, lower_is_member)
        reference = sign * tables.numbers(frame, reference_score, where)
    known = None
    if propensity is not None:
        tables.require_columns(frame, [propensity], where)
        known = tables.numbers(frame, propensity, where)
        inside = bool(np.all((known > 0.0) & (known < 1.0)))
        require(inside, f"Column {propensity!r} of {where} must lie strictly in (0, 1).")
    encoded, apart = _encoded(frame, names, where, heldout, truth)
    inputs = [
        tables.fingerprint(source, read, name.removeprefix("the "))
        for (name, source), (_, read) in zip(sources, frames, strict=True)
    ]
    if heldout is not None:
        inputs.append(tables.fingerprint(heldout, tables.read(heldout), "held-out records"))
    _refuse_overlap(encoded, scores, truths, where)
    return Pools(truths, scores, encoded, reference, known, score_names, tuple(inputs), apart)


def _encoded(
    frame: tables.Frame, names: Sequence[str], where: str, heldout: Any, truth: str
) -> tuple[Features, tuple[Array, Array] | None]:
    """Features of the pools, and of held-out records if any, encoded together."""
    if heldout is None:
        return encode(frame, names, where), None
    require(len(names) > 0, "Held-out records serve the propensity: name the features.")
    further = tables.read(heldout)
    tables.require_columns(further, [truth, *names], "the held-out table")
    truths = tables.truths(further, truth, "the held-out table")
    check_both_kinds(truths, "the held-out table")
    both, _ = tables.stack(frame.select(*names), further.select(*names))
    encoded = encode(both, names, where)
    pools = Features(encoded.matrix[: len(frame)], encoded.names)
    return pools, (encoded.matrix[len(frame) :], truths)


def _refuse_overlap(encoded: Features, scores: Array, truths: Array, where: str) -> None:
    """Two files that hold the same records are an error, not an audit."""
    both = Features(np.column_stack([encoded.matrix, scores]), ())
    same = duplicates(both, truths)
    outside = int((truths < 0).sum())
    distinct = np.unique(both.matrix[:2000], axis=0).shape[0] > min(1000, 0.5 * len(truths))
    if same.size > 0.5 * outside and distinct:
        raise InputError(
            f"{same.size} of {outside} non-members equal a member in every feature and score "
            f"(first: row {int(same[0])} of {where}). The same records cannot be both."
        )


def audit_pools(
    pools: Pools,
    *,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    corrections: Sequence[str] = corrections_.CORRECTIONS,
    estimator: str = "auto",
    calibration: str = "platt",
    attack: str = "scores",
    bootstrap: int = 0,
    seed: int = 0,
    engine: Engine = SERIAL,
    pieces: Pieces | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Draw the trials, fit what the record gives away, and state what is proved."""
    rng = np.random.default_rng(seed)
    drawn = draw_.draw(pools.truth, rng)
    if pools.features.matrix.shape[1]:
        same = duplicates(pools.features, pools.truth)
    else:
        same = np.zeros(0, dtype=np.intp)
    context = findings.Context(
        drawn=drawn,
        duplicates=same,
        features=pools.features.rows(drawn.rows),
        score_names=pools.score_names,
        deltas=tuple(deltas),
        error=error,
        provenance={
            "command": command,
            "seed": seed,
            "versions": versions(),
            "inputs": list(pools.inputs),
        },
        pools=(int((pools.truth > 0).sum()), int((pools.truth < 0).sum())),
    )
    known = None
    if pools.propensity is not None:
        members, nonmembers = context.pools
        reweighted = drawn.log_odds - np.log(members / nonmembers)  # 0 unless the coin was capped
        known = logit(pools.propensity[drawn.rows]) + reweighted
    reference = None if pools.reference is None else pools.reference[drawn.rows]
    try:
        adjusted = adjust.adjust(
            pools.score[drawn.rows],
            drawn.truth,
            context.features.matrix,
            coin=drawn.log_odds,
            source=adjust.Propensities(known, pools.heldout, estimator, calibration),
            error=error,
            rng=rng,
            attack=attack,
            progress=progress,
        )
    except CannotConclude as reason:
        return findings.no_conclusion(context, str(reason))
    audited = corrections_.audit(
        adjusted.prepared,
        deltas=deltas,
        error=error,
        corrections=corrections,
        rng=rng,
    )
    return findings.result(
        context,
        adjusted,
        audited,
        reference=reference,
        bootstrap=bootstrap,
        rng=rng,
        engine=engine,
        pieces=pieces,
        progress=progress,
    )
