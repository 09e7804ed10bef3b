"""The canary game: records included by a coin flip before training, guessed afterwards.

``plan`` flips the coins, ``audit`` reads the scores of the trained model. The coins are independent
of everything, so the record alone gives nothing away: every canary is a trial, nothing is drawn
anew, and no correction for shift is needed. Half of the error goes to the bet, half to the counts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge.attacks import scoring
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.data import tables
from divulge.data.given import read_table
from divulge.data.table_files import fill_table, require_table_name
from divulge.data.tables import Frame
from divulge.data.writing import Output, replacing_all, reserve
from divulge.errors import CannotConclude, InputError, require
from divulge.games.canaries import planning
from divulge.games.canaries.planning import LEAST, Name, Plan, plan
from divulge.games.public import provenance as provenance_of
from divulge.games.public import public
from divulge.proof import measures, state
from divulge.proof.prove import prove
from divulge.proof.rule import DELTAS, Rule
from divulge.result import Bound, Diagnostics, Result, Verdict, shared
from divulge.text import rounding
from divulge.trials import Trials, check_scores
from divulge.types import Array
from divulge.work.threads import single

__all__ = ["Plan", "audit", "audit_trials", "plan", "write_plan"]

COINS = (
    "the canaries were included by the plan's independent coin flips, and by nothing else, before "
    "training"
)
BLIND = "the scores were made without knowing the coin flips"
SCORES = "the scores"
_SHOWN = 5


@dataclass(frozen=True)
class Joined:
    """The scores of the canaries, in the order of the plan."""

    score: Array = field(repr=False)
    """One column per score; larger speaks for inclusion."""
    names: tuple[str, ...]
    others: int
    """Rows of the table that are no canaries."""


def write_plan(
    made: Plan,
    data: Any,
    *,
    plan: str | os.PathLike[str],
    records: str | os.PathLike[str],
    canaries: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Plan:
    """Write the plan, the records to train on and, if asked for, the canaries to be scored.

    All files appear, whole, or none. A plan that exists already is not written over unless asked:
    a model may have been trained by it.
    """
    reserve_plan(data, plan=plan, records=records, canaries=canaries, overwrite=overwrite)
    kept = made.records(data)
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
    id: str | None = None,
    ignore_others: bool = False,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    seed: int = 0,
    command: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """What the scores of the canaries prove about the training run.

    ``plan`` is a Plan or the path of plan.json, ``scores`` a table with the plan's id column and
    one or several score columns (default: ``loss``), a row for every canary. ``ignore_others``
    allows rows of other records. The headline bounds hold together with confidence ``1 -
    error``.
    """
    made = plan if isinstance(plan, Plan) else Plan.load(plan)
    table = read_table(SCORES, scores)
    joined = _join(made, table.frame, score, id, lower_is_member, ignore_others)
    inputs = [table.fingerprint()]
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
    provenance = provenance_of(command, seed, inputs)
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
    error: float = 0.05,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """The audit of scored coin flips: one row of ``score`` and one truth per canary."""
    prior = math.log(probability) - math.log1p(-probability)
    rule = Rule(tuple(deltas), error, ("balanced", "prior"))
    proof = prove(Trials(score, truth, coin=prior), rule, np.random.default_rng(seed), progress)
    fair = probability == 0.5
    bounds = tuple(_stated(b, fair) for b in proof.bounds)
    assert proof.bet is not None
    assert proof.counts is not None
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
            "guesses": proof.counts.guesses,
            "correct_guesses": proof.counts.correct,
        },
        trials={
            "members": int((truth > 0.0).sum()),
            "nonmembers": int((truth < 0.0).sum()),
            "kept": int(proof.kept.size),
            "counted": proof.counts.trials,
            "revealed": proof.bet.trials,
        },
        diagnostics=Diagnostics(
            roc=measures.roc(raw, truth, bounds) if both else None, wealth=state.wealth(proof.bet)
        ),
    )


def _stated(bound: Bound, fair: bool) -> Bound:
    """The bound in this game's words: with fair coins nothing is corrected."""
    assumptions: tuple[str, ...] = (COINS, BLIND)
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
        standing="proved",  # the coins are fair by design
    )


def _verdict(bounds: Sequence[Bound], error: float) -> Verdict:
    found = state.leaking(bounds)
    if not found:
        return Verdict("no evidence", False, state.nothing_proved(error))
    sentence = (
        "The model gives away which canaries it was trained on: with "
        f"{rounding.confidence(error)} confidence, {state.findings_in_words(found)}."
    )
    return Verdict("leak", True, sentence)


def _join(
    made: Plan,
    frame: Frame,
    score: str | Sequence[str] | None,
    id: str | None,
    lower_is_member: bool | None,
    ignore_others: bool,
) -> Joined:
    """The scores in the order of the plan; every canary once, nothing unknown."""
    key = made.key if id is None else id
    tables.require_columns(frame, [key], SCORES)
    names = planning.names_of(frame, key, SCORES)
    place = {name: row for row, name in enumerate(names)}
    missing = [name for name in made.ids if name not in place]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(made)} canaries have no score: no row of {SCORES} has "
            f"{key!r} = {_some(missing)}. Score every canary of the plan, included or not"
            f"{_kinds(made, names)}."
        )
    wanted = set(made.ids)
    others = [name for name in names if name not in wanted]
    if others and not ignore_others:
        raise InputError(
            f"{len(others)} rows of {SCORES} are not canaries of the plan: {key!r} = "
            f"{_some(others)}. Is it the right plan? If so, remove these rows or give "
            "--ignore-others."
        )
    rows = np.array([place[name] for name in made.ids])
    columns, labels = scoring.scores(
        frame,
        score=score,
        model=None,
        label=None,
        features=(),
        lower_is_member=lower_is_member,
        where=SCORES,
    )
    columns = columns[rows]
    for j, label in enumerate(labels):
        check_scores(columns[:, j], f"Score {label!r} of {SCORES}")
        if np.ptp(columns[:, j]) == 0.0:
            raise CannotConclude(f"Score {label!r} of {SCORES} is the same for every canary.")
    require(key not in labels, f"The id column {key!r} cannot be a score.")
    return Joined(columns, labels, len(others))


def _some(names: Sequence[Name]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(repr(n) for n in names[:_SHOWN]) + more


def _kinds(made: Plan, names: Sequence[Name]) -> str:
    """A hint where one side has numbers and the other text."""
    kinds = {isinstance(n, str) for n in made.ids}, {isinstance(n, str) for n in names}
    if kinds[0] == kinds[1]:
        return ""
    said = ["text" if kind == {True} else "numbers" for kind in kinds]
    return f" (the plan's ids are {said[0]}, those of the scores {said[1]})"
