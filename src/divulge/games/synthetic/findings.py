"""From contests to a Result: what PANORAMIA measures, and what the trials prove one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from divulge.bounds import closeness
from divulge.bounds.closeness import Recall
from divulge.games.synthetic import one_by_one
from divulge.games.synthetic.contest import Contest
from divulge.games.synthetic.control import DIRECT_SHARE, FOUND_SHARE, Control
from divulge.games.synthetic.prepare import Material
from divulge.proof import state
from divulge.result import Diagnostics, Result, Verdict, floor_to, of_generated
from divulge.result.shared import Compared, NegativeControl
from divulge.text import rounding
from divulge.types import Progress

POINTS = 200
"""Points of a curve against recall, at most."""
MEANING = (
    "a measurement, not a bound: if the generator is no worse than c_lb, the model cannot be the "
    "output of a mechanism with a smaller epsilon"
)


@dataclass(frozen=True)
class SyntheticSetting:
    """What the user asked for."""

    rule: str
    gamma: float
    deltas: tuple[float, ...]
    error: float


@dataclass(frozen=True)
class SyntheticMeasures:
    """PANORAMIA's two bounds and their difference (002, Corollary 2 and Section 4.2)."""

    baseline: Recall
    attack: Recall

    @property
    def epsilon_tilde(self) -> float:
        """``max(0, {c + eps}_lb - c_lb)``."""
        return max(0.0, self.attack.value - self.baseline.value)

    def numbers(self) -> dict[str, float]:
        """The three figures, rounded down."""
        return {
            "c_lb": floor_to(self.baseline.value, 6),
            "c_plus_epsilon_lb": floor_to(self.attack.value, 6),
            "epsilon_tilde": floor_to(self.epsilon_tilde, 6),
        }


@dataclass(frozen=True)
class Played:
    """All contests of an audit."""

    games: Sequence[Contest]
    """Members against generated records, once per repeat."""
    outside: Contest | None = None
    """Members against real non-members."""
    control: Contest | None = None
    """Real non-members against generated records: nothing can leak there."""


def measure(
    contest: Contest,
    *,
    error: float,
    rule: str,
    gamma: float = 0.0,
    delta: float = 0.0,
    seed: int = 0,
) -> SyntheticMeasures:
    """Half of the error for either test, a union bound over the levels within each."""
    trials = len(contest.drawn)
    failures = (2.0 * trials * gamma, 2.0 * trials * (gamma + delta - gamma * delta))
    found = [
        closeness.recall_bounds(
            score,
            contest.drawn.truth,
            error=error / 2.0,
            rule=rule,
            failures=mean,
            rng=np.random.default_rng([seed, 3]),
        )
        for score, mean in zip((contest.baseline, contest.attack), failures, strict=True)
    ]
    return SyntheticMeasures(found[0], found[1])


def result(
    material: Material,
    played: Played,
    setting: SyntheticSetting,
    *,
    seed: int,
    provenance: dict[str, Any],
    progress: Progress | None = None,
) -> Result:
    """Everything that is stated about the target."""
    games, outside = played.games, played.outside
    first = games[0]
    measured = measure(
        first, error=setting.error, rule=setting.rule, gamma=setting.gamma, seed=seed
    )

    def weigh(contest: Contest, share: float = 1.0) -> Result:
        error = share * setting.error
        return one_by_one.audit(
            material, contest, setting.deltas, error, seed, provenance, progress
        )

    control = None
    beyond = weigh(first, 1.0 if played.control is None else FOUND_SHARE)
    if played.control is not None and outside is not None and beyond.bounds:
        control = Control(weigh(played.control), weigh(outside, DIRECT_SHARE), setting.error)
    verdict, beyond = _judged(beyond, control, measured, material, setting)
    measurements: dict[str, Any] = {**measured.numbers()}
    if outside is not None:
        measurements |= _with_real(material, outside, setting, seed)
    measurements |= {
        ("residual_c_lb" if k == "c_lb" else k): v
        for k, v in beyond.measurements.items()
        if k != "epsilon_tilde"
    }
    if control is not None:
        measurements |= control.numbers()
    train, validation, test = first.sizes
    trials = {
        **beyond.trials,
        "taught_generator": material.taught,
        "training": train,
        "validation": validation,
        "test": test,
    }
    return Result(
        game="synthetic",
        verdict=verdict,
        bounds=beyond.bounds,
        measurements=measurements,
        trials=trials,
        diagnostics=replace(
            _measured(beyond.diagnostics, material, first, measured, setting, seed),
            repeats=_spread(games, setting, seed) if len(games) > 1 else None,
            comparison=None if outside is None else _comparison(measurements, beyond),
            negative_control=None if control is None else _controlled(control),
        ),
        provenance=provenance,
    )


