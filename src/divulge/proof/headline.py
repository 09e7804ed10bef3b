"""One parameter named beforehand: it gets the whole error, and the verdict rests on it alone.

Named are mu, epsilon (at delta 0) or epsilon at a delta, before a truth is looked at. By which test
it is bounded follows from what is known of the trials, their number and the delta alone:

- *mu*: the recursion, on its own number of guesses.
- *epsilon*, also at a delta, if the coin is all that is known of the trials, their number times
  delta is at most ``weighted.MOST``, and as many learned trials as it takes are expected to be left
  by the thinning of a loaded coin: weighted guesses.
- *epsilon at a larger delta*, or where trials have priors of their own: the recursion on a count of
  its own, the choice of its number paid for (``bounds/choice.py``); nothing else is proved by that
  count, so no other delta stands beside it. The number is the best for mu among those that are fair
  to this epsilon: the best for epsilon itself relies on the few trials of largest evidence, which
  is the luckiest.
- *epsilon at delta 0* where trials have priors of their own, or too few of a loaded coin are left:
  the bet; of few trials of a coin that is nearly fair: the binomial tail of counted guesses, where
  the choice of their number costs nothing.
- *under independent scores* (``independent:mu``, ``independent:epsilon@1e-5``):
  ``bounds/independent.py``, with its assumption; where failures are many, the tests above prove
  more without it, and the bound does not mention it.

Everything else is stated as ever, each line on its own at its own confidence, and is no headline.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from divulge.bounds import guessing, independent, learning, weighted
from divulge.bounds.betting import BettingResult
from divulge.bounds.guessing import Counts
from divulge.proof import corrections, stated
from divulge.proof.corrections import INDEPENDENT, MOST_LEARNED, Proof
from divulge.proof.prepared import Prepared
from divulge.proof.rule import Named, Rule
from divulge.result import Bound
from divulge.types import Array, Places, slices

WEIGHTED = "weighted guesses"
WHOLE_BET = "betting, whole error"
WEIGHTED_THEOREM = (
    "Neyman-Pearson weights, exact tail under epsilon-DP; at delta the reduction to epsilon-DP "
    "but for a few truths"
)
ALONE = "independent scores"
ALONE_THEOREMS = {
    "mu": "Clopper-Pearson limits of right and wrong guesses (Hoeffding 1956), against G_mu",
    "epsilon": f"{WEIGHTED_THEOREM}, which fail independently",
}
_LEAST_LEARNED = 20


def with_headline(proof: Proof, rule: Rule, rng: np.random.Generator) -> Proof:
    """The proof with the named bound as its only headline, in place of its like."""
    named = rule.headline
    assert named is not None
    test = _test(proof, named, rule.error, rng)
    bound = test.bound
    others = tuple(replace(b, headline=False) for b in proof.bounds if _key(b) != _key(bound))
    placed = proof.bet
    if test.bet is not None:  # its wealth is shown; the e-values are for the other line of several
        placed = replace(test.bet, e_values=None if placed is None else placed.e_values)
    bounds = (bound, *others)
    return replace(proof, bounds=bounds, counts=test.counts, bet=placed, ranked=None)


@dataclass(frozen=True)
class _Test:
    """The named bound, and what it was proved by: guesses or bets."""

    bound: Bound
    counts: Counts | None = None
    bet: BettingResult | None = None


def _key(bound: Bound) -> tuple[str, float | None, str, str]:
    return bound.parameter, bound.delta, bound.correction, bound.method


def _test(proof: Proof, named: Named, error: float, rng: np.random.Generator) -> _Test:
    prepared, kept = proof.prepared, proof.kept
    words: tuple[str, ...] = (INDEPENDENT, prepared.assumption)
    delta = named.delta

    def counted(value: float, less: float) -> Bound:
        left = max(0.0, value - less)
        return stated.bound(named.parameter, delta, left, error, "balanced", words, headline=True)

    less = prepared.allowance_mu if named.parameter == "mu" else prepared.allowance
    if named.independent and (delta or 0.0) * prepared.order.size <= independent.MOST:
        words = (*words, independent.ASSUMPTION)
        value, counts = _alone(prepared, kept, delta, error)
        theorem = ALONE_THEOREMS[named.parameter]
        bound = replace(counted(value, less), method=ALONE, theorem=theorem, standing="estimated")
        return _Test(bound, counts)
    if delta is not None and _weighs(prepared, delta):
        value, counts = _weighted(prepared, kept, delta, error)
        bound = replace(counted(value, less), method=WEIGHTED, theorem=WEIGHTED_THEOREM)
        return _Test(bound, counts)
    if delta == 0.0 and not (prepared.only_coin and _kept(prepared) >= 0.5):
        placed = corrections.bet(prepared, error, rng)
        bound = replace(corrections.from_bet(prepared, placed, error), method=WHOLE_BET)
        return _Test(bound, bet=placed)
    deltas = () if delta is None else (delta,)
    ranked = proof.ranked  # learned already, for another error
    if ranked is None:
        ranked = corrections.rank(prepared, kept, prepared.score, error, deltas, trimmed=True)
    else:
        ranked = corrections.numbered(ranked, error, deltas)
    counts = corrections.count(prepared, ranked, rng)
    return _Test(counted(guessing.Target(delta).bound(counts, error), less), counts)


def _weighs(prepared: Prepared, delta: float) -> bool:
    """Whether weighted guesses are the test, by the number of trials, the coin and delta alone."""
    trials = prepared.order.size
    enough = weighted.learned(trials) * _kept(prepared) >= 2.0 * _LEAST_LEARNED
    return prepared.only_coin and enough and trials * delta <= weighted.MOST


def _kept(prepared: Prepared) -> float:
    """The share of trials that thinning with the coin's own log-odds leaves."""
    return 2.0 * float(expit(-abs(prepared.coin)))


