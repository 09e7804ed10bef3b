"""The membership game: known members against known non-members, after the fact (Zero-Run).

From a table of scores (or a model and records) to a Result. The draw, the order of revelation and
every rule are fixed by the seed before a truth is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit

from divulge.data import content
from divulge.data.features import duplicates
from divulge.errors import CannotConclude, require
from divulge.games.membership import exchange, findings, first_look
from divulge.games.membership.lessons import Wishes
from divulge.games.membership.pools import Pools
from divulge.games.membership.read import read_pools
from divulge.games.public import provenance as provenance_of
from divulge.games.public import public
from divulge.proof import controls, state
from divulge.proof import seeds as seeds_
from divulge.proof.controls import NO_CONTROLS
from divulge.proof.corrections import Proof
from divulge.proof.draw import OWN_COINS, by_design, draw
from divulge.proof.parts import PARTS, error_of_each, exchanged
from divulge.proof.prove import prove
from divulge.proof.resampled import published
from divulge.proof.rule import CORRECTIONS, DELTAS, Named, Rule
from divulge.result import Diagnostics, Result
from divulge.trials import Trials
from divulge.types import Array, Progress
from divulge.work import SERIAL, Engine
from divulge.work.pieces import Pieces
from divulge.work.threads import single

__all__ = ["Pools", "audit_pools", "membership", "read_pools"]

DEFAULT = Rule()


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
    helper_loss: str | Sequence[str] = (),
    propensity: str | None = None,
    reference_score: str | None = None,
    document: str | None = None,
    rename: Mapping[str, str] | None = None,
    model: Any = None,
    public_model: Any = None,
    attack: str | Sequence[str] | None = None,
    helpers: str | int = "none",
    learner: str = "auto",
    training_size: int | None = None,
    reference_size: int | None = None,
    quick: bool = False,
    combine: str = "scores",
    estimator: str = "auto",
    calibration: str = "platt",
    corrections: Sequence[str] = CORRECTIONS,
    bootstrap: int = 0,
    deltas: Sequence[float] = DELTAS,
    headline: str | None = None,
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
    given separately. The ``score`` is one column or several (default: ``loss``). With a ``model``,
    which is a ``Source``, a fitted object with ``predict_proba``, a callable that returns a loss
    per row or a place as text, the scores come from ``attack`` (one or several, default: ``loss``);
    ``label`` is the column that the model predicts from the features, ``text`` the one that a model
    of texts reads. ``features`` are what the record alone shows, and what the correction for shift
    is fitted on; ``propensity`` names a column with the probabilities by which independent coins
    made the records members, where these are known: then nothing is drawn.
    ``heldout`` is a further table with truth and features, on which the propensity is fitted.
    A ``text`` becomes features of its own where none are named, or beside those named with the
    folder of a ``public_model``. ``document`` names the document of each record: then documents are
    the trials. ``helpers`` (``"auto"``, a number of at least three, ``"none"``) trains small models
    of the target's task on one part of the members and audits the other with their mean loss as a
    feature, both ways: ``learner`` says which (``"auto"``, ``"clone"``, ``"boosting"``,
    ``"forest"``, ``"network"``; for a text the public model, fine-tuned). ``helper_loss`` names
    columns with such losses instead. ``training_size`` says how many records of that kind the
    target learned from, for the ladder. ``quick`` uses few rows and one simple learner.
    ``combine="learned"`` makes one score of all scores and features, by boosting.
    ``reference_score`` is the same score from a model that never saw the members (a negative
    control), which learned from ``reference_size`` records of their kind. A path may also be a
    folder of Parquet files. At most ``rows`` rows are used, chosen at random by the seed; by
    default all, or with features as many as fit in memory (``AT_MOST`` in ``read.py``). With
    several ``seeds`` the trials are drawn by ``seed``, ``seed + 1``, ..., and what all draws prove
    together is stated, with their spread; the control, the bootstrap and the charts are then those
    of the first. The headline bounds hold together with confidence ``1 - error``; a ``headline``
    named beforehand (``"mu"``, ``"epsilon"``, ``"epsilon@1e-5"``, or ``"independent:mu"`` under
    independent scores) is the only one, and has the whole error. The resamples of the ``bootstrap``
    are done by ``n_jobs`` processes, ``backend`` and ``address`` (``divulge.work.Engine``), and
    cached in the folder ``cache``.
    """
    engine = Engine(backend, n_jobs, address)
    wanted = Wishes.of(
        helpers, learner, helper_loss, public_model, document, training_size, reference_size
    )
    if quick:
        estimator, rows = first_look.LEARNER, min(rows or first_look.ROWS, first_look.ROWS)
    named = Named.of(headline)
    rule = Rule(
        tuple(deltas),
        error,
        tuple(corrections),
        estimator,
        calibration,
        combine,
        seeds,
        headline=named,
    ).checked()
    require(
        named is None or wanted.helpers == 0,
        "A headline cannot be named together with helpers: their ladder speaks of all bounds.",
    )
    require(1 <= seeds <= seeds_.MOST, f"seeds must lie in 1..{seeds_.MOST}. Found {seeds}.")
    require(bootstrap >= 0, f"bootstrap must be at least 0. Found {bootstrap}.")
    require(
        bootstrap == 0 or propensity is None,
        "The bootstrap refits the propensity on every resample, and a known propensity is not "
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
        rows=rows if not quick or features or text else None,
        seed=seed,
        wanted=wanted,
    )
    result = audit_pools(
        pools,
        rule,
        seed=seed,
        bootstrap=bootstrap,
        engine=engine,
        pieces=Pieces.at(cache),
        command=command,
        progress=progress,
    )
    return first_look.hurried(result) if quick and pools.features.names else result


