"""From what is proved to what is stated: verdict, measurements, diagnostics. Holds no records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scipy.special import logit, ndtr

from divulge.bounds import independent
from divulge.bounds.betting import BettingResult
from divulge.data.features import Features
from divulge.proof import measures, robustness, shown_shift
from divulge.proof.controls import NO_CONTROLS, Controls
from divulge.proof.corrections import Proof
from divulge.proof.draw import Draw
from divulge.proof.prepared import Prepared
from divulge.proof.robustness import ROBUST_ODDS as ROBUST_ODDS
from divulge.proof.robustness import beaten
from divulge.proof.robustness import weak_odds as weak_odds
from divulge.result import Bound, Diagnostics, Result, Verdict, floor_to
from divulge.result.shared import Blind, NegativeControl, Wealth
from divulge.shift import sensitivity as sensitivity_
from divulge.shift.benchmark import LeftOut, strongest
from divulge.text import rounding


@dataclass(frozen=True)
class Context:
    """What is known before the audit."""

    game: str
    drawn: Draw
    features: Features
    """Of the trials."""
    score_names: tuple[str, ...]
    pools: tuple[int, int]
    """Members and non-members that there are to draw from."""
    error: float
    provenance: Mapping[str, Any]
    reads_text: bool = False
    """Whether the model reads a text, which features describe in part only."""
    checklist: bool = False
    """Whether a robust finding needs all that ``robustness.py`` lists."""
    counted: Mapping[str, Any] = field(default_factory=dict)
    """More about the trials, and below more diagnostics."""
    diagnostics: Diagnostics = field(default_factory=Diagnostics, repr=False)


def undecided(
    game: str,
    reason: str,
    *,
    trials: Mapping[str, Any] | None = None,
    diagnostics: Diagnostics | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Result:
    """The honest verdict where nothing can be proved: the same in every game."""
    return Result(
        game=game,
        verdict=Verdict("cannot conclude", False, "Nothing can be concluded.", (reason,)),
        bounds=(),
        trials=trials or {},
        diagnostics=diagnostics or Diagnostics(),
        provenance=provenance or {},
    )


def no_conclusion(context: Context, reason: str) -> Result:
    """Nothing can be proved from these trials."""
    return undecided(
        context.game,
        reason,
        trials=_trials(context, None),
        diagnostics=replace(context.diagnostics, draw=context.drawn.described()),
        provenance=context.provenance,
    )


def state(context: Context, proof: Proof, around: Controls = NO_CONTROLS) -> Result:
    """Verdict, measurements and diagnostics of a proof and what was computed around it."""
    prepared, control = proof.prepared, around.reference
    pure = headline_epsilon(proof.bounds)
    curve = sensitivity_.sensitivity(pure)
    evidence = _evidence(context, proof, curve.gamma_star, around)
    verdict = _verdict(context, proof, evidence)
    if around.unheard and around.unheard not in verdict.reasons:
        verdict = replace(verdict, robust=False, reasons=(*verdict.reasons, around.unheard))
    bounds = proof.bounds + (() if around.resampled is None else around.resampled.bounds)
    if verdict.status == "cannot conclude":  # no verdict rests on them
        bounds = tuple(replace(bound, headline=False) for bound in bounds)
    counted = measures.roc_counts(prepared.raw, prepared.truth)
    blind = None
    if prepared.c_lb is not None:
        blind = Blind(c_lb=prepared.c_lb, sees="the record, not the model")
    diagnostics = replace(
        context.diagnostics,
        overlap=shown_shift.overlap(proof),
        balance=shown_shift.balance(context.features, proof),
        roc=measures.drawn_roc(counted, prepared.truth.size, proof.bounds),
        sensitivity=curve.drawn(),
        draw=context.drawn.described(),
        wealth=None if proof.bet is None else wealth(proof.bet),
        bootstrap=None if around.resampled is None else around.resampled.diagnostics,
        blind=blind,
        negative_control=None
        if control is None
        else NegativeControl(
            epsilon=control,
            likeness=around.likeness,
            before_allowance=around.before,
            target_before_allowance=around.target_before
            if math.isfinite(around.target_before)
            else None,
        ),
        nuisance=prepared.quality or None,
        robustness=robustness.requirements(evidence)
        if context.checklist and verdict.status == "leak"
        else None,
        left_out=robustness.benchmark(evidence.left_out),
        folded=context.features.folded or None,
        ladder=around.ladder,
    )
    return Result(
        game=context.game,
        verdict=verdict,
        bounds=bounds,
        measurements=_measurements(proof, counted, curve.gamma_star, pure, control),
        trials=_trials(context, proof),
        diagnostics=diagnostics,
        provenance=context.provenance,
    )


def wealth(bet: BettingResult, proved: Callable[[float], float] | None = None) -> Wealth:
    """How the wealth of the bets grew, and the bound that it proved at each step."""
    revealed, running = bet.running_bound()
    bounds = running.tolist() if proved is None else [proved(float(e)) for e in running]
    return Wealth(
        trials=revealed.tolist(),
        wealth=bet.wealth.tolist(),
        epsilon=tuple(bounds),
        goal=1.0 / bet.error,
    )


def headline_epsilon(bounds: tuple[Bound, ...]) -> float:
    """The largest headline bound on epsilon: the figure for the sensitivity curve.

    Where mu alone was named, the log-odds of shift that would explain it: those of its midpoint.
    """
    values = [b.value for b in bounds if b.headline and b.parameter == "epsilon"]
    named = [float(logit(ndtr(b.value / 2.0))) for b in bounds if b.headline]
    return max(values or named, default=0.0)


def assumed(bounds: Sequence[Bound]) -> tuple[str, ...]:
    """Why a headline under independent scores is not robust."""
    words = [a for b in bounds if b.headline for a in b.assumptions]
    if independent.ASSUMPTION not in words:
        return ()
    return (f"It was named under an assumption that nothing checks: {independent.ASSUMPTION}.",)


def leaking(bounds: Sequence[Bound]) -> list[Bound]:
    """Headline bounds that are above 0 as they are printed."""
    return [b for b in bounds if b.headline and floor_to(b.value, 3) > 0.0]


def _evidence(
    context: Context, proof: Proof, gamma_star: float, around: Controls
) -> robustness.Evidence:
    """What the requirements of a robust finding are about; features are left out only for it."""
    features, prepared = context.features, proof.prepared
    left_out: tuple[LeftOut, ...] = ()
    if context.checklist and prepared.trim is not None:
        left_out = strongest(
            features.matrix,
            features.origin or features.names,
            features.levels,
            features.categories,
            prepared.truth,
        )
    return robustness.Evidence(
        prepared, gamma_star, around, features.folded, left_out, context.reads_text
    )


def _verdict(context: Context, proof: Proof, evidence: robustness.Evidence) -> Verdict:
    found, control = leaking(proof.bounds), evidence.around.reference
    sure = rounding.confidence(context.error)
    if not found:
        sentence = nothing_proved(context.error)
        reasons = _reasons(context, proof.prepared, None, control)
        return Verdict("no evidence", False, sentence, tuple(reasons))
    if evidence.around.speaks:
        sentence = (
            "Nothing can be concluded: a model that never saw the members shows a leak as well, "
            "so the features do not account for the distribution shift."
        )
        reasons = _reasons(context, proof.prepared, None, control)
        if evidence.around.unheard:
            sentence = (
                "Nothing can be concluded: what a model that never saw the members shows cannot "
                "be told from the distribution shift, so what this one shows cannot either."
            )
        elif not control:
            reasons.append(_same_before(evidence.around))
        return Verdict("cannot conclude", False, sentence, tuple(reasons))
    listed = findings_in_words(found)
    sentence = f"The model gives away its members: with {sure} confidence, {listed}."
    if context.checklist:
        needed = robustness.requirements(evidence)
        reasons = [r.sentence for r in needed if not r.holds]
        if context.features.matrix.shape[1] == 0:  # nothing to leave out, and that is said
            reasons = [r for r in reasons if not r.startswith("No observed feature")]
    else:
        reasons = _reasons(context, proof.prepared, evidence.gamma_star, control)
    reasons = [*reasons, *assumed(proof.bounds)]
    if context.checklist and not _ruled_out(evidence):
        sentence = f"{UNLESS}, the model {sentence.removeprefix('The model ')}"
    elif context.checklist and evidence.around.sizes is not None:
        sentence += f" {BY_WORD}"
    if assumed(proof.bounds):
        sentence = f"{IF_INDEPENDENT}: {sentence}"
    return Verdict("leak", not reasons, sentence, tuple(reasons))


IF_INDEPENDENT = "If the scores of different records are independent"
BY_WORD = (
    "That something else tells the groups apart is ruled out on your word that the control learned "
    "from about as many such records as the target."
)
UNLESS = "Unless the groups differ in something that was not seen in the features"


def _ruled_out(evidence: robustness.Evidence) -> bool:
    """Whether the shift is known, or something like the target has shown that it is none."""
    known = evidence.prepared.trim is None
    return known or robustness.controlled(evidence)


def _same_before(around: Controls) -> str:
    """Why a control that is silent after its allowance speaks all the same."""
    return (
        "Before any allowance a reference model that never saw the members shows an epsilon of "
        f"{rounding.short(around.before)}, the target {rounding.short(around.target_before)}: the "
        "finding is not told from residual confounding."
    )


def nothing_proved(error: float) -> str:
    """The verdict where no bound is above 0."""
    return (
        f"No evidence of a leak: with {rounding.confidence(error)} confidence nothing above zero "
        "could be proved. This is not a proof of privacy."
    )


def findings_in_words(bounds: Sequence[Bound]) -> str:
    """The proven bounds as a list in words, rounded down."""
    parts = []
    for b in bounds:
        name = b.parameter if b.delta is None else f"epsilon at delta {rounding.exact(b.delta)}"
        parts.append(f"{name} is at least {rounding.at_least(b.value)}")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _reasons(
    context: Context, prepared: Prepared, gamma_star: float | None, control: float | None
) -> list[str]:
    """Why a finding is fragile."""
    reasons = []
    if prepared.c_lb is None:
        reasons.append(prepared.unchecked)
    weak = None if gamma_star is None else weak_odds(gamma_star)
    if weak is not None:
        reasons.append(weak)
    if prepared.c_lb:
        reasons.append(beaten(prepared.c_lb))
    if control:
        reasons.append(
            "A reference model that never saw the members shows an epsilon of "
            f"{rounding.short(control)}: residual confounding."
        )
    return reasons


def _measurements(
    proof: Proof, counted: measures.Roc, gamma_star: float, epsilon: float, control: float | None
) -> dict[str, Any]:
    prepared = proof.prepared
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
    if prepared.c_lb is not None:
        out["c_lb"] = prepared.c_lb  # part of the allowance: the headline is already less by it
        out["epsilon_tilde"] = epsilon
    if control is not None:
        out["negative_control_epsilon"] = control
    return out | guesses(proof)


def guesses(proof: Proof) -> dict[str, int]:
    """How many guesses the headline rests on, and how many were right; nothing if it is a bet."""
    if proof.counts is None:
        return {}
    return {"guesses": proof.counts.guesses, "correct_guesses": proof.counts.correct}


def tried(proof: Proof) -> dict[str, int]:
    """Trials that were kept, counted and bet on."""
    out = {"kept": int(proof.kept.size)}
    if proof.counts is not None:
        out["counted"] = proof.counts.trials
    if proof.bet is not None:
        out["revealed"] = proof.bet.trials
    return out


def _trials(context: Context, proof: Proof | None) -> dict[str, Any]:
    truth = context.drawn.truth
    out: dict[str, Any] = {
        "members": int((truth > 0).sum()),
        "nonmembers": int((truth < 0).sum()),
        "pool_members": context.pools[0],
        "pool_nonmembers": context.pools[1],
        "scores": list(context.score_names),
        "features": len(context.features.names),
        **context.counted,
    }
    return out if proof is None else out | tried(proof)
