"""The canary game: records included by a coin flip before training, guessed afterwards.

``plan`` flips the coins, ``audit`` reads the scores of the trained model. The coins are independent
of everything, so the record alone gives nothing away: every canary is a trial, nothing is drawn
anew, and no correction for shift is needed. Half of the error goes to the bet, half to the counts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge.bounds import choice, independent, tangents
from divulge.bounds.guessing import Counts
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.data import content, tables
from divulge.data.given import read_table
from divulge.data.table_files import fill_table, require_table_name
from divulge.data.writing import Output, replacing_all, reserve
from divulge.drawn.scored import TOTAL
from divulge.errors import InputError, require
from divulge.games.canaries import plans
from divulge.games.canaries.joining import SCORES, join
from divulge.games.canaries.planning import LEAST, Plan
from divulge.games.canaries.plans import plan
from divulge.games.canaries.planting import LineUpPlan
from divulge.games.canaries.secrets_told import audit_planted
from divulge.games.public import provenance as provenance_of
from divulge.games.public import public
from divulge.proof import measures, state
from divulge.proof.prove import prove
from divulge.proof.rule import DELTAS, Named, Rule
from divulge.result import Bound, Diagnostics, Result, Verdict, shared
from divulge.text import rounding
from divulge.trials import Trials
from divulge.types import Array
from divulge.work.threads import single

__all__ = ["LineUpPlan", "Plan", "audit", "audit_trials", "plan", "write_plan"]

COINS = (
    "the canaries were included by the plan's independent coin flips, and by nothing else, before "
    "training"
)
BLIND = "the scores were made without knowing the coin flips"


def write_plan(
    made: Plan | LineUpPlan,
    data: Any = None,
    *,
    plan: str | os.PathLike[str],
    records: str | os.PathLike[str],
    canaries: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Plan | LineUpPlan:
    """Write the plan, the records to train on and, if asked for, the canaries to be scored.

    All files appear, whole, or none. A plan that exists already is not written over unless asked:
    a model may have been trained by it.
    """
    reserve_plan(data, plan=plan, records=records, canaries=canaries, overwrite=overwrite)
    kept = made.records(data)
    require(
        canaries is not None or isinstance(made, Plan),
        "Where shall all versions of the canaries go, to be scored? Name a file as canaries.",
    )
    parts = {require_table_name(records): kept}
    if canaries is not None:
        parts[require_table_name(canaries)] = made.canaries(data)
    made = replace(made, details={**made.details, "records_to_train_on": len(kept)})
    with replacing_all([*parts, plan]) as places:
        for place, (target, part) in zip(places, parts.items(), strict=False):
            fill_table(place, target, [part.to_arrow()])
        try:
            places[-1].write_text(made.dumps(), encoding="utf-8")
        except OSError as error:
            raise InputError(f"Cannot write {plan}: {error.strerror}.") from error
    return made


def reserve_plan(
    *inputs: Any,
    plan: str | os.PathLike[str],
    records: str | os.PathLike[str],
    canaries: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> None:
    """InputError unless the three files can be written and none of them is an input."""
    if _occupied(plan) and not overwrite:
        raise InputError(
            f"{plan} exists already, and a model may have been trained with it. Give another "
            "name, or --overwrite."
        )
    named = {"--plan": plan, "--records": records, "--canaries": canaries}
    outputs = [Output(option, Path(p)) for option, p in named.items() if p is not None]
    reserve(outputs, inputs, overwrite=overwrite)


def _occupied(path: str | os.PathLike[str]) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


@public("canaries")
def audit(
    plan: Any,
    scores: Any,
    *,
    score: str | Sequence[str] | None = None,
    lower_is_member: bool | None = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    text: str | None = None,
    id: str | None = None,
    ignore_others: bool = False,
    rename: Mapping[str, str] | None = None,
    model: Any = None,
    attack: str = TOTAL,
    deltas: Sequence[float] = DELTAS,
    headline: str | None = None,
    error: float = 0.05,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    cache_key: str | None = None,
    table: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """What the scores of the canaries prove about the training run.

    ``plan`` is a Plan or the path of plan.json, ``scores`` a table with the plan's id column and
    one or several score columns (default: ``loss``), a row for every canary. ``ignore_others``
    allows rows of other records. The headline bounds hold together with confidence ``1 -
    error``; a ``headline`` named beforehand (``"mu"``, ``"epsilon"``, ``"epsilon@1e-5"``, or
    ``"independent:mu"`` under independent scores) is the only one, and has the whole error.

    With a plan of planted line-ups the audit is a line-up, the scores are those of all versions, by
    the column ``version``; or ``scores`` are the versions themselves, and ``model`` is asked about
    each (``features``, ``label``, ``attack`` and all else as in ``divulge.lineup``). ``table`` is
    where the rank of every secret goes.
    """
    named = Named.of(headline)
    made = plan if isinstance(plan, Plan | LineUpPlan) else plans.load(plan)
    if isinstance(made, LineUpPlan):
        require(named is None, "Line-ups have no headline to name: leave out headline.")
        return audit_planted(
            plan,
            scores,
            score=score,
            lower_is_member=lower_is_member,
            features=features,
            label=label,
            text=text,
            id=id,
            ignore_others=ignore_others,
            model=model,
            attack=attack,
            deltas=deltas,
            error=error,
            seed=seed,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=cache,
            cache_key=cache_key,
            table=table,
            command=command,
            progress=progress,
        )
    require(
        model is None and table is None,
        "Versions and ranks are those of planted line-ups; score the canaries of this plan with "
        "divulge score.",
    )
    given = read_table(SCORES, scores)
    joined = join(made, given.frame, score, id, lower_is_member, ignore_others)
    inputs = [given.fingerprint()]
    if not isinstance(plan, Plan):
        inputs.insert(0, {"name": Path(plan).name, "sha256": tables.file_sha256(plan)})
    planned = shared.PlanRecord(
        strategy=made.strategy,
        probability=made.probability,
        seed=made.seed,
        data=made.input["name"],
        data_sha256=made.input["sha256"],
        rows_of_other_records=joined.others,
    )
    about: dict[str, Any] = {} if named is None else {"headline": str(named)}
    provenance = provenance_of(command, seed, inputs, **about)
    if len(made) < LEAST:
        reason = f"{len(made)} canaries are too few; an audit needs at least {LEAST}."
        trials = {
            "members": int((made.truth > 0.0).sum()),
            "nonmembers": int((made.truth < 0.0).sum()),
            "scores": list(joined.names),
        }
        held = Diagnostics(plan=planned)
        return state.undecided(
            "canaries", reason, trials=trials, diagnostics=held, provenance=provenance
        )
    result = audit_trials(
        joined.score,
        made.truth,
        probability=made.probability,
        deltas=deltas,
        headline=named,
        error=error,
        seed=seed,
        progress=progress,
    )
    return replace(
        result,
        trials={**result.trials, "scores": list(joined.names)},
        diagnostics=replace(result.diagnostics, plan=planned),
        provenance=provenance,
    )


@single
def audit_trials(
    score: Array,
    truth: Array,
    *,
    probability: float = 0.5,
    deltas: Sequence[float] = DELTAS,
    headline: Named | None = None,
    error: float = 0.05,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """The audit of scored coin flips: one row of ``score`` and one truth per canary."""
    prior = math.log(probability) - math.log1p(-probability)
    rule = Rule(tuple(deltas), error, ("balanced", "prior"), headline=headline)
    rng = content.generator(seed, score, truth.astype(float))
    proof = prove(Trials(score, truth, coin=prior), rule, rng, progress)
    fair = probability == 0.5
    bounds = tuple(_stated(b, fair) for b in proof.bounds)
    if proof.counts is not None and (headline is None or str(headline) == "mu"):
        bounds = _with_proved_mu(bounds, proof.counts, rule.half if headline is None else error)
    assert proof.bet is not None
    raw, both = proof.prepared.raw, np.unique(truth).size == 2
    return Result(
        game="canaries",
        verdict=_verdict(bounds, error),
        bounds=bounds,
        measurements={
            "auc": measures.auc(raw, truth),
            "tpr_at_fpr": {f"{r:g}": measures.tpr_at(raw, truth, r) for r in measures.FPRS}
            if both
            else {},
            **state.guesses(proof),
        },
        trials={
            "members": int((truth > 0.0).sum()),
            "nonmembers": int((truth < 0.0).sum()),
            **state.tried(proof),
        },
        diagnostics=Diagnostics(
            roc=measures.roc(raw, truth, bounds) if both else None, wealth=state.wealth(proof.bet)
        ),
    )


def _stated(bound: Bound, fair: bool) -> Bound:
    """The bound in this game's words: with fair coins nothing is corrected."""
    assumptions: tuple[str, ...] = (COINS, BLIND)
    alone = independent.ASSUMPTION in bound.assumptions
    if alone:
        assumptions = (*assumptions, independent.ASSUMPTION)
    theorem = bound.theorem
    if bound.method in THEOREMS:
        assumptions = (*assumptions, HONEST_GUESSES)
        theorem = THEOREMS[bound.method] if fair else theorem
    correction = "none" if fair else bound.correction
    return replace(
        bound,
        assumptions=assumptions,
        theorem=theorem,
        correction=correction,
        standing="estimated" if alone else choice.standing(bound.delta),  # the coins are by design
    )


