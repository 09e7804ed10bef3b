"""The attribute game: what does the model say of values that its training records kept back?

The model is as it was trained, no label was touched. Each record's label (or protected value) is
bet on itself, given what the record shows and the model says, and pairs of it and another value are
guessed; who does better than the record alone allows has learned what the record kept to itself.
The published game (001, Algorithm 2), in which a coin shows the true value or one drawn from a
proxy, is played beside it, or instead. The parameter is that of label privacy: what changes when
one record's value is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax

from divulge.attacks.shown_value import LIKELIHOOD_RATIO, SCORES
from divulge.data import content
from divulge.data.arranged import rows_named
from divulge.errors import CannotConclude, InputError, require, require_choice
from divulge.games.attribute import findings
from divulge.games.attribute.compared import ValueAttack, compared, published_beside
from divulge.games.attribute.read import Records, read_records
from divulge.games.attribute.several import together
from divulge.games.public import provenance, public
from divulge.proof.prove import prove
from divulge.proof.rule import DELTAS, Rule
from divulge.result import Result
from divulge.result.shared import Compared
from divulge.shift import strangers, students, value_prior
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index, Progress
from divulge.work.threads import single

FORMS = ("values", "published")
VALUES, PUBLISHED = FORMS
REPEATS = 1
DEFAULT = Rule(repetitions=REPEATS)
ATTACK = ValueAttack()
LEAST_TRUSTED = 20
LEAST_RECORDS = 400
"""Fewest training records, and fewest held-out ones, for an estimate of the proxy's error."""


