"""The allowance: how much of a finding the two nuisance models may have missed.

If nothing leaks, a false signal needs an error of the propensity *and* an error of the prognostic
score that go together; what a bettor can exploit is the slope of membership's log-odds on the
residual score, the covariance of the two errors. It is estimated in three ways: in a simulated
world where the fitted models are the truth and nothing leaks; directly, by a U-statistic of
products of residuals over a rich basis of x; and in families of functions far too large to be
fitted, but not too large for a U-statistic. The slope is then charged to epsilon at the largest
residual that still bears on the bet, and to mu.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri

from divulge.shift.design import FIT_ROWS, Rows, at_most
from divulge.shift.groups import fit_kernel
from divulge.shift.large_families import Slope, decorrelated, products, waves
from divulge.shift.neighbours import MOST, Near, largest, near_slopes
from divulge.shift.prognostic import Prognostic, fit_prognostic
from divulge.shift.score_shapes import SHAPE_MARGIN, SHAPES, explaining, shapes_of
from divulge.shift.sources import Fit
from divulge.shift.stack import fit_propensity
from divulge.shift.terms import relevance
from divulge.types import Array, Index

FEWEST_BETS = 100
"""Below that many trials inside the trim nothing can be said."""
REACH = 2.0
"""Residual standard deviations at which the slope is charged to epsilon, at least."""
MU_SCALE = 1.5
"""How often the slope is charged to mu: the simulated world is smoother than the real one."""
SECOND_ORDER_MARGIN = 2.0
"""Standard errors of the second-order slope that are charged on top of it."""
HIGHER_ORDER_MARGIN = 3.0
"""Standard errors from which the slope in a family too large to be fitted is charged, twice."""
WORLDS_OF, MOST_WORLDS = 2500, 4
"""So many trials are simulated at least, in several worlds if need be."""
SHAPED = ("pairs", "pairs_of_signs", "pairs_decorrelated", "waves")
"""Families that are also tried on the square and the tails of the score."""
_SHARE = 0.6
_FEWEST_SIMULATED = 30
_FEWEST_PAIRED = 200
_HIGHER_ROWS = 4000


@dataclass(frozen=True)
class Nuisances:
    """What was fitted, per trial, and where it is to be judged."""

    records: Rows
    score: Array = field(repr=False)
    truth: Array = field(repr=False)
    log_odds: Array = field(repr=False)
    prognostic: Prognostic
    leak: float
    """Estimated difference between a member's and a non-member's score."""
    trim: float
    coin: float
    refit: Fit | None = field(default=fit_propensity, repr=False)
    """What fitted the log-odds; None if they were given."""
    taught: int | None = None
    """How many records taught it, where these are not trials."""

    def inside(self, log_odds: Array) -> npt.NDArray[np.bool_]:
        """Where there is overlap."""
        return np.asarray(np.abs(log_odds - self.coin) <= self.trim)

    def some(self, rows: Index) -> Nuisances:
        """These trials only."""
        return Nuisances(
            self.records.some(rows),
            self.score[rows],
            self.truth[rows],
            self.log_odds[rows],
            self.prognostic.some(rows),
            self.leak,
            self.trim,
            self.coin,
        )

    def surprises(self) -> tuple[Array, Array]:
        """Membership and score, each less its prediction; a leak alone must not show in both."""
        membership = (self.truth > 0.0) - expit(self.log_odds)
        left = self.score - self.prognostic.mean - self.leak * membership
        return membership, left / self.prognostic.scale


@dataclass(frozen=True)
class Simulated:
    """The errors of both models in a world where the fitted ones are the truth."""

    slope: float
    propensity_error: float
    """Standard deviation of the error of the log-odds, inside the trim."""
    prognostic_error: float
    """Standard deviation of the error of the prognostic score, in residual ones."""


_NOT_SIMULATED = Simulated(0.0, math.nan, math.nan)


@dataclass(frozen=True)
class Allowance:
    """What is deducted from each parameter, and how it came about."""

    epsilon: float
    mu: float
    slope: float
    simulated: Simulated
    second_order: Slope
    higher_order: Mapping[str, Slope]
    near: Sequence[Near] = ()
    near_slope: float = 0.0
    """The largest of them that is charged."""

    def beside(self, c_lb: float) -> Allowance:
        """What a blind baseline proved comes on top; for mu the Gaussian parameter of c_lb-DP."""
        gaussian = 2.0 * float(ndtri(expit(c_lb)))
        return replace(self, epsilon=self.epsilon + c_lb, mu=self.mu + gaussian)

    def parts(self) -> dict[str, float]:
        """Plain numbers for the report; those that could not be computed are left out."""
        numbers = {
            "propensity_error": self.simulated.propensity_error,
            "prognostic_error": self.simulated.prognostic_error,
            "slope": self.slope,
            "slope_simulated": self.simulated.slope,
            "slope_second_order": self.second_order.value,
            "slope_second_order_standard_error": self.second_order.standard_error,
        }
        for name, slope in self.higher_order.items():
            numbers[f"slope_{name}"] = slope.value
            numbers[f"slope_{name}_standard_error"] = slope.standard_error
        if self.near:
            worst = max(self.near, key=lambda n: abs(n.value) / max(n.standard_error, 1e-12))
            numbers["slope_near"] = self.near_slope
            numbers["near_standard_errors"] = abs(worst.value) / max(worst.standard_error, 1e-12)
        return {name: value for name, value in numbers.items() if math.isfinite(value)}


def estimate_allowance(
    nuisances: Nuisances,
    *,
    bets: int,
    rng: np.random.Generator,
    enough: Callable[[Allowance], bool] = lambda allowance: False,
    progress: Callable[[str], None] = lambda stage: None,
) -> Allowance:
    """The deductions, given the number of bets; what a blind baseline proves is not in them.

    Whatever comes later only adds to what is deducted, and draws its own random numbers: once it is
    ``enough``, the rest need not be known.
    """
    lots = rng.spawn(4)
    progress("looking for missed shift")
    second = second_order(nuisances, lots[0])
    near = neighbourhood(nuisances, lots[1])
    found = _deduction(nuisances, bets, second, near)
    if enough(found):
        return found
    higher = higher_order(nuisances, lots[2])
    found = _deduction(nuisances, bets, second, near, higher)
    if enough(found):
        return found
    progress("simulating without a leak")
    return _deduction(nuisances, bets, second, near, higher, simulate(nuisances, lots[3]))


def _deduction(
    nuisances: Nuisances,
    bets: int,
    second: Slope,
    near: Sequence[Near],
    higher: Mapping[str, Slope] | None = None,
    simulated: Simulated = _NOT_SIMULATED,
) -> Allowance:
    """What the slopes found so far are charged with.

    Confounding of ``slope`` log-odds per residual standard deviation is worth ``slope`` times the
    size of the residual to a bettor: it is charged at 2, or where 100 bets are left beyond. It
    shifts the members' residual by ``slope``, which adds to mu. Fitted log-odds are charged with
    what could have been overlooked, given ones only with what was found.
    """
    higher = higher or {}
    side = 1.0 if nuisances.leak >= 0.0 else -1.0  # members' scores may be lower, too
    beyond = [charged(name, slope, nuisances.leak) for name, slope in higher.items()]
    margin = SECOND_ORDER_MARGIN * second.standard_error
    local = largest(near, nuisances.leak)
    missed = max(2.0 * max(beyond, default=0.0), local)
    direct = side * second.value
    found = max(direct, missed, 0.0)
    if nuisances.refit is None and direct <= HIGHER_ORDER_MARGIN * second.standard_error:
        found, margin = missed, 0.0
    world = max(side * simulated.slope, 0.0) if math.isfinite(simulated.slope) else math.inf
    slope = world + found + margin
    if bets < FEWEST_BETS or not math.isfinite(slope):
        return Allowance(math.inf, math.inf, slope, simulated, second, higher, near, local)
    reach = max(REACH, float(ndtri(1.0 - 100.0 / max(bets, 200))))
    epsilon, mu = reach * slope, MU_SCALE * slope
    return Allowance(epsilon, mu, slope, simulated, second, higher, near, local)


def charged(name: str, slope: Slope, leak: float) -> float:
    """What a family's slope is charged with, beside a leak of this sign: nothing within its error.

    Only a slope in the direction of the leak counts.
    """
    shape = next((s for s in SHAPES[1:] if name.endswith(s.replace(" ", "_"))), SHAPES[0])
    margin = HIGHER_ORDER_MARGIN if shape == SHAPES[0] else SHAPE_MARGIN
    size = explaining(slope.value, shape, leak)
    return size if size > margin * slope.standard_error else 0.0


def simulate(nuisances: Nuisances, rng: np.random.Generator) -> Simulated:
    """The mean of several simulated worlds where there are few trials, which make one noisy."""
    count = int(np.clip(WORLDS_OF // max(len(nuisances.records), 1), 1, MOST_WORLDS))
    worlds = [simulate_once(nuisances, rng) for _ in range(count)]
    return Simulated(
        float(np.mean([w.slope for w in worlds])),
        float(np.mean([w.propensity_error for w in worlds])),
        float(np.mean([w.prognostic_error for w in worlds])),
    )


def simulate_once(nuisances: Nuisances, rng: np.random.Generator) -> Simulated:
    """Parametric bootstrap: redraw truths and scores from the fitted models, refit, compare.

    The prognostic score keeps the leak's share ``leak pi(x)``, which makes the world harder. Where
    other records taught the propensity, no more trials than these teach here. Given log-odds have
    no error in a world where they are the truth.
    """
    if nuisances.refit is None:
        return Simulated(0.0, 0.0, math.nan)
    n = nuisances.some(at_most(np.arange(len(nuisances.records)), FIT_ROWS, rng))
    trials = len(n.records)
    _, noise = n.surprises()
    truth = np.where(rng.random(trials) < expit(n.log_odds), 1.0, -1.0)
    score = n.prognostic.mean + n.prognostic.scale * (rng.choice(noise, trials) - noise.mean())
    prognostic = fit_prognostic(score, n.records, rng, folds=2)
    order = rng.permutation(trials)
    cut = min(int(_SHARE * trials), trials if n.taught is None else n.taught)
    propensity = nuisances.refit(
        truth, n.records, prognostic, order[:cut], order[cut:], coin=n.coin, rng=rng
    )
    inside = n.inside(propensity.predicted)
    if inside.sum() < _FEWEST_SIMULATED:
        return Simulated(math.inf, math.inf, math.inf)
    rows = order[cut:][inside]
    scale = prognostic.scale[rows]
    missed_odds = n.log_odds[rows] - propensity.predicted[inside]
    missed_score = (n.prognostic.mean[rows] - prognostic.mean[rows]) / scale
    left = (score[rows] - prognostic.mean[rows]) / scale
    covariance = float(
        np.mean((missed_odds - missed_odds.mean()) * (missed_score - missed_score.mean()))
    )
    return Simulated(
        covariance / max(float(left.std()), 1e-9),
        float(missed_odds.std()),
        float(missed_score.std()),
    )


def second_order(nuisances: Nuisances, rng: np.random.Generator) -> Slope:
    """Covariance of the two errors from the residuals: a U-statistic over a rich basis of x.

    Both residuals are projected on the basis, leaving each trial's own product out; the
    covariance of the projections has mean zero unless both models missed the same function of x.
    """
    n = _chosen(nuisances, FIT_ROWS, rng)
    trials = len(n.records)
    if trials < _FEWEST_PAIRED:
        return Slope(math.inf, math.inf)
    basis = _orthonormal(_rich_columns(n))
    membership, left, unit = _paired(n)
    own = np.einsum("ij,ij->i", basis, basis)
    total = float((basis.T @ membership) @ (basis.T @ left)) - float(
        np.sum(own * membership * left)
    )
    error = trials * math.sqrt(basis.shape[1] * membership.var() * left.var())
    return Slope(total / unit, error / unit)


def neighbourhood(nuisances: Nuisances, rng: np.random.Generator) -> list[Near]:
    """The same covariance between a record and others near to it (``neighbours.py``)."""
    n = _chosen(nuisances, MOST, rng)
    trials = len(n.records)
    if trials < _FEWEST_PAIRED:
        return []
    membership, left = n.surprises()
    prior = expit(n.log_odds)
    return near_slopes(
        n.records.clipped(np.arange(trials)),
        n.records.levels,
        membership,
        left,
        float((prior * (1.0 - prior)).mean()),
        rng,
    )


def _chosen(nuisances: Nuisances, most: int, rng: np.random.Generator) -> Nuisances:
    inside = np.flatnonzero(nuisances.inside(nuisances.log_odds))
    return nuisances.some(at_most(inside, most, rng))


def _paired(n: Nuisances) -> tuple[Array, Array, float]:
    """Both residuals, centred, and what turns a sum over pairs of trials into a slope."""
    membership, left = n.surprises()
    membership, left = membership - membership.mean(), left - left.mean()
    prior = expit(n.log_odds)
    unit = membership.size**2 * float((prior * (1.0 - prior)).mean()) * float(left.std())
    return membership, left, max(unit, 1e-12)


def _rich_columns(n: Nuisances) -> Array:
    geometry, mean = n.records.geometry, n.prognostic.mean
    clipped = n.records.clipped(np.arange(len(n.records)))
    centred = mean - mean.mean()
    weight = relevance(clipped, centred, np.full(mean.size, centred.var()))
    kernel = fit_kernel(clipped, weight, seed=5, landmarks=150)
    return np.concatenate(
        [
            clipped,
            clipped[:, geometry.continuous] ** 2,
            geometry.always(clipped),
            kernel(clipped),
            n.prognostic.terms.build(geometry, clipped),
            n.prognostic.learners,
            np.stack([mean**2, n.log_odds, n.log_odds**2], axis=1),
        ],
        axis=1,
    )


def _orthonormal(columns: Array) -> Array:
    """Leading principal components, each of mean square one."""
    trials, width = columns.shape
    columns = columns - columns.mean(axis=0)
    columns /= np.maximum(columns.std(axis=0), 1e-9)
    values, vectors = np.linalg.eigh(columns.T @ columns / trials)
    keep = np.argsort(-values)[: max(10, trials // 8)]
    keep = keep[values[keep] > max(1e-3 * values.max() / width, 1e-9)]
    return np.asarray(columns @ (vectors[:, keep] / np.sqrt(values[keep])))


def higher_order(nuisances: Nuisances, rng: np.random.Generator) -> dict[str, Slope]:
    """The same covariance in families too large to be fitted.

    Products of two, three and four columns, of two signs, and cosines of each column's rank.
    Without a shared error the sums have mean zero for any columns, but their scale is that of a
    slope only for independent ones. Real tables are correlated: products are taken of decorrelated
    columns (of two also as they are, because models err along the dominant directions), and what
    redundancy is left in a family is divided out. Some families are tried on other shapes of the
    score than its mean.
    """
    n = _chosen(nuisances, _HIGHER_ROWS, rng)
    trials = len(n.records)
    if trials < _FEWEST_PAIRED:
        return {}
    z = np.clip(n.records.clipped(np.arange(trials)), -3.5, 3.5)
    z = (z - z.mean(axis=0)) / np.maximum(z.std(axis=0), 1e-9)
    membership, left, unit = _paired(n)
    every = np.column_stack([left, left.std() * shapes_of(left, membership)[:, 1:]])
    signs = np.sign(z - np.median(z, axis=0))
    signs = (signs - signs.mean(axis=0)) / np.maximum(signs.std(axis=0), 1e-9)
    plain, side, second, third, fourth = (
        *products(z, 1, membership, every, unit),
        *products(signs, 1, membership, every, unit),
        *products(decorrelated(z), 3, membership, every, unit),
    )
    found = {
        "pairs": plain,
        "pairs_of_signs": side,
        "pairs_decorrelated": second,
        "triples": third,
        "quadruples": fourth,
    }
    if n.records.geometry.continuous.size:
        wavy = z[:, n.records.geometry.continuous]
        found["waves"] = waves(wavy, membership, every, unit)
    out = {name: slopes[0] for name, slopes in found.items()}
    for name in SHAPED:
        shaped = zip(SHAPES[1:], found.get(name, ())[1:], strict=False)
        out |= {f"{name}_{shape.replace(' ', '_')}": slope for shape, slope in shaped}
    return out