class _Learned:
    """Kept trials split once more: what a score is worth takes more to learn than one number."""

    def __init__(self, prepared: Prepared, kept: Places) -> None:
        more = prepared.learned
        if prepared.trim is None:
            more = max(more, weighted.learned(prepared.order.size))
        head, self.tail = corrections.split(replace(prepared, learned=more), kept, trimmed=True)
        self.head = head[:MOST_LEARNED]
        self.truth = prepared.truth[self.head]
        both = (self.truth > 0).any() and (self.truth < 0).any()
        self.sound = bool(both) and self.head.size >= _LEAST_LEARNED and self.tail.size > 0
        if self.sound:
            x = prepared.score[self.head, None].astype(float)
            self.predict, self.held = learning.stacked_and_held(
                x, self.truth.astype(float), np.zeros(self.head.size)
            )

    def evidence(self, prepared: Prepared, rows: Places) -> Array:
        out = np.empty(rows.size)
        for part in slices(rows.size):
            out[part] = self.predict(prepared.score[rows[part], None].astype(float))
        return out


def _weighted(prepared: Prepared, kept: Places, delta: float, error: float) -> tuple[float, Counts]:
    learned = _Learned(prepared, kept)
    if not learned.sound:
        return 0.0, _no_guess(learned)
    evidence = learned.evidence(prepared, learned.tail)
    target = weighted.choose_target(evidence, delta, error, (learned.held, learned.truth))
    weighed = weighted.weigh(evidence, prepared.truth[learned.tail], target)
    return weighted.epsilon_lower_bound(weighed, delta, error), _guessed(weighed)


def _guessed(weighed: weighted.Weighed) -> Counts:
    return Counts(weighed.trials, weighed.guesses, weighed.correct)


def _no_guess(learned: _Learned) -> Counts:
    return Counts(int(learned.tail.size), 0, 0)


def _alone(
    prepared: Prepared, kept: Places, delta: float | None, error: float
) -> tuple[float, Counts]:
    """Thresholds and shares are chosen on the learned trials; weights may see every score."""
    learned = _Learned(prepared, kept)
    if not learned.sound:
        return 0.0, _no_guess(learned)
    evidence, truth = learned.evidence(prepared, learned.tail), prepared.truth[learned.tail]
    if delta is not None:
        target = weighted.choose_target(evidence, 0.0, error, (learned.held, learned.truth))
        weighed = weighted.weigh(evidence, truth, target)
        return independent.epsilon_lower_bound(weighed, delta, error), _guessed(weighed)
    threshold, share = independent.choose_threshold(learned.held, learned.tail.size, error)
    right, wrong = independent.count(evidence, truth, threshold)
    value = independent.mu_lower_bound(learned.tail.size, right, wrong, error, share)
    return value, Counts(learned.tail.size, right + wrong, right)
