"""From the played attribute game to a Result: verdict, measurements, diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from divulge.bounds import betting
from divulge.curves import Gaussian
from divulge.games.attribute.compared import ValueAttack, tau_curve
from divulge.games.attribute.proxy_quality import (
    less_sure,
    proxy_quality,
    repeated_records,
    saw_training,
)
from divulge.games.attribute.read import Records
from divulge.proof import measures
from divulge.proof.alternatives import Replayed
from divulge.proof.rule import Rule
from divulge.proof.state import (
    ROBUST_ODDS,
    findings_in_words,
    headline_epsilon,
    leaking,
    undecided,
    wealth,
)
from divulge.result import Bound, Diagnostics, Result, Verdict
from divulge.result.of_values import Proxy, Repetitions
from divulge.result.shared import Blind, Compared, DrawRecord, Wealth
from divulge.shift import sensitivity as sensitivity_
from divulge.shift import value_prior
from divulge.shift.value_prior import Priors
from divulge.text import rounding
from divulge.types import Array

TAUS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_MOST_REPEATED = 0.01


@dataclass(frozen=True)
class ValueContext:
    """What is known before the audit."""

    records: Records
    attack: ValueAttack
    rule: Rule
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Proofs:
    """The game as published, and the one with the proxy corrected."""

    plain: Replayed
    corrected: Replayed | None

    @property
    def headline(self) -> Replayed:
        """The one on which the verdict rests."""
        return self.corrected if self.corrected is not None else self.plain

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Of both; what is corrected makes the rest no headline."""
        if self.corrected is None:
            return self.plain.bounds
        beside = (  # nobody vouches for the proxy that these take to be exact
            replace(bound, headline=False, standing="estimated") for bound in self.plain.bounds
        )
        return (*self.corrected.bounds, *beside)


def no_conclusion(context: ValueContext, reason: str) -> Result:
    """The honest verdict where nothing can be proved."""
    return undecided(
        "attribute",
        reason,
        trials={"training_records": context.records.training},
        provenance=context.provenance,
    )


def result(
    context: ValueContext,
    proofs: Proofs,
    log_target: Array,
    log_proxy: Array,
    others: list[Compared],
) -> Result:
    """Put everything together."""
    records, rule = context.records, context.rule
    proof, bounds = proofs.headline, proofs.bounds
    unattributed = _unattributed(proof.priors, bounds)
    if unattributed:  # no verdict rests on them
        bounds = tuple(replace(bound, headline=False) for bound in bounds)
    quality = proxy_quality(records, proof.priors, log_target, log_proxy)
    warnings = [w for w in (saw_training(records, log_proxy), less_sure(records, log_target)) if w]
    copies = repeated_records(records, log_target)
    curve = sensitivity_.sensitivity(headline_epsilon(bounds))
    first = proof.played.replays[0]
    score, truth = proof.shown
    corrected = proofs.corrected is not None
    sees = "the record and the value shown, not the model"
    diagnostics = Diagnostics(
        proxy=quality,
        roc=measures.roc(score, truth, bounds),
        wealth=_wealth(proof, truth) if rule.tau is None else Wealth(),
        sensitivity=curve.drawn(),
        tau=tau_curve(proofs.plain, TAUS),
        draw=DrawRecord(
            records=records.training,
            learned_from=proof.priors.head.size,
            audited=proof.priors.tail.size,
            repetitions=rule.repetitions,
            records_equal_to_another=copies,
            rule="a fair coin per record: its own value, or one drawn from the proxy",
        ),
        repetitions=_repetitions(proof, bounds) if rule.repetitions > 1 else None,
        blind=Blind(c_lb=proof.priors.c_lb, sees=sees) if corrected else None,
        nuisance=proof.priors.quality or None if corrected else None,
        comparison=tuple(others) or None,
    )
    return Result(
        game="attribute",
        verdict=_verdict(
            context, proof.priors, bounds, curve.gamma_star, warnings, copies, unattributed
        ),
        bounds=bounds,
        measurements=_measurements(context, proof, bounds, quality, curve.gamma_star, score, truth),
        trials={
            "training_records": records.training,
            "heldout_records": records.codes.size - records.training,
            "real": int(first.true.sum()),
            "drawn": int((~first.true).sum()),
            "counted": proof.played.counts[0].trials,
            "classes": len(records.classes),
            "value": records.value,
            "score": context.attack.score,
            "features": len(records.features.names),
        },
        diagnostics=diagnostics,
        provenance=context.provenance,
    )


def _wealth(proof: Replayed, truth: Array) -> Wealth:
    """How the evidence of the first replay grew."""
    shown = proof.played.replays[0].shown[:, None].astype(np.intp)
    evidence = np.take_along_axis(proof.plan.bets.evidence, shown, axis=1)[:, 0]
    prior = np.take_along_axis(proof.plan.bets.log_odds, shown, axis=1)[:, 0]
    staked = np.flatnonzero(evidence)
    if staked.size == 0:
        return Wealth()
    forecast = expit(evidence + prior)[staked]
    bet = betting.bet_given(forecast, truth[staked], prior[staked], error=proof.rule.half)
    return wealth(bet, proof.priors.proved_epsilon)


def _alone(proof: Replayed) -> list[float]:
    """The bound on epsilon of each replay."""
    return [proof.priors.proved_epsilon(float(e)) for e in proof.epsilon_alone]


