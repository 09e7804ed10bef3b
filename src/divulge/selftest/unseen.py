"""Whole membership audits of targets that know more than the features: helpers, documents, texts.

In every row the target saw none of the audited records, so every claim is false; "cannot conclude"
is no claim. *Helpers*: the target learned from many other records of the members' population, the
audit trains helpers and climbs the ladder. *Families*: five near-copies of each record come or stay
away together and are named as documents. *Texts*: the audit makes its own features of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from divulge.bounds.betting import GRID_STEP
from divulge.data.features import Features
from divulge.games.membership import findings
from divulge.games.membership.play import audit_pools, membership
from divulge.games.membership.pools import Pools
from divulge.mechanisms.knowing import Knowing
from divulge.proof.ladder import Raw, upper_limits
from divulge.proof.parts import PARTS, error_of_each
from divulge.proof.rule import Rule
from divulge.result import Bound, Diagnostics, Result, Verdict
from divulge.result.of_helpers import Adjusted, LadderRecord
from divulge.selftest.case import Case, Check
from divulge.selftest.readings import Claims, Reading
from divulge.shift.helper_losses import FEWEST, table_lessons
from divulge.types import Array

HELPED_SHARE, DOCUMENT_SHARE, TEXT_SHARE = 0.05, 0.1, 0.01
HELPED = 1500
FAMILIES, COPIES = 600, 5
STAKE, BETS, GAMES = 0.6, 1000, 60
BET = Bound("epsilon", 0.0, 0.975, "betting", "", (), correction="prior", delta=0.0)
TEXTS, WORDS, VOCABULARY = 600, 40, 300


def claimed(result: Result) -> float:
    """The largest headline bound."""
    return max((b.value for b in result.headline()), default=0.0)


@dataclass(frozen=True)
class HelpedAudit:
    """One audit with helpers of a target that knows the population."""

    population: Knowing
    records: int
    """Members, and as many non-members."""

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        world = self.population.sample(self.records, self.records, rng)
        x, label = _standard(world.x), world.label.astype(float)
        shown = np.column_stack([x, _standard(label[:, None])])
        pools = Pools(
            truth=world.truth,
            score=-world.loss[:, None],
            features=Features(shown, tuple(f"column {j}" for j in range(shown.shape[1]))),
            reference=None,
            propensity=None,
            score_names=("loss",),
            inputs=(),
            lessons=table_lessons(None, x, world.label.tolist(), "boosting"),
            helpers=FEWEST,
            training_size=self.population.target,
        )
        rule = Rule((), error, ("balanced", "prior"))
        result = audit_pools(pools, rule, seed=int(rng.integers(2**31)))
        largest = claimed(result)
        return {"headline": largest, "robust": largest if result.verdict.robust else 0.0}


@dataclass(frozen=True)
class Families:
    """Near-copies that are members together; the score belongs to the family."""

    families: int
    copies: int
    named: bool = True
    """Whether the audit is told which records belong together."""

    def table(self, rng: np.random.Generator) -> dict[str, Array]:
        """Half of the families are members."""
        family = np.repeat(np.arange(self.families), self.copies)
        own = rng.standard_normal(self.families)
        return {
            "member": rng.permutation(np.arange(self.families) % 2)[family],
            "family": family,
            "loss": own[family] + 0.1 * rng.standard_normal(family.size),
        }

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        result = membership(
            self.table(rng),
            document="family" if self.named else None,
            corrections=("balanced", "prior"),
            deltas=(),
            error=error,
            seed=int(rng.integers(2**31)),
        )
        return claimed(result)


@dataclass(frozen=True)
class Texts:
    """Texts of two mixtures of topics, and a score that knows the words of the members' topics."""

    texts: int
    """Members, and as many non-members."""

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        words = np.array([f"w{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(VOCABULARY)])
        topics = rng.dirichlet(np.full(VOCABULARY, 0.1), size=4)
        member = np.repeat([1, 0], self.texts)
        mixture = [rng.dirichlet([2.0, 2.0, 1.0, 1.0], size=self.texts)]
        mixture.append(rng.dirichlet([1.0, 1.0, 2.0, 2.0], size=self.texts))
        shares = np.concatenate(mixture) @ topics
        drawn = np.array([rng.choice(VOCABULARY, WORDS, p=share) for share in shares])
        known = np.log(0.9 * np.array([2.0, 2.0, 1.0, 1.0]) / 6.0 @ topics + 0.1 / VOCABULARY)
        result = membership(
            {
                "member": member,
                "text": [" ".join(words[row]) for row in drawn],
                "loss": -known[drawn].mean(axis=1) + 0.1 * rng.standard_normal(member.size),
            },
            text="text",
            corrections=("balanced", "prior"),
            deltas=(),
            error=error,
            seed=int(rng.integers(2**31)),
        )
        return claimed(result)


def _standard(columns: Array) -> Array:
    return np.asarray((columns - columns.mean(axis=0)) / columns.std(axis=0))


def both_parts(error: float) -> float:
    """Probability that one of two exchanged audits errs, if they never err together."""
    return PARTS * error_of_each(error)


def explained(error: float) -> Array:
    """What is still claimed of a finding that the ladder explains, or of which it cannot tell."""
    left = []
    for extrapolable, adjusted in ((True, 0.0), (True, 0.0004), (False, 0.3)):
        rest = Adjusted(
            parameter="epsilon", delta=0.0, bound=0.4, bias_per_doubling=0.2, value=adjusted
        )
        ladder = LadderRecord(
            extrapolable=extrapolable,
            helpers=1000,
            training_size=4000,
            doublings=2.0,
            error=error,
            adjusted=(rest,),
        )
        leak = Result(
            "membership",
            Verdict("leak", robust=False, sentence="A leak."),
            (replace(BET, value=0.4, headline=True),),
            diagnostics=Diagnostics(ladder=ladder),
        )
        left.append(claimed(findings.beside(leak)))
    return np.array(left)


def missed_bias(error: float) -> Array:
    """How often the ladder's upper limit lies below the bias that the bets tend to.

    Members have log-odds ``bias`` more than the propensities say, and every bet stakes ``STAKE``:
    the mean growth against epsilon is then known, and so is where it ends.
    """
    rng = np.random.default_rng(1)
    out = []
    for bias in (0.1, 0.3):
        p = expit(bias)
        grid = GRID_STEP * np.arange(round(STAKE / GRID_STEP))
        u = expit(grid)
        growth = p * np.log(expit(STAKE) / u) + (1.0 - p) * np.log(expit(-STAKE) / (1.0 - u))
        limit = float(grid[np.argmax(growth <= 0.0)]) if (growth <= 0.0).any() else STAKE
        short = 0
        for _ in range(GAMES):
            raw = [
                [
                    Raw(np.full(BETS, STAKE), truth, np.zeros(BETS), None)
                    for truth in np.where(rng.random((FEWEST, BETS)) < p, 1.0, -1.0)
                ]
                for _ in range(2)
            ]
            short += upper_limits(raw, BET, (), error)[1][1] < limit - 1e-9
        out.append(short / GAMES)
    return np.array(out)


def cases() -> Iterator[Case | Check]:
    """Populations of three kinds, a larger target, families, texts; what can be computed first."""
    yield Check(
        "membership, exchanged parts",
        "error",
        None,
        "two audits",
        "worst dependence",
        both_parts,
        quantity="probability that one of them errs",
        attained=0.999,
    )
    yield Check(
        "membership, upper limit of the ladder",
        "bias",
        None,
        "bets with a known bias",
        f"{BETS} trials, {FEWEST} seeds",
        missed_bias,
        quantity="share of upper limits below the bias",
    )
    yield Check(
        "membership, finding that a ladder explains",
        "epsilon",
        0.0,
        "null",
        "nothing left after it, or not extrapolable",
        explained,
        quantity="still claimed",
        limit=0.0,
    )
    for kind, target in (("trees", 6000), ("trees", 60_000), ("waves", 6000), ("parity", 6000)):
        population = Knowing(kind, target)
        for what in ("headline", "robust"):
            yield _case(
                f"membership, helpers and ladder, {what}",
                population.name,
                f"{HELPED} members, as many others",
                Reading(HelpedAudit(population, HELPED), what),
                HELPED_SHARE,
            )
    yield _case(
        "membership, documents",
        "null (families of near-copies)",
        f"{FAMILIES} families of {COPIES}",
        Families(FAMILIES, COPIES),
        DOCUMENT_SHARE,
    )
    yield _case(
        "membership, texts",
        "null (topics)",
        f"{TEXTS} members, as many others",
        Texts(TEXTS),
        TEXT_SHARE,
    )


def _case(
    bound: str, mechanism: str, setting: str, play: Reading | Families | Texts, share: float
) -> Case:
    return Case(
        bound=bound,
        parameter="headline",
        delta=None,
        mechanism=mechanism,
        setting=setting,
        play=play,
        truth=0.0,
        share=share,
    )
