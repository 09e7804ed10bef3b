"""From the played attribute game to a Result: verdict, measurements, diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
from divulge.proof.published import CoinProof
from divulge.proof.rule import Rule
from divulge.proof.state import (
    ROBUST_ODDS,
    findings_in_words,
    headline_epsilon,
    leaking,
    undecided,
    wealth,
)
from divulge.proof.values import ValueProof
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
MOST_BLIND = 2
"""Values of which a blind audit may say that they leak: a null of ten classes was convicted."""
PAIRS = (
    "each record's value is bet on; it is paired with another value, drawn so that the pair does "
    "not tell which is the record's own"
)
COINS = "a fair coin per record: its own value, or one drawn from the proxy"
UNVOUCHED = (
    "The published form takes the proxy to be exact, and nobody vouches for it: a target that "
    "knows the population better than the proxy looks like one that memorised its records."
)


@dataclass(frozen=True)
class ValueContext:
    """What is known before the audit."""

    records: Records
    attack: ValueAttack
    rule: Rule
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Proofs:
    """What bets and pairs prove, if they were asked for, and the game as published."""

    values: ValueProof | None
    published: CoinProof

    @property
    def headline(self) -> ValueProof | CoinProof:
        """The one on which the verdict rests."""
        return self.published if self.values is None else self.values

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Of both; the published game is no headline beside the other."""
        if self.values is None:
            return self.published.bounds
        beside = (replace(bound, headline=False) for bound in self.published.bounds)
        return (*self.values.bounds, *beside)

    @property
    def priors(self) -> Priors | None:
        """What was estimated of the values, if anything was."""
        found = None if self.values is None else self.values.priors
        return None if found is None or found.assumption == value_prior.EXACT else found


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
    proof, bounds, priors = proofs.headline, proofs.bounds, proofs.priors
    unattributed = _unattributed(priors, bounds, len(records.classes))
    if unattributed:  # no verdict rests on them
        bounds = tuple(replace(bound, headline=False) for bound in bounds)
    quality = proxy_quality(records, priors, log_target, log_proxy)
    warnings = [w for w in (saw_training(records, log_proxy), less_sure(records, log_target)) if w]
    copies = repeated_records(records, log_target)
    curve = sensitivity_.sensitivity(headline_epsilon(bounds))
    score, truth = proof.shown
    sees = "the record and a value, not the model"
    coins = proofs.published.trials
    diagnostics = Diagnostics(
        proxy=quality,
        roc=measures.roc(score, truth, bounds) if truth.size else None,
        wealth=_wealth(proofs.values),
        sensitivity=curve.drawn(),
        tau=tau_curve(proofs.published, TAUS),
        draw=DrawRecord(
            records=records.training,
            learned_from=coins.head.size,
            audited=coins.tail.size,
            repetitions=rule.repetitions,
            records_equal_to_another=copies,
            rule=PAIRS if proofs.values is not None else COINS,
        ),
        repetitions=_repetitions(proof, priors, bounds) if rule.repetitions > 1 else None,
        blind=Blind(c_lb=priors.c_lb, sees=sees) if priors is not None else None,
        nuisance=None if priors is None else priors.quality or None,
        comparison=tuple(others) or None,
    )
    return Result(
        game="attribute",
        verdict=_verdict(context, proofs, bounds, curve.gamma_star, warnings, copies, unattributed),
        bounds=bounds,
        measurements=_measurements(context, proofs, bounds, quality, curve.gamma_star),
        trials={
            "training_records": records.training,
            "heldout_records": records.codes.size - records.training,
            **_trials(proofs, truth),
            "classes": len(records.classes),
            "value": records.value,
            "score": context.attack.score,
            "form": "published" if proofs.values is None else "values",
            "features": len(records.features.names),
            **({"left_out": records.left_out} if records.left_out else {}),
        },
        diagnostics=diagnostics,
        provenance=context.provenance,
    )


def _trials(proofs: Proofs, truth: Array) -> dict[str, int]:
    counted = proofs.headline.counts[0].trials
    if proofs.values is None:
        real = int((truth > 0.0).sum())
        return {"real": real, "drawn": truth.size - real, "counted": counted}
    return {
        "bets": proofs.values.bet.trials,
        "pairs": truth.size,
        "void": proofs.values.void,
        "counted": counted,
    }


def _wealth(proof: ValueProof | None) -> Wealth:
    """How the evidence of the bets grew."""
    return Wealth() if proof is None else wealth(proof.bet, proof.priors.proved_epsilon)


