"""What the proofs take for granted of their parts: conditions that hold exactly or not at all."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri
from scipy.stats import binom, norm

from divulge.bounds import choice, error_rates, guessing, recursion, tangents
from divulge.proof import corrections
from divulge.proof.bootstrap import bootstrap
from divulge.proof.draw import by_design
from divulge.proof.headline import with_headline
from divulge.proof.prepared import Prepared
from divulge.proof.rule import Named, Rule
from divulge.result import floor_to
from divulge.selftest.case import Check
from divulge.shift import conditional
from divulge.shift.balance import keep_probabilities

LOG_ODDS = np.linspace(-4.0, 4.0, 41)


def limits_of_both_errors(error: float) -> list[float]:
    """Clopper-Pearson: the probability that a limit of any row lies below its rate.

    Rates just above what a count allows are the worst; rows are independent.
    """
    out = []
    for rows, n in ((1, 30), (1, 200), (4, 30)):
        counts = np.arange(n + 1)
        limit = np.array(
            [
                error_rates.upper_limits(np.tile([[float(k), n, float(k), n]], (rows, 1)), error)
                for k in counts
            ]
        )[:, 0, :]
        for k in range(1, n, max(1, n // 10)):
            missed = binom.cdf(k, n, limit[k])  # limits rise with the count
            out.append(1.0 - float((1.0 - missed[0]) * (1.0 - missed[1])) ** rows)
    return out


def epsilon_from_errors(error: float) -> list[float]:
    """A false claim from the counts of both errors, at the corner and beside it, enumerated."""
    out = []
    n = 40
    for epsilon, x in ((0.0, 0.3), (1.0, expit(-1.0)), (1.0, 0.02), (2.0, expit(-2.0))):
        y = 1.0 - math.exp(epsilon) * x if x < expit(-epsilon) else 1.0 - x
        y = x if x == expit(-epsilon) else y
        first, second = (binom.pmf(np.arange(n + 1), n, p) for p in (x, y))
        total = 0.0
        for a in range(n + 1):
            for b in range(n + 1):
                mass = first[a] * second[b]
                if mass > 1e-12:
                    claim = error_rates.epsilon_from_errors([[a, n, b, n]], 0.0, error)
                    total += float(mass) * (claim > epsilon + 1e-12)
        out.append(total)
    return out


def kept_coins(error: float) -> np.ndarray:
    """Balancing: given that a trial is kept, either truth is as likely as the other."""
    kept = [
        keep_probabilities(np.full(LOG_ODDS.size, s), LOG_ODDS) * expit(s * LOG_ODDS)
        for s in (1.0, -1.0)
    ]
    odds = kept[0] / kept[1]
    return np.concatenate([odds, 1.0 / odds])


def all_kept(error: float) -> np.ndarray:
    """Balancing wastes nothing: the less likely truth is always kept."""
    return keep_probabilities(-np.sign(LOG_ODDS), LOG_ODDS)


def tampered(error: float) -> np.ndarray:
    """000, Theorem 5.1: where nothing leaks, right and kept is no likelier than wrong."""
    out = []
    for signed in (True, False):
        for guess in (1.0, -1.0):
            b = conditional.discount(np.full(LOG_ODDS.size, guess), LOG_ODDS, signed=signed)
            out.append(b * np.exp(guess * LOG_ODDS))
    return np.concatenate(out)


def tampered_count(error: float) -> list[float]:
    """The same by counting: uniforms at every height, one guess at a time."""
    uniforms = np.asarray((np.arange(2000) + 0.5) / 2000.0, dtype=np.float64)
    out = []
    for log_odds in (-2.0, -0.5, 0.5, 2.0):
        for guess in (1.0, -1.0):
            same = np.full(uniforms.size, guess)
            counts = conditional.tampered_counts(
                same, same, np.full(uniforms.size, log_odds), uniforms, signed=True
            )
            kept = (counts.correct - 1) / uniforms.size  # uniforms comes in steps
            out.append(kept * math.exp(guess * log_odds))
    return out


def composed(error: float) -> list[float]:
    """Composition: the shift's own mu, and nothing left if the shift explains all."""
    out = []
    for worst in (0.3, 1.0, 2.5):
        mu = 2.0 * float(norm.ppf(expit(worst)))
        out.append(mu / conditional.WorstShift(worst, 0.0).mu)
        bound = recursion.mu_lower_bound(60, 60, 50, error)
        left = recursion.mu_lower_bound(60, 60, 50, error, shift_mu=0.5)
        out.append(math.hypot(left, 0.5) / bound)
        bound = recursion.epsilon_lower_bound(60, 60, 50, 1e-3, error)
        left = recursion.epsilon_lower_bound(60, 60, 50, 1e-3, error, shift_epsilon=0.5)
        out.append((left + 0.5) / bound)
    return out