def _repetitions(proof: Replayed, bounds: tuple[Bound, ...]) -> Repetitions:
    tau, replays = proof.rule.tau, proof.rule.repetitions
    alone = [proof.alone_bound(k, None, tau or 0.0) for k in range(replays)]
    headline = {(b.parameter, b.delta): b.value for b in bounds if b.headline}
    return Repetitions(
        count=replays,
        epsilon=tuple(_alone(proof)) if tau is None else (),
        mu=tuple(proof.priors.proved_mu(mu) for mu in alone),
        combined_epsilon=headline.get(("epsilon", 0.0)),
        combined_mu=headline.get(("mu", None)),
        combination="largest running mean of the e-values for epsilon at delta 0; twice the "
        "mean p-value, in its form for exchangeable replays, for the rest",
    )


def _verdict(
    context: ValueContext,
    priors: Priors,
    bounds: tuple[Bound, ...],
    gamma_star: float,
    warnings: list[str],
    repeated_share: float,
    unattributed: str | None,
) -> Verdict:
    if unattributed:
        others = _reasons(context, priors, None, warnings, repeated_share)
        return Verdict(
            "cannot conclude", False, "Nothing can be concluded.", (unattributed, *others)
        )
    found = leaking(bounds)
    sure = rounding.confidence(context.rule.error)
    what = repr(context.records.value)
    if not found:
        sentence = (
            f"No evidence that {what} leaks: with {sure} confidence nothing above zero could be "
            "proved. This is not a proof of privacy."
        )
        return Verdict(
            "no evidence",
            False,
            sentence,
            tuple(_reasons(context, priors, None, warnings, repeated_share)),
        )
    listed = findings_in_words(found)
    sentence = f"The model gives away {what} of its records: with {sure} confidence, {listed}."
    reasons = tuple(_reasons(context, priors, gamma_star, warnings, repeated_share))
    return Verdict("leak", not reasons, sentence, reasons)


def _unattributed(priors: Priors, bounds: tuple[Bound, ...]) -> str | None:
    """Why a blind finding could be knowledge as well as memory: the student does not follow."""
    if priors.assumption != value_prior.BLIND or priors.followed or not leaking(bounds):
        return None
    return (
        f"The target tells values apart, but its student explains only {priors.explained:.0%} of "
        f"what it says (at least {value_prior.LEAST_EXPLAINED:.0%} are needed): a target that "
        "knows the population in a way that no student learns looks like one that memorised its "
        "records. Held-out records with the target's probabilities would tell the two apart."
    )


def _reasons(
    context: ValueContext,
    priors: Priors,
    gamma_star: float | None,
    warnings: list[str],
    repeated_share: float,
) -> list[str]:
    """Why a finding is fragile."""
    reasons = []
    if priors.assumption == value_prior.BLIND:
        given = (
            "The features may not, in a form that a student learns,"
            if context.records.features.names
            else "No features"
        )
        beyond = context.records.outside.size
        aside = (
            f"the {beyond} held-out records were too few, or came without the target's "
            "probabilities, to correct the proxy"
            if beyond
            else "no held-out records were given"
        )
        reasons.append(
            f"{given} carry all that the target knows, and {aside}: a target that knows the "
            "population better than the proxy could look like one that memorised its records."
        )
    if repeated_share > _MOST_REPEATED:
        reasons.append(
            f"{repeated_share:.1%} of the records equal another one in everything that is known "
            "of them: if these belong to the same person, their values are not independent."
        )
    if gamma_star is not None and gamma_star < ROBUST_ODDS:
        reasons.append(
            f"An error of the proxy with an odds ratio of {rounding.at_least(gamma_star, 2)} would "
            f"explain the finding away; robust needs at least {ROBUST_ODDS:g}."
        )
    if context.records.overlap is not None:
        reasons.append(context.records.overlap)
    if priors.c_lb:
        reasons.append(
            "A baseline that does not see the model beats the corrected proxy by "
            f"{rounding.short(priors.c_lb)} in log-odds: some error of the proxy remains."
        )
    return reasons + warnings


def _measurements(
    context: ValueContext,
    proof: Replayed,
    bounds: tuple[Bound, ...],
    quality: Proxy,
    gamma_star: float,
    score: Array,
    truth: Array,
) -> dict[str, Any]:
    rule = context.rule
    losses = quality.log_loss
    out: dict[str, Any] = {
        "auc": measures.auc(score, truth),
        "tpr_at_fpr": {f"{r:g}": measures.tpr_at(score, truth, r) for r in measures.FPRS},
        "gamma_star": gamma_star,
        "agreement": quality.agreement,
        "proxy_log_loss": losses["proxy"],
        "target_log_loss": losses["target"],
        "guesses": proof.played.counts[0].guesses,
        "correct_guesses": proof.played.counts[0].correct,
    }
    if "corrected proxy" in losses:
        out["corrected_log_loss"] = losses["corrected proxy"]
        out["c_lb"] = proof.priors.c_lb
        out["allowance_epsilon"] = proof.epsilon - proof.priors.proved_epsilon(proof.epsilon)
        out["epsilon_tilde"] = headline_epsilon(bounds)
    mu = next((b.value for b in bounds if b.headline and b.parameter == "mu"), 0.0)
    if mu > 0.0 and rule.deltas:
        out["gdp_equivalent_epsilon"] = Gaussian(mu).epsilon(rule.deltas[0])
    if rule.repetitions > 1 and rule.tau is None:
        alone = np.array(_alone(proof))
        out["repetitions_epsilon_mean"] = float(alone.mean())
        out["repetitions_epsilon_sd"] = float(alone.std(ddof=1))
    return out
