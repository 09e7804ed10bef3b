"""Whole membership audits of hostile tables, everything estimated: nothing leaks in any of them.

The table goes the way of a user's: columns by name, encoded, drawn, audited. A claim counts if a
headline rests on it; "cannot conclude" claims nothing. What a model learned of its population no
learner of this size finds in the features: there only a control comparable to the target helps, so
those rows have one. With a control no finding among all kinds may be called robust.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from divulge.data.features import Features
from divulge.games.membership.lessons import Wishes
from divulge.games.membership.play import Pools, audit_pools, membership, read_pools
from divulge.mechanisms import Shifted
from divulge.proof.controls import Controls
from divulge.proof.prepared import Prepared
from divulge.proof.robustness import Evidence, requirements
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.result.of_helpers import Adjusted, LadderRecord
from divulge.selftest.case import Case, Check
from divulge.selftest.coded_tables import CODED, HIDDEN
from divulge.selftest.fresh_tables import FRESH
from divulge.selftest.hostile_tables import FEW, KINDS, OTHERS, UNSEEN
from divulge.shift.benchmark import LeftOut

ALL = {**KINDS, **UNSEEN, **FRESH, **CODED}
WITH_HIDDEN = {**ALL, **HIDDEN, **FEW}
ROWS, FEW_ROWS = 4000, 1000
SHARE = 0.1
"""Two hundred games in the full form."""
QUICK = ("300 prototypes",)
WITH_CONTROL = ("population, 60,000 others", "population, waves", "population, parity")
"""Kinds that nothing but a control finds out."""
_ROBUST_GAMES = 3


def audit(
    kind: str,
    rows: int,
    error: float,
    rng: np.random.Generator,
    *,
    control: bool,
    brief: bool = False,
) -> Result:
    """One audit of a table of this kind; ``brief`` if nothing but its claims is looked at."""
    drawn = WITH_HIDDEN[kind](rows, rng)
    columns = {**drawn.columns, "member": drawn.truth > 0.0, "score": drawn.score}
    taught = OTHERS if control else None  # a true word: the two are twins
    if control:
        columns["control"] = drawn.control
    seed = int(rng.integers(2**31))
    pools = read_pools(
        columns,
        members=None,
        nonmembers=None,
        truth="member",
        score="score",
        model=None,
        label=None,
        propensity=None,
        lower_is_member=False,
        features=list(drawn.columns),
        reference_score="control" if control else None,
        wanted=Wishes(training_size=taught, reference_size=taught),
        seed=seed,
    )
    return audit_pools(pools, Rule((), error, ("balanced", "prior"), brief=brief), seed=seed)


@dataclass(frozen=True)
class Hostile:
    """The largest headline bound of an audit."""

    kind: str
    rows: int = ROWS

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        control = self.kind in WITH_CONTROL or self.kind in FEW
        result = audit(self.kind, self.rows, error, rng, control=control, brief=True)
        return max((b.value for b in result.headline()), default=0.0)


@dataclass(frozen=True)
class CalledRobust:
    """How many audits with a comparable control end in a robust finding, a few of every kind."""

    kinds: tuple[str, ...]

    def __call__(self, error: float) -> float:
        found = 0
        for place, kind in enumerate(self.kinds):
            for rng in np.random.default_rng(place).spawn(_ROBUST_GAMES):
                found += audit(kind, ROWS, error, rng, control=True).verdict.robust
        return float(found)


@dataclass(frozen=True)
class Needed:
    """Whether a finding that lacks one thing is called robust all the same."""

    evidence: Evidence

    def __call__(self, error: float) -> float:
        return float(all(r.holds for r in requirements(self.evidence)))


def _lacking() -> Iterator[tuple[str, Evidence]]:
    one, first = np.ones(1), np.zeros(1, dtype=np.intp)
    prepared = Prepared(one, one, one, one, 0.0, first, 1, one, one, trim=1.5, c_lb=0.0)
    control = Controls(reference=0.0, likeness=0.9, sizes=(1000, 1000), as_given=0.6, apart=0.0)
    whole = Evidence(prepared, 4.0, control, (), (LeftOut("a", 2.0),))
    yield "no control", replace(whole, around=Controls())
    yield "a control of unknown training", replace(whole, around=replace(control, sizes=None))
    yield "a control that learned less", replace(whole, around=replace(control, sizes=(1000, 500)))
    yield "a control that learned from others", replace(whole, around=replace(control, apart=0.3))
    yield "a control unlike the target", replace(whole, around=replace(control, as_given=0.1))
    left = Adjusted(parameter="epsilon", delta=0.0, bound=0.9, bias_per_doubling=0.1, value=0.8)
    ladder = LadderRecord(
        extrapolable=True, helpers=1000, doublings=1.0, error=0.05, adjusted=(left,)
    )
    yield "helpers of another kind", replace(whole, around=Controls(ladder=ladder))
    yield "folded levels", replace(whole, folded=("some levels",))
    yield "a stronger observed feature", replace(whole, left_out=(LeftOut("a", 5.0),))
    yield "a blind baseline that speaks", replace(whole, prepared=replace(prepared, c_lb=0.1))


def unheard(error: float) -> float:
    """Whether a target is convicted of what a control shows as well, before its allowance."""
    same = Controls(reference=0.0, before=0.3, target_before=0.32, likeness=0.9)
    return float(not same.speaks)


def not_judged(error: float) -> float:
    """Whether a target is convicted though a control could not be judged by the same features."""
    return float(not Controls(unheard="The shift cannot be estimated well enough.").speaks)


def repeated(error: float) -> float:
    """What is proved of a target that only says what a model without the members says."""
    rng = np.random.default_rng(0)
    drawn = FEW["the same, more of it"](FEW_ROWS, rng)
    alike = drawn.score + 0.05 * rng.standard_normal(drawn.score.size)
    columns = {**drawn.columns, "member": drawn.truth > 0.0, "score": drawn.score}
    result = membership(
        {**columns, "control": alike},
        score="score",
        lower_is_member=False,
        features=list(drawn.columns),
        reference_score="control",
        corrections=("balanced", "prior"),
        deltas=(),
        error=error,
    )
    return max(b.value for b in result.bounds)


def brief_beside_control(error: float) -> float:
    """In how many audits a brief one hears another control than the whole one, or claims more."""
    different = 0
    for seed in (6, 11):
        rng = np.random.default_rng(seed)
        drawn = Shifted("linear", 1.0, mu=3.0).sample(700, rng)
        names = tuple(f"x_{j}" for j in range(drawn.features.shape[1]))
        pools = Pools(
            truth=drawn.truth,
            score=drawn.score[:, None],
            features=Features(drawn.features, names),
            reference=0.5 * drawn.score + rng.standard_normal(drawn.score.size),
            propensity=None,
            score_names=("score",),
            inputs=(),
        )
        whole, brief = (
            audit_pools(pools, Rule((), error, ("balanced", "prior"), brief=b), seed=seed)
            for b in (False, True)
        )
        heard = whole.diagnostics.negative_control, brief.diagnostics.negative_control
        different += heard[0] != heard[1] or whole.headline() != brief.headline()
    return float(different)


def cases() -> Iterator[Case | Check]:
    """One row for each kind, and one that no finding among them is robust."""
    yield Check(
        "hostile, bound beside a control that says the same",
        "epsilon",
        None,
        "null, a hidden thing known to both",
        f"estimated, {FEW_ROWS} rows",
        repeated,
        quantity="proved, headline or not",
        limit=0.0,
        quick=False,
    )
    yield Check(
        "hostile, leak with a control that shows the same",
        "leak",
        None,
        "null",
        "before any allowance",
        unheard,
        quantity="called a leak",
        limit=0.0,
    )
    yield Check(
        "hostile, leak with a control that cannot be judged",
        "leak",
        None,
        "null",
        "too much shift for it",
        not_judged,
        quantity="called a leak",
        limit=0.0,
    )
    yield Check(
        "hostile, brief audit beside a control",
        "headline",
        None,
        "mu=3, linear shift sd 1",
        "estimated, 700 rows",
        brief_beside_control,
        quantity="other than the whole audit",
        limit=0.0,
    )
    for kind in (*ALL, *FEW):
        rows = FEW_ROWS if kind in FEW else ROWS
        control = kind in WITH_CONTROL or kind in FEW
        yield Case(
            bound="hostile, membership headline",
            parameter="headline",
            delta=None,
            mechanism=f"null, {kind}",
            setting=f"estimated, {rows} rows" + (", control" if control else ""),
            play=Hostile(kind, rows),
            truth=0.0,
            quick=kind in QUICK,
            share=SHARE,
        )
    for lacking, evidence in _lacking():
        yield Check(
            f"hostile, robust with {lacking}",
            "robust",
            None,
            "null",
            "the checklist",
            Needed(evidence),
            quantity="called robust",
            limit=0.0,
        )
    yield Check(
        "hostile, membership robust",
        "robust",
        None,
        "null, every kind",
        f"with a control, {_ROBUST_GAMES} audits each",
        CalledRobust(tuple(WITH_HIDDEN)),
        quantity="false findings called robust",
        limit=0.0,
        quick=False,
    )