def overlap(error: float) -> list[float]:
    """The worst shift but for a share of the records: no more than that share lies outside."""
    log_odds = np.random.default_rng(0).standard_normal(1000)
    out = []
    for failure in (0.0, 0.001, 0.1):
        worst = conditional.worst_shift(log_odds, failure).epsilon
        out.append(float(np.mean(np.abs(log_odds) > worst)) - failure + 1.0)
    return out


def _prepared(allowance: float, n: int = 400, coin: float = 0.0) -> Prepared:
    """Trials of a plain leak, of which an allowance is to be deducted."""
    rng = np.random.default_rng(7)
    truth = np.where(rng.random(n) < expit(coin), 1.0, -1.0)
    score = truth + 0.6 * rng.standard_normal(n)
    return Prepared(
        truth=truth,
        raw=score,
        score=score,
        log_odds=np.full(n, coin),
        coin=coin,
        order=rng.permutation(n),
        learned=n // 4,
        bet_score=score,
        bet_log_odds=np.full(n, coin),
        allowance=allowance,
        allowance_mu=allowance,
        only_coin=True,
    )


def own_coins(error: float) -> list[float]:
    """Where coins of known probability chose the members, their number among the trials varies
    as theirs does: nothing about how many there happen to be is part of the game.

    2,000 tables of one seed; trials drawn from the two pools would vary nearly twice as much.
    """
    rng = np.random.default_rng(9)
    out = []
    for probability in (np.full(120, 0.5), np.linspace(0.2, 0.9, 180)):
        flips = rng.random((2000, probability.size)) < probability
        members = [
            int((by_design(np.where(f, 1.0, -1.0), probability).truth > 0).sum()) for f in flips
        ]
        out.append(float(np.var(members) / (probability * (1.0 - probability)).sum()))
    return out


def named_headline(error: float) -> list[float]:
    """A named headline is the only one, at the whole error, and is less by the allowance."""
    out = []
    for name in ("mu", "epsilon", "epsilon@1e-5", "epsilon@0.01", "independent:mu"):
        rule = Rule((1e-5,), error, ("balanced", "prior"), headline=Named.of(name))
        found = []
        for allowance in (0.0, 0.25):
            rng = np.random.default_rng(8)
            proof = corrections.correct(_prepared(allowance), rule, rng)
            headed = with_headline(proof, rule, rng)
            stated = [b for b in headed.bounds if b.headline]
            out.append(sum(1.0 - b.confidence for b in stated) / error)
            found.append(stated[0].value)
        out.append((found[1] + 0.25) / found[0])
    return out


def few_headline(error: float) -> list[float]:
    """On few trials, or of a loaded coin, a named bound is what its own counts or bets prove.

    Where there is too little to learn weights from, the binomial tail, the recursion and the bet
    stand in, each at the whole error and no more, on counted trials that balancing kept.
    """
    out = []
    for name in ("epsilon", "epsilon@1e-5"):
        for n, coin in ((80, 0.0), (400, 3.0)):
            prepared = _prepared(0.0, n, coin)
            rule = Rule((1e-5,), error, ("balanced", "prior"), headline=Named.of(name))
            rng = np.random.default_rng(8)
            headed = with_headline(corrections.correct(prepared, rule, rng), rule, rng)
            bound, bet, counts = headed.bounds[0], headed.bet, headed.counts
            if counts is None:
                assert bet is not None
                out += [bet.error / error, bound.value / bet.epsilon]
            else:
                counted = int(np.isin(headed.kept, prepared.tail).sum())
                proved = guessing.Target(bound.delta).bound(counts, error)
                out += [bound.value / proved, counts.trials / counted]
    return out


def headline(error: float) -> list[float]:
    """The errors of an audit's headline add up to the stated one; each is what was computed.

    Bets and counts have a share each; bounds from one count are false together.
    """
    allowance = 0.25
    prepared = _prepared(allowance)
    n = prepared.truth.size
    deltas = (1e-5, 1e-3)
    rule = Rule(deltas, error, ("balanced", "prior"))
    found = corrections.correct(prepared, rule, np.random.default_rng(8))
    shares = {b.method == "betting": 1.0 - b.confidence for b in found.bounds if b.headline}
    counts, bet = found.counts, found.bet
    assert counts is not None
    assert bet is not None
    out = [sum(shares.values()) / error, bet.error * 2.0 / error]
    out.append(counts.trials / (n - prepared.learned))
    half = error / 2.0
    for bound in found.bounds:
        if bound.method == "betting":
            largest = bet.epsilon
        else:
            target = guessing.Target(bound.delta, beside=deltas)
            largest = target.bound(counts, half)
        out.append(bound.value / (largest - allowance))
    return out