def _measured(
    beyond: Diagnostics,
    material: Material,
    first: Contest,
    measured: SyntheticMeasures,
    setting: SyntheticSetting,
    seed: int,
) -> Diagnostics:
    """What PANORAMIA measures, by other rules too, beside what was weighed one by one."""

    def figures(rule: str, gamma: float = 0.0, delta: float = 0.0) -> dict[str, float]:
        found = measure(first, error=setting.error, rule=rule, gamma=gamma, delta=delta, seed=seed)
        return found.numbers()

    return replace(
        beyond,
        duplicates=None,
        recall=_curves(first, setting.error, seed),
        measurement=of_generated.Measurement(
            meaning=MEANING, rule=setting.rule, gamma=setting.gamma, **measured.numbers()
        ),
        rules=tuple(
            of_generated.RuleRecord(rule=rule, **figures(rule, setting.gamma))
            for rule in closeness.RULES
        ),
        relaxed=tuple(
            of_generated.Relaxed(
                gamma=setting.gamma, delta=delta, **figures(setting.rule, setting.gamma, delta)
            )
            for delta in setting.deltas
        ),
        models=of_generated.Guessers(
            generator=material.generator,
            helper=material.helper,
            baseline=first.chosen[0],
            attack=first.chosen[1],
        ),
        copies=of_generated.Copies(
            generated_equal_to_a_member=material.copies,
            members_equal_to_another_member=material.twins,
        ),
        odd=tuple(of_generated.Odd(remark=remark) for remark in material.odd) or None,
    )


def _controlled(control: Control) -> NegativeControl:
    return NegativeControl(
        status=control.control.verdict.status,
        direct_status=control.direct.verdict.status,
        **control.numbers(),
    )


def _judged(
    beyond: Result,
    control: Control | None,
    measured: SyntheticMeasures,
    material: Material,
    setting: SyntheticSetting,
) -> tuple[Verdict, Result]:
    """The verdict, and the bounds it rests on: what is left once real non-members have spoken."""
    sure = rounding.confidence(setting.error)
    status, sentence = beyond.verdict.status, beyond.verdict.sentence
    reasons, refusal = list(beyond.verdict.reasons), None
    finding = status == "leak" or (status == "no evidence" and bool(control and control.confirms))
    if finding and control is not None:
        refusal = control.refusal()
        reasons = [r for r in reasons if r != _weak(beyond)]
        beyond = one_by_one.without_headline(beyond) if refusal else control.less_sight(beyond)
        reasons += [r for r in (_weak(beyond),) if r and not refusal]
    if refusal is not None:
        status, sentence = "cannot conclude", f"Nothing can be concluded: {refusal}"
    elif finding:
        leaking = [b for b in beyond.headline() if floor_to(b.value, 3) > 0.0]
        status, sentence = (
            "leak",
            (
                "The model knows its members beyond what baseline and helpers could learn of the "
                f"population: with {sure} confidence, {state.findings_in_words(leaking)}."
            ),
        )
    elif status == "no evidence":
        sentence = state.nothing_proved(setting.error)
    if finding:
        reasons += _doubts(control, material)
    numbers = {k: rounding.at_least(v) for k, v in measured.numbers().items()}
    sentence += (
        f" PANORAMIA measures epsilon~ = {numbers['epsilon_tilde']} "
        f"({numbers['c_plus_epsilon_lb']} with the model, {numbers['c_lb']} without it, at "
        f"{sure}): a measurement, not a bound, that holds if the generator is no worse than that"
        f"{_but_for(setting.gamma)}."
    )
    return Verdict(status, status == "leak" and not reasons, sentence, tuple(reasons)), beyond


def _but_for(gamma: float) -> str:
    """What the generator is excused from (002, Definition 4)."""
    return "" if gamma == 0.0 else f" but for a mass of gamma = {gamma:g} of the data"


def _weak(beyond: Result) -> str | None:
    return state.weak_odds(float(beyond.measurements.get("gamma_star", 1.0)))


