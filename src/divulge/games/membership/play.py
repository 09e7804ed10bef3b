"""The membership game: known members against known non-members, after the fact (Zero-Run).

From a table of scores (or a model and records) to a Result. The draw, the order of revelation and
every rule are fixed by the seed before a truth is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logit

from divulge.data.features import duplicates
from divulge.errors import CannotConclude, require
from divulge.games.membership import draw as draw_
from divulge.games.membership import findings
from divulge.games.membership.read import Pools, read_pools
from divulge.games.public import check_choice, public
from divulge.games.public import provenance as provenance_of
from divulge.proof import adjust
from divulge.proof import corrections as corrections_
from divulge.proof import seeds as seeds_
from divulge.proof.provenance import DELTAS
from divulge.result import Result
from divulge.shift.propensity import CALIBRATIONS
from divulge.work import SERIAL, Engine
from divulge.work.pieces import Pieces
from divulge.work.threads import single

__all__ = ["Pools", "audit_pools", "membership", "read_pools"]


@public("membership")
def membership(
    data: Any = None,
    *,
    members: Any = None,
    nonmembers: Any = None,
    heldout: Any = None,
    rows: int | None = None,
    truth: str = "member",
    score: str | Sequence[str] | None = None,
    lower_is_member: bool | None = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    propensity: str | None = None,
    reference_score: str | None = None,
    model: Any = None,
    attack: str | Sequence[str] | None = None,
    combine: str = "scores",
    estimator: str = "auto",
    calibration: str = "platt",
    corrections: Sequence[str] = corrections_.CORRECTIONS,
    bootstrap: int = 0,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    seed: int = 0,
    seeds: int = 1,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Audit what a model gives away about its members, with or without distribution shift.

    ``data`` is one table with a two-valued ``truth`` column, or ``members`` and ``nonmembers`` are
    given apart. The ``score`` is one column or several (default: ``loss``). With a ``model``, which
    is a ``Source``, a fitted object with ``predict_proba``, a callable that returns a loss per row
    or a place as text, the scores come from ``attack`` (one or several, default: ``loss``);
    ``label`` is the column that the model predicts from the features, ``text`` the one that a model
    of texts reads. ``features`` are what the record alone shows, and what the correction for shift
    is fitted on; ``propensity`` names a column with known probabilities of membership instead.
    ``heldout`` is a further table with truth and features, on which the propensity is fitted.
    ``combine="learned"`` makes one score of all scores and features, by boosting.
    ``reference_score`` is the same score from a model that never saw the members (a negative
    control). A path may also be a folder of Parquet files. At most ``rows`` rows are used, chosen
    at random by the seed; by default all, or with features as many as fit in memory (``AT_MOST`` in
    ``read.py``). With several ``seeds`` the trials are drawn by ``seed``, ``seed + 1``, ..., and
    what all draws prove together is stated, with their spread; the control, the bootstrap and the
    charts are then those of the first. The headline bounds hold together
    with confidence ``1 - error``. The resamples of the ``bootstrap`` are done by ``n_jobs``
    processes, ``backend`` and ``address`` (``divulge.work.Engine``), and kept in the folder
    ``cache``.
    """
    engine = Engine(backend, n_jobs, address)
    require(1 <= seeds <= seeds_.MOST, f"seeds must lie in 1..{seeds_.MOST}. Found {seeds}.")
    for correction in corrections:
        check_choice("correction", correction, corrections_.CORRECTIONS)
    check_choice("estimator", estimator, adjust.ESTIMATORS)
    check_choice("calibration", calibration, CALIBRATIONS)
    check_choice("combine", combine, adjust.ATTACKS)
    require(bootstrap >= 0, f"bootstrap must be at least 0. Found {bootstrap}.")
    require(
        bootstrap == 0 or propensity is None,
        "The bootstrap fits the propensity anew on every resample, and a known propensity is not "
        "fitted: leave out bootstrap, or propensity.",
    )
    pools = read_pools(
        data,
        members=members,
        nonmembers=nonmembers,
        truth=truth,
        score=score,
        features=features,
        model=model,
        attack=attack,
        label=label,
        text=text,
        lower_is_member=lower_is_member,
        propensity=propensity,
        reference_score=reference_score,
        heldout=heldout,
        rows=rows,
        seed=seed,
    )
    return audit_pools(
        pools,
        deltas=deltas,
        error=error,
        corrections=corrections,
        estimator=estimator,
        calibration=calibration,
        attack=combine,
        bootstrap=bootstrap,
        seed=seed,
        seeds=seeds,
        engine=engine,
        pieces=Pieces.at(cache),
        command=command,
        progress=progress,
    )


@single
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
    seeds: int = 1,
    engine: Engine = SERIAL,
    pieces: Pieces | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Draw the trials, fit what the record gives away, and state what is proved."""
    about = {"seeds": seeds} if seeds > 1 else {}
    provenance = provenance_of(command, seed, pools.inputs, pools.model, **about)
    proved: list[seeds_.Proved | None] = []
    first = failed = None
    for k in range(seeds):
        played = _played(
            pools,
            seed + k,
            provenance,
            deltas=deltas,
            error=error,
            corrections=corrections,
            estimator=estimator,
            calibration=calibration,
            attack=attack,
            seeds=seeds,
            progress=seeds_.told(progress, k, seeds),
        )
        proved.append(seeds_.Proved.by(seed + k, played))
        if proved[-1] is None:
            failed = failed or played
        else:
            first = first or played
    if first is None or not seeds_.concludes(proved):
        assert failed is not None
        return findings.no_conclusion(failed.context, failed.reason)
    adjusted, audited = first.adjusted, first.audited
    if seeds > 1:
        adjusted, audited = seeds_.combined(proved, first, error)
    assert adjusted is not None
    assert audited is not None
    reference = None if pools.reference is None else pools.reference[first.context.drawn.rows]
    result = findings.result(
        first.context,
        adjusted,
        audited,
        reference=reference,
        bootstrap=bootstrap,
        rng=first.rng,
        engine=engine,
        pieces=pieces,
        progress=progress,
    )
    if seeds == 1:
        return result
    among = seeds_.spread(proved, audited.bounds, seed, error)
    return replace(result, diagnostics={**result.diagnostics, "seeds": among})


def _played(
    pools: Pools,
    seed: int,
    provenance: dict[str, Any],
    *,
    deltas: Sequence[float],
    error: float,
    corrections: Sequence[str],
    estimator: str,
    calibration: str,
    attack: str,
    seeds: int,
    progress: Callable[[str, int, int], None] | None,
) -> seeds_.Played:
    """The audit of one seed."""
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
        provenance=provenance,
        pools=(int((pools.truth > 0).sum()), int((pools.truth < 0).sum())),
        reads_text=pools.text and pools.propensity is None,
        subset=pools.subset,
        rows=pools.rows,
    )
    known = None
    if pools.propensity is not None:
        members, nonmembers = context.pools
        reweighted = drawn.log_odds - np.log(members / nonmembers)  # 0 unless the coin was capped
        known = logit(pools.propensity[drawn.rows]) + reweighted
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
        return seeds_.Played(context, rng, reason=str(reason))
    if progress is not None:
        progress("bounds", 0, 1)
    whole, counted = seeds_.audited(
        adjusted, seeds=seeds, deltas=deltas, error=error, corrections=corrections, rng=rng
    )
    return seeds_.Played(context, rng, adjusted, whole, counted)