@single
def audit_pools(
    pools: Pools,
    rule: Rule = DEFAULT,
    *,
    seed: int = 0,
    bootstrap: int = 0,
    engine: Engine = SERIAL,
    pieces: Pieces | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Draw the trials, prove what their scores prove, and state it.

    With several seeds every draw plays the whole audit; the control, the bootstrap and the charts
    are those of the first that concludes.
    """
    seeds = rule.seeds
    if seeds > 1 or pools.lessons is not None:  # what refuses one draw of several speaks for all
        rule = replace(rule, brief=False)
    about: dict[str, Any] = {"seeds": seeds} if seeds > 1 else {}
    if rule.headline is not None:
        about["headline"] = str(rule.headline)
    provenance = provenance_of(command, seed, pools.inputs, pools.model, **about)
    first_look.tell(pools, progress)
    keep = pieces or Pieces()
    views, own, helped = [pools], rule, None
    if pools.lessons is not None:
        tell = None if progress is None else partial(progress, "helpers")
        helped = exchange.teach(
            pools, pools.helpers, seed, engine=engine, pieces=keep, progress=tell
        )
        views = [exchange.view(pools, helped, k) for k in range(PARTS)]
        own = replace(rule, error=error_of_each(rule.error))
    played = _played(views, rule, own, seed, provenance, helped, progress)
    if isinstance(played, Result):
        return played
    context, trials, reference, rng, proof, kept = played
    around = NO_CONTROLS
    if reference is not None and (_claims(proof) or not rule.brief):
        target, unheard = proof, ""
        if state.leaking(proof.bounds) and pools.features.names and pools.heldout is None:
            known = [exchange.beside_control(view) for view in views]
            again = _played(known, rule, own, seed, provenance, helped, None)
            if isinstance(again, Result):
                unheard = controls.not_beside(again.verdict.reasons)
            else:
                proof = controls.lowered(proof, again.proof)
        if _claims(proof) or not rule.brief:
            plain = replace(rule, headline=None)
            around = controls.negative_control(trials, reference, target, plain, rng, _sizes(pools))
            around = replace(around, unheard=unheard or around.unheard)
    if bootstrap and proof.prepared.trim is not None and trials.log_odds is None:
        resampled = published(
            trials,
            proof.prepared,
            error=rule.error,
            deltas=rule.deltas,
            resamples=bootstrap,
            rng=rng,
            engine=engine,
            pieces=keep,
            progress=progress,
        )
        around = replace(around, resampled=resampled)
    if helped is not None:
        tell = None if progress is None else partial(progress, "ladder")
        climbed = exchange.climbed(
            pools, helped, proof.bounds, rule, seed, engine=engine, progress=tell
        )
        around = replace(around, ladder=climbed)
    result = findings.beside(state.state(context, proof, around))
    if seeds == 1:
        return result
    among = seeds_.spread(kept, proof.bounds, seed, rule.error)
    return replace(result, diagnostics=replace(result.diagnostics, seeds=among))


def _claims(proof: Proof) -> bool:
    return any(b.headline and b.value > 0.0 for b in proof.bounds)


def _assuming(proof: Proof, pools: Pools) -> Proof:
    """With what a design takes for granted, where there is one."""
    if pools.propensity is None:
        return proof
    bounds = (replace(b, assumptions=(*b.assumptions, OWN_COINS)) for b in proof.bounds)
    return replace(proof, bounds=tuple(bounds))


class _Played(NamedTuple):
    """What all draws prove together, and the first that concludes."""

    context: state.Context
    trials: Trials
    reference: Array | None
    rng: np.random.Generator
    proof: Proof
    kept: list[seeds_.OneDraw | None]


def _played(
    views: Sequence[Pools],
    rule: Rule,
    own: Rule,
    seed: int,
    provenance: Mapping[str, Any],
    helped: exchange.Helped | None,
    progress: Progress | None,
) -> _Played | Result:
    """Every draw of every view; a result where nothing can be concluded."""
    kept: list[seeds_.OneDraw | None] = []
    first, failed = None, None
    for k in range(rule.seeds):
        proofs: list[Proof | None] = []
        concluded = None
        for place, view in enumerate(views):
            rng = content.generator([seed + k, place], view.truth, view.score)
            context, trials, reference = _drawn(view, rule, rng, provenance, helped)
            told = seeds_.told(progress, k * len(views) + place, rule.seeds * len(views))
            try:
                proofs.append(_assuming(prove(trials, own, rng, told), view))
            except CannotConclude as reason:
                failed = failed or state.no_conclusion(context, str(reason))
                proofs.append(None)
                continue
            concluded = concluded or (context, trials, reference, rng)
        proof = proofs[0] if helped is None else exchanged(proofs, rule.error)
        if proof is None or concluded is None:
            kept.append(None)
            continue
        kept.append(seeds_.OneDraw.of(seed + k, proof))
        first = first or (*concluded, proof)
    if first is None or not seeds_.concludes(kept):
        assert failed is not None
        return failed
    context, trials, reference, rng, proof = first
    if rule.seeds > 1:
        proof = seeds_.combined(kept, proof, rule.error)
    return _Played(context, trials, reference, rng, proof, kept)


def _sizes(pools: Pools) -> tuple[int, int] | None:
    """Records that the target and the control learned from, where both are stated."""
    if pools.training_size is None or pools.reference_size is None:
        return None
    return pools.training_size, pools.reference_size


def _drawn(
    pools: Pools,
    rule: Rule,
    rng: np.random.Generator,
    provenance: Mapping[str, Any],
    helped: exchange.Helped | None,
) -> tuple[state.Context, Trials, Array | None]:
    """The trials of one seed, what is known of them before the audit, and a control's scores."""
    given = pools.propensity
    drawn = draw(pools.truth, rng) if given is None else by_design(pools.truth, given)
    features = pools.features.rows(drawn.rows)
    sizes = int((pools.truth > 0).sum()), int((pools.truth < 0).sum())
    same = np.zeros(0, dtype=np.intp)
    if features.names:
        same = duplicates(pools.features, pools.truth)
    subset = pools.subset
    context = state.Context(
        game="membership",
        drawn=drawn,
        features=features,
        score_names=pools.score_names,
        pools=sizes,
        error=rule.error,
        provenance=provenance,
        reads_text=pools.text and given is None,
        checklist=True,
        counted={} if subset is None else subset.counted(),
        diagnostics=Diagnostics(
            duplicates=findings.duplicates(same, pools.rows),
            subset=None if subset is None else subset.described(),
            helpers=pools.given if helped is None else helped.record,
            text=pools.texts,
            documents=pools.documents,
        ),
    )
    trials = Trials(
        score=pools.score[drawn.rows],
        truth=drawn.truth,
        log_odds=None if given is None else logit(given),
        features=features.matrix,
        levels=features.levels,
        coin=drawn.log_odds,
        heldout=pools.heldout,
        heldout_levels=pools.heldout_levels,
    )
    reference = None if pools.reference is None else pools.reference[drawn.rows]
    return context, trials, reference
