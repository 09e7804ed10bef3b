"""From audited trials to a Result: verdict, measurements, diagnostics. Holds no records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data.features import Features
from divulge.errors import CannotConclude
from divulge.games import public
from divulge.games.membership.draw import Draw
from divulge.proof import controls, corrections, measures, shown_shift
from divulge.proof.adjust import Adjusted
from divulge.result import Bound, Result, Verdict, floor_to
from divulge.shift import sensitivity as sensitivity_
from divulge.text import rounding
from divulge.types import Array, Progress, slices
from divulge.work import SERIAL, Engine
from divulge.work.pieces import Pieces

ROBUST_ODDS = 2.0


@dataclass(frozen=True)
class Subset:
    """Rows chosen at random where the table was too large to use all."""

    used: int
    total: int

    def said(self) -> dict[str, Any]:
        """What a reader is told."""
        return {
            "rows": self.total,
            "used": self.used,
            "rule": "the records that drew the smallest numbers, by the seed and their content",
            "sentence": (
                f"{self.used:,} of {self.total:,} rows were used, chosen at random before a "
                "truth was looked at."
            ),
        }


@dataclass(frozen=True)
class Context:
    """What is known before the audit."""

    drawn: Draw
    duplicates: npt.NDArray[np.intp] = field(repr=False)
    features: Features
    score_names: tuple[str, ...]
    deltas: tuple[float, ...]
    error: float
    provenance: Mapping[str, Any]
    pools: tuple[int, int]
    """Members and non-members that the user brought."""
    game: str = "membership"
    reads_text: bool = False
    """Whether the model reads a text, which features describe in part only."""
    subset: Subset | None = None
    rows: npt.NDArray[Any] | None = field(default=None, repr=False)
    """Where the rows of the pools stand in the user's table."""


def no_conclusion(context: Context, reason: str) -> Result:
    """The honest verdict where nothing can be proved."""
    return public.no_conclusion(
        context.game,
        reason,
        trials=_trials(context, None),
        diagnostics=_of_the_draw(context),
        provenance=context.provenance,
    )


def result(
    context: Context,
    adjusted: Adjusted,
    audited: corrections.Audit,
    *,
    reference: Array | None,
    bootstrap: int,
    rng: np.random.Generator,
    engine: Engine = SERIAL,
    pieces: Pieces | None = None,
    progress: Progress | None = None,
) -> Result:
    """Put everything together; the negative control and the bootstrap are computed here."""
    prepared = adjusted.prepared
    control, unheard = None, None
    if reference is not None:
        try:
            control = controls.negative_control(
                adjusted, reference, context.features.matrix, error=context.error, rng=rng
            )
        except CannotConclude as reason:
            unheard = f"The negative control could not be tried. {reason}"
    resampled = None
    if bootstrap and prepared.trim is not None and adjusted.source.known is None:
        resampled = controls.published(
            prepared,
            adjusted.source.heldout,
            context.features.matrix,
            error=context.error,
            resamples=bootstrap,
            rng=rng,
            engine=engine,
            pieces=pieces or Pieces(),
            progress=progress,
        )
    pure = headline_epsilon(audited.bounds)
    curve = sensitivity_.sensitivity(pure)
    verdict = _verdict(context, adjusted, audited.bounds, curve.gamma_star, control)
    if unheard is not None:
        verdict = replace(verdict, robust=False, reasons=(*verdict.reasons, unheard))
    bounds = audited.bounds + ((resampled.bound,) if resampled is not None else ())
    if verdict.status == "cannot conclude":  # no verdict rests on them
        bounds = tuple(replace(bound, headline=False) for bound in bounds)
    counted = measures.roc_counts(prepared.raw, prepared.truth)
    diagnostics: dict[str, Any] = {
        "overlap": shown_shift.overlap(prepared, audited, adjusted.overlap),
        "balance": shown_shift.balance(context.features, prepared, audited),
        "roc": measures.drawn_roc(counted, prepared.truth.size, audited.bounds),
        "sensitivity": {
            "gamma": curve.gamma,
            "epsilon": curve.epsilon,
            "gamma_star": curve.gamma_star,
        },
        **_of_the_draw(context),
    }
    if audited.bet is not None:
        revealed, running = audited.bet.running_bound()
        diagnostics["wealth"] = {
            "trials": revealed,
            "wealth": audited.bet.wealth,
            "epsilon": running,
            "goal": 1.0 / audited.bet.error,
        }
    if resampled is not None:
        diagnostics["bootstrap"] = resampled.diagnostics
    if adjusted.c_lb is not None:
        diagnostics["blind"] = {"c_lb": adjusted.c_lb, "sees": "the record, not the model"}
    if control is not None:
        diagnostics["negative_control"] = {"epsilon": control}
    if adjusted.quality:
        diagnostics["nuisance"] = adjusted.quality
    return Result(
        game=context.game,
        verdict=verdict,
        bounds=bounds,
        measurements=_measurements(adjusted, audited, counted, curve.gamma_star, pure, control),
        trials=_trials(context, audited),
        diagnostics={k: v for k, v in diagnostics.items() if v is not None},
        provenance=context.provenance,
    )


def headline_epsilon(bounds: tuple[Bound, ...]) -> float:
    """The largest headline bound on epsilon: the figure for the sensitivity curve."""
    values = [b.value for b in bounds if b.headline and b.parameter == "epsilon"]
    return max(values, default=0.0)