@public("attribute")
def attribute(
    data: Any,
    *,
    heldout: Any = None,
    features: str | Sequence[str] = (),
    label: str | None = None,
    protected: str | Sequence[str] | None = None,
    jointly: bool = False,
    bins: int | None = None,
    target: str = "p_",
    proxy: str = "q_",
    rename: Mapping[str, str] | None = None,
    model: Any = None,
    proxy_model: Any = None,
    form: str | None = None,
    attack: str = LIKELIHOOD_RATIO,
    power: float = 2.0,
    proxy_exact: bool = False,
    tau: float | None = None,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    repeats: int = REPEATS,
    seed: int = 0,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Audit what a model gives away about the labels, or a protected column, of its records.

    ``data`` holds training records: the ``label`` (or the ``protected`` column, numbers and dates
    in ``bins``; several columns share the error, or are one value, ``jointly``), and the
    probabilities of target and proxy as columns ``p_<class>`` and ``q_<class>``; or give ``model``
    and ``proxy_model``, which are Sources, fitted objects, callables that return probabilities or
    places as text, and the features they read. For a protected column that the model reads, the
    model is asked with every value. Without a proxy divulge fits one, on the held-out records or on
    the half that is not audited. ``features`` are what the record shows besides. ``heldout`` are
    records outside the training set, with the same columns, on which the correction of the proxy is
    then fitted.

    ``form`` is ``values`` (bets on the values, and pairs of them) or ``published`` (coins between
    the true value and one drawn from the proxy, counted; the default with ``tau``). ``attack`` is
    ``llr`` (log-likelihood ratio) or ``published``, with ``power``; ``repeats`` is the number of
    draws of pairs or coins, combined. The proxy's error is corrected unless it is stated to be
    exact (``proxy_exact``), bounded in total variation (``tau``), or the form is the published
    one, which takes the proxy at its word. The headline bounds hold together with confidence
    ``1 - error``.
    """
    require_choice("attack", attack, SCORES)
    rule = Rule(tuple(deltas), error, repetitions=repeats, tau=tau).checked()
    require(not (proxy_exact and tau), "A proxy is exact, or has a tau; not both.")
    form = form or (VALUES if tau is None else PUBLISHED)
    require_choice("form", form, FORMS)
    require(
        form == PUBLISHED or tau is None,
        "A tau belongs to the published form: leave one of them out.",
    )
    require(0.0 <= power < np.inf, f"The power t must be at least 0 and finite. Found {power!r}.")
    kept_back = [protected] if isinstance(protected, str) else list(protected or ())
    if len(kept_back) > 1:
        require(model is not None, "Several protected columns need a model that reads them.")
        require(len(set(kept_back)) == len(kept_back), "A protected column is named twice.")
    common: dict[str, Any] = {
        "label": label,
        "bins": bins,
        "target": target,
        "proxy": proxy,
        "features": features,
        "model": model,
        "proxy_model": proxy_model,
        "heldout": heldout,
    }
    how: dict[str, Any] = {
        "attack": ValueAttack(attack, power),
        "form": form,
        "proxy_exact": proxy_exact,
        "seed": seed,
        "command": command,
        "progress": progress,
    }
    if len(kept_back) > 1 and not jointly:
        share = replace(rule, error=error / len(kept_back))
        found = {
            name: _audit(read_records(data, protected=name, **common), share, **how)
            for name in kept_back
        }
        return together(found, error)
    return _audit(read_records(data, protected=kept_back, **common), rule, **how)


def _audit(
    records: Records, rule: Rule, *, attack: ValueAttack, form: str, proxy_exact: bool, **how: Any
) -> Result:
    """Of records as they were read; errors name rows of the user's table."""
    require(
        records.log_proxy is not None or (form == VALUES and not proxy_exact),
        "There is no proxy to treat as exact: give columns with its probabilities, or a proxy "
        "model.",
    )
    with rows_named(records.rows if records.rows is not None else np.arange(records.training)):
        return audit_records(records, rule, attack, form=form, proxy_exact=proxy_exact, **how)


@single
def audit_records(
    records: Records,
    rule: Rule = DEFAULT,
    attack: ValueAttack = ATTACK,
    *,
    form: str = VALUES,
    proxy_exact: bool = False,
    seed: int = 0,
    command: str | None = None,
    progress: Progress | None = None,
    compare: bool = True,
) -> Result:
    """Correct the proxy, play the game, and state what is proved."""
    told = (records.log_target, records.likelihood, records.log_proxy)
    rng = content.generator(seed, records.codes, *(part for part in told if part is not None))
    context = findings.ValueContext(
        records=records,
        attack=attack,
        rule=rule,
        provenance=provenance(command, seed, records.inputs, records.model),
    )
    trusted = proxy_exact or form == PUBLISHED
    try:
        ready = _prepare(records, rule, trusted, rng, progress)
    except CannotConclude as reason:
        return findings.no_conclusion(context, str(reason))
    codes = records.codes[: records.training]
    vouched = proxy_exact or rule.tau is not None
    proved = None
    if form == VALUES:
        proved = prove(attack.values(codes, ready.log_target, ready.priors), rule, rng, progress)
    coins = attack.coins(codes, ready.log_target, ready.priors, vouched)
    proofs = findings.Proofs(proved, prove(coins, rule, rng, progress))
    others: list[Compared] = []
    if compare and proved is not None:
        others = compared(records, ready.log_target, ready.log_proxy, proved, attack, rng, progress)
        others.append(published_beside(proofs.published, attack))
    return findings.result(context, proofs, ready.log_target, ready.log_proxy, others)


@dataclass(frozen=True)
class _Prepared:
    """Log-probabilities of target and proxy, and what the record gives away."""

    log_target: Array = field(repr=False)
    log_proxy: Array = field(repr=False)
    priors: value_prior.Priors


def _prepare(
    records: Records,
    rule: Rule,
    trusted: bool,
    rng: np.random.Generator,
    progress: Progress | None,
) -> _Prepared:
    """``trusted``: the proxy is taken to be right, as far as the rule's tau."""
    training, outside = records.training, records.outside
    enough = outside.size >= LEAST_RECORDS
    aside = records.heldout_target and enough
    if training < LEAST_TRUSTED or (training < LEAST_RECORDS and not trusted):
        least = LEAST_TRUSTED if trusted else LEAST_RECORDS
        raise CannotConclude(
            f"{training} training records are too few; at least {least} are needed"
            + ("." if trusted else " to estimate the proxy's error.")
        )
    if aside and not trusted:
        _require_classes(records)
    share = value_prior.LEARNED_SHARE
    if trusted:
        share = value_prior.VOUCHED_SHARE
    elif aside:
        share = value_prior.HELD_OUT_SHARE
    head, tail = value_prior.split(training, share, rng)
    log_proxy, proxy = records.log_proxy, records.proxy
    if log_proxy is None:
        log_proxy, proxy = _fit_proxy(records, head, tail, enough, rng, progress), None
    if proxy is None:
        proxy = np.exp(log_proxy)
    log_target = records.log_target
    if log_target is None:
        assert records.likelihood is not None
        log_target = log_probabilities(np.exp(log_softmax(log_proxy + records.likelihood, axis=1)))
    features = records.features.matrix
    if trusted:
        if not rule.tau:
            _require_possible(records.codes[:training], proxy[:training])
        priors = value_prior.vouched(log_proxy[:training], proxy[:training], head, tail)
    elif aside:
        priors = value_prior.held_out(
            records.codes,
            log_target,
            log_proxy,
            proxy,
            features,
            head,
            tail,
            outside,
            error=rule.error / 2.0,
            rng=rng,
            progress=progress,
        )
        if priors.shift > value_prior.MOST_SHIFTED:
            raise CannotConclude(
                "The values of the held-out records do not have the distribution of the "
                "training records' values: given what the records show, they differ by at least "
                f"{priors.shift:.2f} in log-odds. Give held-out records from the training "
                "records' population."
            )
        priors = value_prior.parted(priors, training)
        assert priors.beyond is not None
        shown = students.record_features(log_proxy, features)
        alike = strangers.likeness(shown[:training], shown[training:], rng)
        priors = replace(priors, beyond=replace(priors.beyond, likeness=alike))
    else:
        priors = value_prior.blind(
            records.codes[:training],
            log_target[:training],
            log_proxy[:training],
            proxy[:training],
            features[:training],
            head,
            tail,
            error=rule.error / 2.0,
            rng=rng,
            progress=progress,
        )
    return _Prepared(log_target, log_proxy, priors)


def _require_possible(codes: Index, proxy: Array) -> None:
    """A proxy that excludes a value that a record has is not exact."""
    own = np.take_along_axis(proxy, codes[:, None], axis=1)[:, 0]
    impossible = np.flatnonzero(own <= 0.0)
    if impossible.size:
        raise InputError(
            f"The proxy gives the true value a probability of 0 in {impossible.size} records "
            f"(first: row {impossible[0]}): it cannot be exact."
        )


def _require_classes(records: Records) -> None:
    """A value that the held-out records never had cannot be judged by them."""
    classes = len(records.classes)
    inside = np.bincount(records.codes[: records.training], minlength=classes)
    beyond = np.bincount(records.codes[records.training :], minlength=classes)
    for name, here, there in zip(records.classes, inside, beyond, strict=True):
        if there == 0 and here >= 0.01 * records.training:
            raise CannotConclude(
                f"The held-out records have no {records.value!r} of {name!r}, which {here} "
                "training records have: the two cannot be from the same population."
            )


def _fit_proxy(
    records: Records,
    head: Index,
    tail: Index,
    enough: bool,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Array:
    """A proxy from the features: on held-out records, or on the head, which is not audited."""
    if progress is not None:
        progress("proxy", 0, 1)
    outside = records.outside
    learn, apply = (outside, np.concatenate([head, tail])) if enough else (head, tail)
    if not enough:
        apply = np.concatenate([tail, outside])
    share = np.bincount(records.codes[learn], minlength=len(records.classes)) + 1.0
    start = np.tile(log_probabilities((share / share.sum())[None]), (records.codes.size, 1))
    fitted, _ = students.fit_values(
        records.codes, start, records.features.matrix, learn, apply, rng
    )
    return fitted
