"""The attribute game: is the value shown with a training record its own, or the proxy's guess?

Observational auditing of label privacy (001, Algorithm 2): the model is as it was trained, no label
was touched. A record is shown with its true label (or protected value) or with one drawn from a
proxy, by a fair coin; who can tell which from the model has learned what the record kept to itself.
The parameter is that of label privacy: what changes when one record's value is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_softmax

from divulge.attacks.shown_value import LIKELIHOOD_RATIO, SCORES
from divulge.data.arranged import rows_named
from divulge.errors import CannotConclude, InputError, require, require_choice
from divulge.games.attribute import findings
from divulge.games.attribute.compared import ValueAttack, compared
from divulge.games.attribute.read import Records, read_records
from divulge.games.public import provenance, public
from divulge.proof.prove import prove
from divulge.proof.rule import DELTAS, Rule
from divulge.result import Result
from divulge.result.shared import Compared
from divulge.shift import students, value_prior
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index, Progress
from divulge.work.threads import single

REPEATS = 20
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
    protected: str | None = None,
    bins: int | None = None,
    target: str = "p_",
    proxy: str = "q_",
    model: Any = None,
    proxy_model: Any = None,
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

    ``data`` holds training records: the ``label`` (or the ``protected`` column, numeric ones in
    ``bins``), and the probabilities of target and proxy as columns ``p_<class>`` and
    ``q_<class>``; or give ``model`` and ``proxy_model``, which are Sources, fitted objects,
    callables that return probabilities or places as text, and the features they read. For a
    protected column that the model reads, the model is asked with every value.
    Without a proxy divulge fits one, on the held-out records or on the half that is not audited.
    ``features`` are what the record shows besides. ``heldout`` are records outside the training
    set, with the same columns, on which the correction of the proxy is then fitted.

    ``attack`` is ``llr`` (log-likelihood ratio) or ``published``, with ``power``; ``repeats`` is
    the number of replays of the coin flips. The proxy's error is corrected unless it is stated
    to be exact (``proxy_exact``) or bounded in total variation (``tau``). The headline bounds hold
    together with confidence ``1 - error``.
    """
    require_choice("attack", attack, SCORES)
    rule = Rule(tuple(deltas), error, repetitions=repeats, tau=tau).checked()
    require(not (proxy_exact and tau), "A proxy is exact, or has a tau; not both.")
    require(0.0 <= power < np.inf, f"The power t must be at least 0 and finite. Found {power!r}.")
    records = read_records(
        data,
        label=label,
        protected=protected,
        bins=bins,
        target=target,
        proxy=proxy,
        features=features,
        model=model,
        proxy_model=proxy_model,
        heldout=heldout,
    )
    require(
        records.log_proxy is not None or (tau is None and not proxy_exact),
        f"There is no proxy to treat as exact: give columns {proxy}<class> or a proxy model.",
    )
    with rows_named(records.rows if records.rows is not None else np.arange(records.training)):
        return audit_records(
            records,
            rule,
            ValueAttack(attack, power),
            proxy_exact=proxy_exact,
            seed=seed,
            command=command,
            progress=progress,
        )


@single
def audit_records(
    records: Records,
    rule: Rule = DEFAULT,
    attack: ValueAttack = ATTACK,
    *,
    proxy_exact: bool = False,
    seed: int = 0,
    command: str | None = None,
    progress: Progress | None = None,
    compare: bool = True,
) -> Result:
    """Correct the proxy, play the game, and state what is proved."""
    rng = np.random.default_rng(seed)
    context = findings.ValueContext(
        records=records,
        attack=attack,
        rule=rule,
        provenance=provenance(command, seed, records.inputs, records.model),
    )
    try:
        ready = _prepare(records, rule, proxy_exact, rng, progress)
    except CannotConclude as reason:
        return findings.no_conclusion(context, str(reason))
    codes = records.codes[: records.training]
    log_target, log_proxy, priors = ready.log_target, ready.log_proxy, ready.priors
    trusted = value_prior.vouched(priors.log_proxy, priors.proxy, priors.head, priors.tail)
    corrected = None
    if not proxy_exact and rule.tau is None:
        corrected = prove(attack.trials(codes, log_target, priors), rule, rng, progress)
    plain = prove(attack.trials(codes, log_target, trusted), rule, rng, progress)
    proofs = findings.Proofs(plain, corrected)
    others: list[Compared] = []
    if compare and rule.tau is None:
        others = compared(records, log_target, log_proxy, proofs.headline, attack, rng, progress)
    return findings.result(context, proofs, log_target, log_proxy, others)


@dataclass(frozen=True)
class _Prepared:
    """Log-probabilities of target and proxy, and what the record gives away."""

    log_target: Array = field(repr=False)
    log_proxy: Array = field(repr=False)
    priors: value_prior.Priors


def _prepare(
    records: Records,
    rule: Rule,
    exact: bool,
    rng: np.random.Generator,
    progress: Progress | None,
) -> _Prepared:
    training, outside = records.training, records.outside
    trusted = exact or rule.tau is not None
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