def _repetitions(
    proof: ValueProof | CoinProof, priors: Priors | None, bounds: tuple[Bound, ...]
) -> Repetitions:
    """The bounds of single draws; pure epsilon is bet on once, without a draw."""
    tau, many = proof.rule.tau or 0.0, range(proof.rule.repetitions)
    if isinstance(proof, CoinProof):
        alone = [proof.alone_bound(k, None, tau) for k in many]
        epsilon = tuple(proof.alone_bound(k, 0.0, tau) for k in many)
    else:
        alone, epsilon = [proof.alone_bound(k, None) for k in many], ()
    headline = {(b.parameter, b.delta): b.value for b in bounds if b.headline}
    return Repetitions(
        count=proof.rule.repetitions,
        epsilon=epsilon,
        mu=tuple(alone if priors is None else map(priors.proved_mu, alone)),
        combined_epsilon=headline.get(("epsilon", 0.0)),
        combined_mu=headline.get(("mu", None)),
        combination="twice the mean p-value, in its form for exchangeable draws",
    )


def _verdict(
    context: ValueContext,
    proofs: Proofs,
    bounds: tuple[Bound, ...],
    gamma_star: float,
    warnings: list[str],
    repeated_share: float,
    unattributed: str | None,
) -> Verdict:
    if proofs.values is None and not proofs.published.trials.vouched:
        warnings = [UNVOUCHED, *warnings]
    priors = proofs.priors
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


def _unattributed(priors: Priors | None, bounds: tuple[Bound, ...], classes: int) -> str | None:
    """Why a blind finding could be knowledge as well as memory.

    The student does not follow, or there are so many values that a prior fitted from the record
    alone is not good enough to bet one against another.
    """
    if priors is None or priors.assumption != value_prior.BLIND or not leaking(bounds):
        return None
    if classes > MOST_BLIND:
        return (
            f"There are {classes} values, and what the record alone says of each is only fitted: "
            f"with more than {MOST_BLIND} such a fit is not good enough to tell memory from "
            "knowledge. Held-out records with the target's probabilities would tell them apart, "
            "or a proxy that somebody vouches for."
        )
    if priors.followed:
        return None
    return (
        f"The target tells values apart, but its student explains only {priors.explained:.0%} of "
        f"what it says (at least {value_prior.LEAST_EXPLAINED:.0%} are needed): a target that "
        "knows the population in a way that no student learns looks like one that memorised its "
        "records. Held-out records with the target's probabilities would tell the two apart."
    )


def _reasons(
    context: ValueContext,
    priors: Priors | None,
    gamma_star: float | None,
    warnings: list[str],
    repeated_share: float,
) -> list[str]:
    """Why a finding is fragile."""
    reasons = []
    if priors is not None and priors.assumption == value_prior.BLIND:
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
    force = 0.0 if priors is None else priors.quality.get("strangers_force", 0.0)
    if gamma_star is not None and gamma_star < np.exp(force):
        reasons.append(
            "The target speaks of held-out records, whose values it never saw, with a force of "
            f"{rounding.short(force)} in log-odds: knowledge of another population than theirs "
            "could be as strong as the finding."
        )
    if priors is not None and priors.c_lb:
        reasons.append(
            "A baseline that does not see the model beats the corrected proxy by "
            f"{rounding.short(priors.c_lb)} in log-odds: some error of the proxy remains."
        )
    return reasons + warnings


def _measurements(
    context: ValueContext,
    proofs: Proofs,
    bounds: tuple[Bound, ...],
    quality: Proxy,
    gamma_star: float,
) -> dict[str, Any]:
    rule, proof, priors = context.rule, proofs.headline, proofs.priors
    losses = quality.log_loss
    score, truth = proof.shown
    out: dict[str, Any] = {
        "auc": measures.auc(score, truth),
        "tpr_at_fpr": {f"{r:g}": measures.tpr_at(score, truth, r) for r in measures.FPRS}
        if truth.size
        else {},
        "gamma_star": gamma_star,
        "agreement": quality.agreement,
        "proxy_log_loss": losses["proxy"],
        "target_log_loss": losses["target"],
        "guesses": proof.counts[0].guesses,
        "correct_guesses": proof.counts[0].correct,
    }
    if proofs.values is not None and priors is not None:
        raw = proofs.values.bet.epsilon
        out["corrected_log_loss"] = losses["corrected proxy"]
        out["c_lb"] = priors.c_lb
        out["allowance_epsilon"] = raw - priors.proved_epsilon(raw)
        out["epsilon_tilde"] = headline_epsilon(bounds)
    mu = next((b.value for b in bounds if b.headline and b.parameter == "mu"), 0.0)
    if mu > 0.0 and rule.deltas:
        out["gdp_equivalent_epsilon"] = Gaussian(mu).epsilon(rule.deltas[0])
    if rule.repetitions > 1 and isinstance(proof, CoinProof):
        tau = rule.tau or 0.0
        alone = np.array([proof.alone_bound(k, 0.0, tau) for k in range(rule.repetitions)])
        out["repetitions_epsilon_mean"] = float(alone.mean())
        out["repetitions_epsilon_sd"] = float(alone.std(ddof=1))
    return out