def _with_proved_mu(bounds: tuple[Bound, ...], counts: Counts, error: float) -> tuple[Bound, ...]:
    """After mu, from the same count, a smaller one that is proved for a number that scores chose.

    It is false only if the other one is, so it takes no share of the error.
    """
    place = next(k for k, bound in enumerate(bounds) if bound.parameter == "mu")
    mu = bounds[place]
    proved = tangents.mu_lower_bound(counts.trials, counts.guesses, counts.correct, error)
    smaller = replace(
        mu,
        value=min(proved, mu.value),
        method="tangents",
        theorem=mu.theorem.replace(THEOREMS["recursion"], tangents.THEOREM),
        headline=False,
        standing="proved",
    )
    return (*bounds[: place + 1], smaller, *bounds[place + 1 :])


def _verdict(bounds: Sequence[Bound], error: float) -> Verdict:
    found = state.leaking(bounds)
    if not found:
        return Verdict("no evidence", False, state.nothing_proved(error))
    sentence = (
        "The model gives away which canaries it was trained on: with "
        f"{rounding.confidence(error)} confidence, {state.findings_in_words(found)}."
    )
    reasons = state.assumed(bounds)
    if reasons:
        sentence = f"{state.IF_INDEPENDENT}: {sentence}"
    return Verdict("leak", not reasons, sentence, reasons)