def _verdict(
    context: Context,
    adjusted: Adjusted,
    bounds: tuple[Bound, ...],
    gamma_star: float,
    control: float | None,
) -> Verdict:
    headline = [b for b in bounds if b.headline]
    leaking = [b for b in headline if floor_to(b.value, 3) > 0.0]
    sure = rounding.confidence(context.error)
    if not leaking:
        sentence = nothing_proved(context.error)
        reasons = _reasons(context, adjusted, None, control)
        return Verdict("no evidence", False, sentence, tuple(reasons))
    if control:
        sentence = (
            "Nothing can be concluded: a model that never saw the members shows a leak as well, so "
            "the features do not account for the shift."
        )
        return Verdict(
            "cannot conclude", False, sentence, tuple(_reasons(context, adjusted, None, control))
        )
    listed = findings_in_words(leaking)
    sentence = f"The model gives away its members: with {sure} confidence, {listed}."
    reasons = _reasons(context, adjusted, gamma_star, control)
    return Verdict("leak", not reasons, sentence, tuple(reasons))


def nothing_proved(error: float) -> str:
    """The verdict where no bound is above 0."""
    return (
        f"No evidence of a leak: with {rounding.confidence(error)} confidence nothing above zero "
        "could be proved. This is not a proof of privacy."
    )


def weak_odds(gamma_star: float) -> str | None:
    """Why a finding is fragile if a small unmeasured shift would explain it away."""
    if gamma_star >= ROBUST_ODDS:
        return None
    return (
        f"An unmeasured shift with an odds ratio of {rounding.at_least(gamma_star, 2)} would "
        f"explain the finding away; robust needs at least {ROBUST_ODDS:g}."
    )


def findings_in_words(leaking: list[Bound]) -> str:
    """The proven bounds as a list in words, rounded down."""
    parts = []
    for b in leaking:
        name = b.parameter if b.delta is None else f"epsilon at delta {rounding.exact(b.delta)}"
        parts.append(f"{name} is at least {rounding.at_least(b.value)}")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _reasons(
    context: Context, adjusted: Adjusted, gamma_star: float | None, control: float | None
) -> list[str]:
    """Why a finding is fragile."""
    reasons = []
    if context.reads_text and control is None and gamma_star is not None:
        reasons.append(
            "Features describe a text in part only, and a model that knows such text better than "
            "they do looks like one that remembers. Give the score of a model of such text that "
            "never saw the members (--reference-score)."
        )
    if adjusted.c_lb is None:
        reasons.append(adjusted.unchecked)
    weak = None if gamma_star is None else weak_odds(gamma_star)
    if weak is not None:
        reasons.append(weak)
    if adjusted.c_lb:
        reasons.append(
            "A baseline that does not see the model beats the propensities by "
            f"{rounding.short(adjusted.c_lb)} in log-odds: some shift is left."
        )
    if control:
        reasons.append(
            "A reference model that never saw the members shows an epsilon of "
            f"{rounding.short(control)}: residual confounding."
        )
    return reasons


def _measurements(
    adjusted: Adjusted,
    audited: corrections.Audit,
    counted: measures.Roc,
    gamma_star: float,
    epsilon: float,
    control: float | None,
) -> dict[str, Any]:
    prepared = adjusted.prepared
    out: dict[str, Any] = {
        "auc": counted.area(),
        "gamma_star": gamma_star,
    }
    out["tpr_at_fpr"] = {
        f"{r:g}": rate for r, rate in zip(measures.FPRS, counted.tpr(measures.FPRS), strict=True)
    }
    if prepared.trim is not None:
        out["auc_of_residual_score"] = measures.auc(
            prepared.score[prepared.tail], prepared.truth[prepared.tail]
        )
        out["allowance_epsilon"] = prepared.allowance
        out["allowance_mu"] = prepared.allowance_mu
    if adjusted.c_lb is not None:
        out["c_lb"] = adjusted.c_lb  # part of the allowance: the headline is already less by it
        out["epsilon_tilde"] = epsilon
    if control is not None:
        out["negative_control_epsilon"] = control
    if audited.balanced is not None:
        out["guesses"] = audited.balanced.guesses
        out["correct_guesses"] = audited.balanced.correct
    return out


def _trials(context: Context, audited: corrections.Audit | None) -> dict[str, Any]:
    truth = context.drawn.truth
    out: dict[str, Any] = {
        "members": int((truth > 0).sum()),
        "nonmembers": int((truth < 0).sum()),
        "pool_members": context.pools[0],
        "pool_nonmembers": context.pools[1],
        "scores": list(context.score_names),
        "features": len(context.features.names),
    }
    if context.subset is not None:
        out["rows_of_the_table"] = context.subset.total
        out["rows_used"] = context.subset.used
    if audited is not None:
        out["kept"] = int(audited.kept.size)
        if audited.balanced is not None:
            out["counted"] = audited.balanced.trials
        if audited.bet is not None:
            out["revealed"] = audited.bet.trials
    return out


def _of_the_draw(context: Context) -> dict[str, Any]:
    out = {"draw": _draw(context), "duplicates": _duplicates(context)}
    return out if context.subset is None else {**out, "subset": context.subset.said()}


def _draw(context: Context) -> dict[str, Any]:
    """The digest is of the rows' places in the order of their content."""
    digest = hashlib.sha256()
    for part in slices(len(context.drawn)):
        digest.update(context.drawn.rows[part].astype(np.int64).tobytes())
    return {
        "trials": len(context.drawn),
        "coin": context.drawn.coin,
        "rows_sha256": digest.hexdigest(),
        "rule": "independent coin flips over the two pools, without replacement",
    }


def _duplicates(context: Context) -> dict[str, Any]:
    first = context.duplicates[:10]
    named = first if context.rows is None else np.sort(context.rows[first])
    return {
        "nonmembers_equal_to_a_member": int(context.duplicates.size),
        "first_rows": named.tolist(),
    }