def _doubts(control: Control | None, material: Material) -> list[str]:
    """Why a finding of this game may be knowledge of the population instead of memory."""
    out = []
    if control is None:
        out.append(
            "A model that knows the population better than the generator and the helpers would "
            "look the same; real non-members (--nonmembers) would tell the two apart."
        )
    elif control.speaks:
        out.append(
            "Real non-members against generated records show an epsilon of "
            f"{rounding.at_least(control.epsilon)}, or a mu, where nothing can leak. That is a "
            "lower bound on the mistake, so it cannot be deducted. `divulge membership` audits "
            "members against real non-members, without a generator."
        )
    elif control.direct.measurements.get("c_lb"):
        out.append(
            "Members and real non-members differ by more than their columns explain: a blind "
            "baseline, which does not see the model, tells them apart."
        )
    if material.helper == "none":
        out.append(
            "The baseline had no helper: its loss feature is missing, so c_lb may be too small and "
            "epsilon~ too large."
        )
    if not material.complete:
        out.append(
            "The target may see more of a record than the baseline does (losses came as columns, "
            "a column has too many values, or a text is more than its features), and recognise "
            "generated records where it cannot."
        )
    return out


def _with_real(
    material: Material, outside: Contest, setting: SyntheticSetting, seed: int
) -> dict[str, float]:
    """RM;RN and O(1) of 002, Section 5.2: the same attack, and the loss, on real non-members."""
    rng = np.random.default_rng([seed, 5])
    truth = outside.drawn.truth
    same = closeness.recall_bounds(
        outside.attack, truth, error=setting.error, rule=setting.rule, rng=rng
    )
    loss = -material.seen.target[outside.drawn.rows, 0]
    both = closeness.two_thresholds(loss, truth, error=setting.error, rng=rng)
    blind = closeness.recall_bounds(
        outside.baseline, truth, error=setting.error, rule=setting.rule, rng=rng
    )
    return {
        "real_nonmembers_epsilon": floor_to(same.value, 6),
        "real_nonmembers_c_lb": floor_to(blind.value, 6),
        "one_run_epsilon": floor_to(both.value, 6),
    }


def _comparison(measurements: dict[str, Any], beyond: Result) -> tuple[Compared, ...]:
    proved = max((b.value for b in beyond.headline() if b.delta == 0.0), default=0.0)
    figures = {
        "PANORAMIA (a measurement)": measurements["epsilon_tilde"],
        "generated records, propensity per record, at delta 0": floor_to(proved, 6),
        "members against real non-members, propensity per record": measurements.get(
            "direct_epsilon"
        ),
        "RM;RN: the same attack on real non-members, assuming no shift": measurements[
            "real_nonmembers_epsilon"
        ],
        "O(1): the loss on real non-members, assuming no shift": measurements["one_run_epsilon"],
    }
    known = {name: value for name, value in figures.items() if value is not None}
    return tuple(Compared(attack=name, epsilon=value) for name, value in known.items())


def _curves(contest: Contest, error: float, seed: int) -> of_generated.RecallRecord:
    """Precision, predictions and bound against recall at every level (Figures 3, 4 and 10)."""
    measured = measure(contest, error=error, rule="all", seed=seed)
    return of_generated.RecallRecord(
        baseline=_levels(measured.baseline), attack=_levels(measured.attack)
    )


def _levels(found: Recall) -> of_generated.Guesser:
    at = np.unique(np.geomspace(1, found.guesses.size, POINTS).round().astype(int)) - 1
    return of_generated.Guesser(
        recall=found.recall[at].tolist(),
        precision=found.precision[at].tolist(),
        guesses=found.guesses[at].tolist(),
        lower=found.lower[at].tolist(),
    )


def _spread(games: Sequence[Contest], setting: SyntheticSetting, seed: int) -> of_generated.Repeats:
    """Mean and t-interval over repeats, which is what the paper's tables show."""
    rows = [
        measure(
            g, error=setting.error, rule=setting.rule, gamma=setting.gamma, seed=seed + k
        ).numbers()
        for k, g in enumerate(games)
    ]
    factor = float(student.ppf(0.975, len(rows) - 1))
    spreads = {}
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        half = factor * float(values.std(ddof=1)) / np.sqrt(values.size)
        mean = float(values.mean())
        spreads[name] = of_generated.Spread(
            mean=mean, low=mean - half, high=mean + half, values=values.tolist()
        )
    return of_generated.Repeats(count=len(rows), **spreads)
