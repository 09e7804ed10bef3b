"""Games in which nothing leaks, for verdicts that rest on more than a bound.

The draw of the trials, ties, unequal pools, the plan of a canary audit from its data to its result,
what a blind baseline proves and what an audit deducts: whoever tells the truths from anything but
the model must find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from divulge.bounds import betting, guessing
from divulge.data.features import Features
from divulge.games import canaries
from divulge.games.canaries import choosing, planning
from divulge.games.membership.play import Pools, audit_pools
from divulge.mechanisms import Shifted
from divulge.proof import draw
from divulge.proof.adjust import LEARNED_SHARE, TRIM
from divulge.proof.rule import Rule
from divulge.selftest.case import Case, Check
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.shift import robust

POOL = 600
CANARIES, RECORDS = 200, 400
ESTIMATED_SHARE = 0.1


@dataclass(frozen=True)
class Counting:
    """A bettor who counts the members seen so far, as if their number had been fixed."""

    members: int
    nonmembers: int

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        pools = np.concatenate([np.ones(self.members), -np.ones(self.nonmembers)])
        drawn = draw.draw(pools, rng)
        size = len(drawn)
        expected = round(drawn.coin * size)
        seen = np.concatenate([[0], np.cumsum(drawn.truth > 0)[:-1]])
        q = np.clip((expected - seen) / (size - np.arange(size)), 0.01, 0.99)
        found = betting.bet_given(q, drawn.truth, drawn.log_odds, error=error)
        return float(found.leak)


@dataclass(frozen=True)
class Unequal:
    """A score that is noise, members and non-members in unequal number, no features."""

    members: int
    nonmembers: int

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        truth = np.concatenate([np.ones(self.members), -np.ones(self.nonmembers)])
        pools = Pools(
            truth=truth,
            score=rng.standard_normal((truth.size, 1)),
            features=Features(np.zeros((truth.size, 0)), ()),
            reference=None,
            propensity=None,
            score_names=("noise",),
            inputs=(),
        )
        result = audit_pools(
            pools,
            Rule((), 2.0 * error, ("balanced", "prior")),
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())


@dataclass(frozen=True)
class Sorted:
    """Members come first, and all scores are the same: the order of the rows must not help."""

    trials: int
    guesses: int

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        members = int(rng.binomial(self.trials, 0.5))
        truth = np.where(np.arange(self.trials) < members, 1.0, -1.0)
        guess = guessing.top_guesses(np.ones(self.trials), self.guesses, rng)
        return guessing.Target(0.0).bound(guessing.count_correct(guess, truth), error)


@dataclass(frozen=True)
class FromPlan:
    """A plan, its canaries, and a scorer who knows the table of canaries but no model.

    ``recomputes``: the scorer also plans another data set with the same seed.
    """

    recomputes: bool = False

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        seed = int(rng.integers(2**31))
        data, other = ({"x": rng.standard_normal(RECORDS)} for _ in range(2))
        made = choosing.choose(data, count=CANARIES, strategy="random", seed=seed)
        shown = made.canaries(data)
        rows = np.array(shown[planning.ROW].to_list())
        scores = {
            planning.ROW: rows,
            "position": np.arange(float(CANARIES)),
            "noise": rng.standard_normal(CANARIES),
        }
        if self.recomputes:
            again = choosing.choose(other, count=CANARIES, strategy="random", seed=seed)
            scores["position"] = again.truth + 0.01 * rng.standard_normal(CANARIES)
        shuffled = rng.permutation(CANARIES)  # the table of scores may come in any order
        result = canaries.audit(
            made,
            {name: column[shuffled] for name, column in scores.items()},
            score=[name for name in scores if name != planning.ROW],
            lower_is_member=False,
            error=2.0 * error,
            deltas=(),
            seed=seed,
        )
        return by_name(result.headline())


def same_coins(error: float) -> float:
    """How often two plans of the same data agree beyond chance, neither given a seed."""
    data = {"x": np.arange(float(RECORDS))}
    first, second = (choosing.choose(data, count=RECORDS, strategy="random") for _ in range(2))
    coins = [dict(zip(p.rows, p.included, strict=True)) for p in (first, second)]
    same = np.mean([coins[0][row] == coins[1][row] for row in range(RECORDS)])
    return float(abs(same - 0.5))


@dataclass(frozen=True)
class FittedShift:
    """Shift that has to be estimated: what the blind baseline proves, or what the audit claims."""

    table: Shifted
    rows: int
    what: str
    """``c_lb``, or ``headline``: any of its bounds."""

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        drawn = self.table.sample(self.rows, rng)
        if self.what == "c_lb":  # also of audits that then cannot conclude
            found = robust.fit(
                drawn.score,
                drawn.truth,
                drawn.features,
                rng.permutation(self.rows),
                round(LEARNED_SHARE * self.rows),
                trim=TRIM,
                coin=0.0,
                error=error,
                rng=rng,
            )
            return found.c_lb or 0.0
        pools = Pools(
            truth=drawn.truth,
            score=drawn.score[:, None],
            features=Features(drawn.features, tuple(f"x_{j}" for j in range(self.table.columns))),
            reference=None,
            propensity=None,
            score_names=("score",),
            inputs=(),
        )
        result = audit_pools(
            pools,
            Rule((), error, ("balanced", "prior")),
            seed=int(rng.integers(2**31)),
        )
        return max((b.value for b in result.headline()), default=0.0)


@dataclass(frozen=True)
class Hidden:
    """The groups differ in what no feature shows, and a model that saw no member shows it, too."""

    rows: int

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        truth = np.where(np.arange(self.rows) % 2 == 0, 1.0, -1.0)
        hidden = 0.5 * truth + rng.standard_normal(self.rows)
        scores = [hidden + 0.5 * rng.standard_normal(self.rows) for _ in range(2)]
        pools = Pools(
            truth=truth,
            score=scores[0][:, None],
            features=Features(np.zeros((self.rows, 0)), ()),
            reference=scores[1],
            propensity=None,
            score_names=("score",),
            inputs=(),
        )
        result = audit_pools(
            pools,
            Rule((), error, ("balanced", "prior")),
            seed=int(rng.integers(2**31)),
        )
        return max((b.value for b in result.headline()), default=0.0)


def cases() -> Iterator[Case | Check]:
    """One null for each of these verdicts."""
    for members, nonmembers in ((POOL, POOL), (3 * POOL // 2, POOL // 2)):
        yield _null(
            "draw, counting bettor",
            "epsilon",
            f"pools of {members} and {nonmembers}",
            Counting(members, nonmembers),
        )
    for parameter, key in (("mu", ("mu", None)), ("epsilon", ("epsilon", 0.0))):
        yield _null(
            f"membership {parameter}, unequal pools",
            parameter,
            "noise, 700 members, 300 others",
            Reading(Unequal(700, 300), key),
        )
        yield _null(
            f"canaries {parameter}, from plan to result",
            parameter,
            f"noise and position, {CANARIES} canaries",
            Reading(FromPlan(), key),
        )
    yield _null(
        "canaries epsilon, plan's coins",
        "epsilon",
        "the same seed for other data",
        Reading(FromPlan(recomputes=True), ("epsilon", 0.0)),
    )
    yield Check(
        "canaries, plan's coins",
        "coins",
        None,
        "no seed given",
        "two plans of the same data",
        same_coins,
        quantity="agreement beyond chance",
        limit=0.15,
    )
    yield _null(
        "membership, negative control",
        "headline",
        "a shift that no feature shows, 600 rows",
        Hidden(600),
        share=ESTIMATED_SHARE,
    )
    yield _null(
        "membership, allowance",
        "headline",
        "estimated, 1200 rows",
        FittedShift(Shifted("cluster", columns=30), 1200, "headline"),
        share=ESTIMATED_SHARE,
        mechanism=Shifted("cluster", columns=30).name,
    )
    yield _null(
        "blind baseline, c_lb",
        "c_lb",
        "estimated, 600 rows",
        FittedShift(Shifted("none"), 600, "c_lb"),
        share=ESTIMATED_SHARE,
        mechanism=Shifted("none").name,
    )
    yield _null("guesses, sorted rows", "epsilon", "all scores tied, m=100", Sorted(100, 20))


def _null(
    bound: str,
    parameter: str,
    setting: str,
    play: Callable[[float, np.random.Generator], float],
    share: float = 1.0,
    mechanism: str = "null",
) -> Case:
    delta = 0.0 if parameter == "epsilon" else None
    return Case(bound, parameter, delta, mechanism, setting, play, 0.0, quick=True, share=share)
