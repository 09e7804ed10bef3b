"""From the played attribute game to a Result: verdict, measurements, diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from divulge.bounds import betting, repeated
from divulge.curves import Gaussian
from divulge.games import public
from divulge.games.attribute import proved
from divulge.games.attribute.proved import Game, Rule
from divulge.games.attribute.proxy_quality import (
    less_sure,
    proxy_quality,
    repeated_records,
    saw_training,
)
from divulge.games.attribute.read import Records
from divulge.games.membership.findings import ROBUST_ODDS, findings_in_words, headline_epsilon
from divulge.proof import measures
from divulge.result import Bound, Result, Verdict, floor_to
from divulge.shift import sensitivity as sensitivity_
from divulge.shift import value_prior
from divulge.shift.value_prior import Priors
from divulge.text import rounding
from divulge.types import Array

TAUS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_MOST_REPEATED = 0.01


@dataclass(frozen=True)
class Context:
    """What is known before the audit."""

    records: Records
    rule: Rule
    provenance: Mapping[str, Any]


@dataclass(frozen=True)
class Games:
    """The game as published, and the one with the proxy corrected."""

    plain: Game
    corrected: Game | None

    @property
    def headline(self) -> Game:
        """The one on which the verdict rests."""
        return self.corrected if self.corrected is not None else self.plain


def no_conclusion(context: Context, reason: str) -> Result:
    """The honest verdict where nothing can be proved."""
    return public.no_conclusion(
        "attribute",
        reason,
        trials={"training_records": context.records.training},
        provenance=context.provenance,
    )


def result(
    context: Context,
    games: Games,
    bounds: tuple[Bound, ...],
    log_target: Array,
    log_proxy: Array,
    others: list[dict[str, Any]],
) -> Result:
    """Put everything together."""
    records, rule = context.records, context.rule
    game = games.headline
    unattributed = _unattributed(game.priors, bounds)
    if unattributed:  # no verdict rests on them
        bounds = tuple(replace(bound, headline=False) for bound in bounds)
    quality = proxy_quality(records, game.priors, log_target, log_proxy)
    warnings = [w for w in (saw_training(records, log_proxy), less_sure(records, log_target)) if w]
    copies = repeated_records(records, log_target)
    curve = sensitivity_.sensitivity(headline_epsilon(bounds))
    first = game.played.replays[0]
    truth = np.where(first.true, 1.0, -1.0)
    score = game.score[game.priors.tail, first.shown]
    diagnostics: dict[str, Any] = {
        "proxy": quality,
        "roc": measures.roc(score, truth, bounds),
        "wealth": _wealth(game, truth, rule) if rule.tau is None else {},
        "sensitivity": {
            "gamma": curve.gamma,
            "epsilon": curve.epsilon,
            "gamma_star": curve.gamma_star,
        },
        "tau": proved.tau_curve(games.plain, rule, TAUS),
        "draw": {
            "records": records.training,
            "learned_from": game.priors.head.size,
            "audited": game.priors.tail.size,
            "repetitions": rule.repetitions,
            "records_equal_to_another": copies,
            "rule": "a fair coin per record: its own value, or one drawn from the proxy",
        },
    }
    if rule.repetitions > 1:
        diagnostics["repetitions"] = _repetitions(game, bounds, rule)
    if games.corrected is not None:
        diagnostics["blind"] = {
            "c_lb": game.priors.c_lb,
            "sees": "the record and the value shown, not the model",
        }
        if game.priors.quality:
            diagnostics["nuisance"] = game.priors.quality
    if others:
        diagnostics["comparison"] = others
    return Result(
        game="attribute",
        verdict=_verdict(
            context, game.priors, bounds, curve.gamma_star, warnings, copies, unattributed
        ),
        bounds=bounds,
        measurements=_measurements(context, game, bounds, quality, curve.gamma_star, score, truth),
        trials={
            "training_records": records.training,
            "heldout_records": records.codes.size - records.training,
            "real": int(first.true.sum()),
            "drawn": int((~first.true).sum()),
            "counted": game.played.counts[0].trials,
            "classes": len(records.classes),
            "value": records.value,
            "score": rule.score,
            "features": len(records.features.names),
        },
        diagnostics=diagnostics,
        provenance=context.provenance,
    )


def _wealth(game: Game, truth: Array, rule: Rule) -> dict[str, Any]:
    """How the evidence of the first replay grew."""
    shown = game.played.replays[0].shown[:, None].astype(np.intp)
    evidence = np.take_along_axis(game.plan.bets.evidence, shown, axis=1)[:, 0]
    prior = np.take_along_axis(game.plan.bets.log_odds, shown, axis=1)[:, 0]
    staked = np.flatnonzero(evidence)
    if staked.size == 0:
        return {}
    bet = betting.bet_given(
        expit(evidence + prior)[staked], truth[staked], prior[staked], error=rule.half
    )
    revealed, running = bet.running_bound()
    return {
        "trials": revealed,
        "wealth": bet.wealth,
        "epsilon": [game.priors.proved_epsilon(float(e)) for e in running],
        "goal": 1.0 / rule.half,
    }


def _alone(game: Game) -> list[float]:
    """The bound on epsilon of each replay."""
    return [game.priors.proved_epsilon(float(e)) for e in game.epsilon_alone]


def _repetitions(game: Game, bounds: tuple[Bound, ...], rule: Rule) -> dict[str, Any]:
    tau = rule.tau or 0.0
    mu = [
        game.priors.proved_mu(repeated.alone_bound(c, delta=None, error=rule.half, tau=tau))
        for c in game.played.counts
    ]
    headline = {(b.parameter, b.delta): b.value for b in bounds if b.headline}
    return {
        "count": rule.repetitions,
        "epsilon": _alone(game) if rule.tau is None else [],
        "mu": mu,
        "combined_epsilon": headline.get(("epsilon", 0.0)),
        "combined_mu": headline.get(("mu", None)),
        "combination": "largest running mean of the e-values for epsilon at delta 0; twice the "
        "mean p-value, in its form for exchangeable replays, for the rest",
    }


def _verdict(
    context: Context,
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
    leaking = _claimed(bounds)
    sure = rounding.confidence(context.rule.error)
    what = repr(context.records.value)
    if not leaking:
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
    listed = findings_in_words(leaking)
    sentence = f"The model gives away {what} of its records: with {sure} confidence, {listed}."
    reasons = tuple(_reasons(context, priors, gamma_star, warnings, repeated_share))
    return Verdict("leak", not reasons, sentence, reasons)


def _claimed(bounds: tuple[Bound, ...]) -> list[Bound]:
    return [b for b in bounds if b.headline and floor_to(b.value, 3) > 0.0]


def _unattributed(priors: Priors, bounds: tuple[Bound, ...]) -> str | None:
    """Why a blind finding could be knowledge as well as memory: the student does not follow."""
    if priors.assumption != value_prior.BLIND or priors.followed or not _claimed(bounds):
        return None
    return (
        f"The target tells values apart, but its student explains only {priors.explained:.0%} of "
        f"what it says (at least {value_prior.LEAST_EXPLAINED:.0%} are needed): a target that "
        "knows the population in a way that no student learns looks like one that remembers. Give "
        "held-out records with the target's probabilities, which tell the two apart."
    )


def _reasons(
    context: Context,
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
            "population better than the proxy could look like one that remembers."
        )
    if repeated_share > _MOST_REPEATED:
        reasons.append(
            f"{repeated_share:.1%} of the records equal another one in everything that is known "
            "of them: if these are copies of one person, their values are not independent."
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
            f"A baseline that does not see the model beats the corrected proxy by "
            f"{rounding.short(priors.c_lb)} in log-odds: some error of the proxy is left."
        )
    return reasons + warnings


def _measurements(
    context: Context,
    game: Game,
    bounds: tuple[Bound, ...],
    quality: Mapping[str, Any],
    gamma_star: float,
    score: Array,
    truth: Array,
) -> dict[str, Any]:
    rule = context.rule
    losses = quality["log_loss"]
    out: dict[str, Any] = {
        "auc": measures.auc(score, truth),
        "tpr_at_fpr": {f"{r:g}": measures.tpr_at(score, truth, r) for r in measures.FPRS},
        "gamma_star": gamma_star,
        "agreement": quality["agreement"],
        "proxy_log_loss": losses["proxy"],
        "target_log_loss": losses["target"],
        "guesses": game.played.counts[0].guesses,
        "correct_guesses": game.played.counts[0].correct,
    }
    if "corrected proxy" in losses:
        out["corrected_log_loss"] = losses["corrected proxy"]
        out["c_lb"] = game.priors.c_lb
        out["allowance_epsilon"] = game.epsilon - game.priors.proved_epsilon(game.epsilon)
        out["epsilon_tilde"] = headline_epsilon(bounds)
    mu = next((b.value for b in bounds if b.headline and b.parameter == "mu"), 0.0)
    if mu > 0.0 and rule.deltas:
        out["gdp_equivalent_epsilon"] = Gaussian(mu).epsilon(rule.deltas[0])
    if rule.repetitions > 1 and rule.tau is None:
        alone = np.array(_alone(game))
        out["repetitions_epsilon_mean"] = float(alone.mean())
        out["repetitions_epsilon_sd"] = float(alone.std(ddof=1))
    return out