def price(error: float) -> list[float]:
    """Testing against b delta costs 1 / b of the error, for every delta that is tested beside."""
    out = []
    for trials in (100, 10_000):
        for delta, beside in ((1e-5, ()), (1e-3, (1e-5,)), (1e-5, (1e-3, 1e-4))):
            at, against = choice.price(trials, delta, error, beside=beside)
            assert against is not None
            shares = 1.0 + delta / against
            for other in beside:
                _, wider = choice.price(trials, other, error)
                assert wider is not None
                shares += other / wider
            out.append(at * shares / error)
    return out


def tangents_price(error: float) -> list[float]:
    """Every line costs 1 / b of the error, and none lies below the curve that it stands for."""
    out = []
    for mu, trials in ((0.1, 100), (1.0, 10_000), (4.0, 1_000_000)):
        epsilons, deltas = tangents.lines(mu, trials)
        out.append(tangents.price(error) * (1.0 + epsilons.size / tangents.WIDER) / error)
        exact = norm.cdf(0.5 * mu - epsilons / mu)
        exact -= np.exp(epsilons) * norm.cdf(-0.5 * mu - epsilons / mu)
        out += (exact / deltas).tolist()
    return out


def resampled(error: float) -> list[float]:
    """A bootstrap whose values lie higher than the point proves no more for it."""
    point = 1.0

    def recompute(rows: npt.NDArray[np.intp]) -> float:
        return point + 0.5 + 0.2 * (2.0 * float(rows[0]) / 999.0 - 1.0)

    found = bootstrap(
        point, recompute, 1000, error=error, rng=np.random.default_rng(0), resamples=400
    )
    spread = 0.2 * (1.0 - 2.0 * error)  # the values are uniform within 0.2
    return [found.lower + 0.8 * spread]


def printed(error: float) -> list[float]:
    """Numbers for people are rounded down."""
    values = [0.986591, 0.9999, 1e-4, 2.0 / 3.0, 1.2345678, 0.3, 4.0]
    return [1.0 + floor_to(v, digits) - v for v in values for digits in (1, 2, 3)]


def reach(error: float) -> list[float]:
    """eps-DP is mu-GDP with ``mu = 2 Phi^-1(sigma(eps))``: not less."""
    from divulge.curves import ApproximateDP, Gaussian

    out = []
    for epsilon in (0.1, 1.0, 4.0):
        mu = ApproximateDP(epsilon).mu()
        out.append(2.0 * float(ndtri(expit(epsilon))) / mu)
        one, two = Gaussian(0.6), Gaussian(0.8)
        composed_ = one.compose(two)
        assert isinstance(composed_, Gaussian)
        out.append(composed_.mu_)
    return out


def cases() -> Iterator[Check]:
    """Conditions first, then identities, whose value is 1 on either side."""
    name = "clopper-pearson of both errors"
    yield Check(
        name,
        "rates",
        None,
        "rates at the edge",
        "1 and 4 rows",
        limits_of_both_errors,
        quantity="probability that a limit fails",
        attained=0.95,
    )
    corner = "attacks at the limit"
    yield Check(name, "epsilon", 0.0, corner, "N=40, all counts", epsilon_from_errors)
    yield Check(
        "known propensities, nothing drawn",
        "identity",
        None,
        "coins of the records",
        "2,000 tables",
        own_coins,
        quantity="spread over that of the coins",
        limit=1.1,
        attained=0.9,
    )
    one = (
        ("balanced, kept coins", "any shift", kept_coins, "odds of the truths kept", 1.0),
        ("balanced, nothing wasted", "any shift", all_kept, "share kept of the unlikely", 1.0),
        ("conditional, tampered guesses", "any shift", tampered, "odds of a right guess", 0.0),
        ("conditional, tampered counts", "any shift", tampered_count, "odds of a right guess", 0.0),
        ("composition of shift", "known shift", composed, "parts over the whole", 1.0),
        ("composition, overlap", "known shift", overlap, "share outside", 0.0),
        ("headline of an audit", "gaussian", headline, "stated over computed", 1.0),
        ("headline that was named", "gaussian", named_headline, "stated over computed", 1.0),
        ("headline of few trials", "gaussian", few_headline, "stated over computed", 1.0),
        ("price of choosing", "every delta", price, "errors over the stated one", 1.0),
        ("tangents mu", "price and lines", tangents_price, "paid over due", 1.0),
        ("curves", "closed forms", reach, "stated over exact", 1.0),
        ("bootstrap of the propensities", "values too high", resampled, "lower end", 0.0),
        ("printed values", "numbers", printed, "printed less value, plus 1", 0.0),
    )
    for bound, mechanism, compute, quantity, attained in one:
        yield Check(
            bound,
            "identity",
            None,
            mechanism,
            "exact",
            compute,
            quantity=quantity,
            limit=1.0 + 1e-5 if attained else 1.0,
            attained=attained * (1.0 - 2e-5),
        )
