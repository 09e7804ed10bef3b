"""Games with generated records: closeness and epsilon known, and whole audits one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.bounds import closeness
from divulge.games.synthetic import play
from divulge.games.synthetic.answers import Work
from divulge.games.synthetic.prepare import Material
from divulge.games.synthetic.seen import Seen
from divulge.mechanisms import KnownGenerator, Shifted
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.trials import Trials

TRIALS, FEW = 1000, 50
ROWS = 3000
"""Rows of a whole audit, real and generated together."""
WHOLE_SHARE = 0.1


@dataclass(frozen=True)
class RecallPlay:
    """One test of PANORAMIA with the best possible baseline or attack."""

    generator: KnownGenerator
    trials: int
    rule: str
    attack: bool

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        shown = self.generator.sample(self.trials, rng)
        g, d = self.generator.gamma, self.generator.delta
        mass = g + d - g * d if self.attack else g
        return closeness.recall_bounds(
            shown.attack if self.attack else shown.baseline,
            shown.truth,
            error=error,
            rule=self.rule,
            failures=2.0 * self.trials * mass,
            rng=rng,
        ).value


@dataclass(frozen=True)
class BothKinds:
    """Members and non-members guessed by one score, where the record gives nothing away (O(1))."""

    generator: KnownGenerator
    trials: int

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        shown = self.generator.sample(self.trials, rng)
        return closeness.two_thresholds(shown.attack, shown.truth, error=error, rng=rng).value


@dataclass(frozen=True)
class OneByOne:
    """The same trials with the best baseline as prior: a bet, or balanced counts."""

    generator: KnownGenerator
    trials: int

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        shown = self.generator.sample(self.trials, rng)
        trials = Trials(shown.attack, shown.truth, shown.baseline)
        proof = prove(trials, Rule((), 2.0 * error, ("balanced", "prior")), rng)
        return by_name(proof.bounds, correction=True)


@dataclass(frozen=True)
class Whole:
    """A whole audit of a table whose generated records differ from the real ones."""

    table: Shifted

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        drawn = self.table.sample(ROWS, rng)
        material = Material(
            seen=Seen(drawn.features, np.zeros((ROWS, 0)), -drawn.score[:, None]),
            names=tuple(f"x_{j}" for j in range(drawn.features.shape[1])),
            real=np.flatnonzero(drawn.truth > 0.0),
            generated=np.flatnonzero(drawn.truth < 0.0),
            outside=np.zeros(0, dtype=np.intp),
            copies=0,
            twins=0.0,
            odd=(),
            taught=0,
            helper="given",
            generator="given",
        )
        work = Work({}, seed=int(rng.integers(2**31)))
        result = play.play(material, error=2.0 * error, work=work)
        return by_name(result.headline())


def cases() -> Iterator[Case]:
    """Both rules, with and without a leak, with and without failures; then whole audits."""
    pure = [KnownGenerator(c, e) for c in (0.0, 1.0, 3.0) for e in (0.0, 1.0)]
    loose = [KnownGenerator(1.0, 1.0, g, d) for g, d in ((1e-6, 0.0), (1e-6, 1e-6), (0.002, 0.001))]
    for generator in (*pure, *loose):
        for rule in closeness.RULES:
            for trials in (TRIALS, FEW):
                quick = trials == TRIALS and rule == "grid"
                yield _recall(generator, trials, rule, False, quick and generator.epsilon > 0.0)
                yield _recall(generator, trials, rule, True, quick and generator.epsilon > 0.0)
    for generator in pure[:2]:
        for trials in (TRIALS, FEW):
            yield Case(
                bound="closeness, both kinds of guesses",
                parameter="epsilon",
                delta=0.0,
                mechanism=generator.name,
                setting=f"m={trials}",
                play=BothKinds(generator, trials),
                truth=generator.epsilon,
                quick=trials == TRIALS,
            )
    for generator in pure:
        for correction in ("balanced", "prior"):
            yield Case(
                bound=f"synthetic epsilon, {correction}",
                parameter="epsilon",
                delta=0.0,
                mechanism=generator.name,
                setting=f"m={TRIALS}, prior known",
                play=Reading(OneByOne(generator, TRIALS), (correction, "epsilon", 0.0)),
                truth=generator.epsilon,
                quick=generator.c == 1.0,
            )
    tables = [Shifted(kind) for kind in ("none", "linear", "variance", "interaction", "heavy tail")]
    for table in (*tables, Shifted("linear", mu=1.0)):
        for parameter in ("mu", "epsilon"):
            delta = None if parameter == "mu" else 0.0
            yield Case(
                bound=f"synthetic {parameter}, whole audit",
                parameter=parameter,
                delta=delta,
                mechanism=table.name,
                setting=f"{ROWS} rows",
                play=Reading(Whole(table), (parameter, delta)),
                truth=table.curve.mu() if parameter == "mu" else table.curve.epsilon(0.0),
                share=WHOLE_SHARE,
            )


def _recall(generator: KnownGenerator, trials: int, rule: str, attack: bool, quick: bool) -> Case:
    what = "c + epsilon" if attack else "c"
    return Case(
        bound=f"closeness, {what}, {rule}",
        parameter=what,
        delta=None,
        mechanism=generator.name,
        setting=f"m={trials}",
        play=RecallPlay(generator, trials, rule, attack),
        truth=generator.c + (generator.epsilon if attack else 0.0),
        quick=quick,
    )
