"""The exact posterior against theory's check values, brute force, the samplers and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from divulge.bounds.error_rates import draw_rates
from divulge.crosschecks.samplers import effective_size, sample_correlated, sample_independent
from divulge.errors import InputError
from divulge.posterior import mesh as meshes
from divulge.posterior.exact import log_prior, of_likelihood, posterior
from divulge.posterior.fixed import fixed_strength
from divulge.posterior.likelihood import cumulated, log_area, tabulate
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.posterior.segments import log_growth

X = (40, 50, 60, 100, 100, 110, 120, 200, 200, 200)
Y = (250, 200, 150, 100, 120, 100, 100, 80, 70, 60)
STRONG = np.array([[x, 1000, y, 1000] for x, y in zip(X, Y, strict=True)], dtype=float)
TABLES = {
    "strong": STRONG,
    "one": np.array([[40.0, 100, 40, 100]]),
    "zeros": np.array([[0.0, 50, 0, 50], [0, 50, 5, 50], [3, 50, 0, 50]]),
    "weak": np.array([[48.0, 100, 51, 100], [45, 100, 49, 100], [52, 100, 44, 100]]),
    "wrong way": np.array([[80.0, 100, 85, 100], [10, 100, 20, 100]]),
    "unequal": np.array([[5.0, 40, 30, 200], [1, 25, 60, 300], [9, 60, 10, 50]]),
    "spread": np.array([[10.0, 100, 0, 100], [12, 100, 40, 100], [9, 100, 80, 100]]),
}


def fixed(s: float) -> StrengthPrior:
    return StrengthPrior(fixed=s)


def test_the_strong_attacks_of_section_4_1_2():
    found = posterior(STRONG)
    assert found.quantile([0.05, 0.5, 0.95]) == pytest.approx([2.708, 2.940, 3.545], abs=1e-3)
    strength = found.quantile([0.05, 0.5, 0.95], "strength")
    assert strength == pytest.approx([0.566, 0.709, 0.794], abs=1e-3)


@pytest.mark.parametrize(
    ("n", "s", "low", "high"),
    [
        (100, 0.0, 0.365, 5.71),
        (100, 0.5, 0.238, 1.09),
        (100, 0.9, 0.187, 0.722),
        (100, 1.0, 0.178, 0.683),
        (1000, 0.0, 0.467, 5.73),
        (1000, 0.5, 0.400, 0.841),
        (1000, 0.9, 0.352, 0.520),
        (1000, 1.0, 0.336, 0.490),
    ],
)
def test_the_role_of_the_strength_in_section_4_1_1(n, s, low, high):
    found = posterior([[0.4 * n, n, 0.4 * n, n]], strength=fixed(s)).interval()
    assert found == pytest.approx((low, high), rel=5e-3, abs=6e-4)


@pytest.mark.slow
def test_the_growth_adds_up_to_everything_whatever_the_counts():
    counts = np.array(
        [[40, 100, 40, 100], [0, 100, 0, 100], [1, 1, 1, 1], [0, 1, 0, 1], [9e4, 1e5, 9e4, 1e5]]
    )
    e = np.linspace(0.0, 30.0, 30001)
    for delta in (0.0, 0.01):
        at_zero = 0.0
        if delta:
            d = np.linspace(0.0, delta, 401)
            at_zero = np.trapezoid(
                np.exp(log_growth(counts, np.zeros_like(d), d, along_delta=True)), d, axis=1
            )
        total = at_zero + np.trapezoid(np.exp(log_growth(counts, e, delta)), e, axis=1)
        assert total == pytest.approx(np.ones(5), abs=2e-6)


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_the_likelihood_is_the_integral_of_the_paper(delta, rng):
    """Against draws from the uniform distribution on the region."""
    counts, epsilon, s = np.array([[3.0, 20, 5, 20]]), 2.0, 0.4
    mesh, values = fixed_strength(counts, delta, s, end=10.0)
    exact = np.exp(np.interp(epsilon, mesh.e, values))
    x, y = draw_rates(np.full(400_000, epsilon), np.full(400_000, s), delta, rng)
    # A uniform prior on the square turns the product of binomials into one of Beta densities.
    weight = beta.pdf(x, 4, 18) * beta.pdf(y, 6, 16)
    error = weight.std() / np.sqrt(weight.size)
    assert abs(weight.mean() - exact) < 4.0 * error


def test_a_joint_grid_agrees_with_brute_force():
    """n = 2, delta 0: differences of cdfs on a plain grid, which suffices for small counts."""
    counts = np.array([[3.0, 20, 5, 20], [6, 20, 2, 20]])
    h = 0.02
    e = np.arange(h / 2, 16.0, h)
    edges = np.concatenate([[0.0], e])
    x = (np.arange(2000) + 0.5) / 2000
    gains = []
    for a, n, b, m in counts:
        density = beta.pdf(x, a + 1, n - a + 1) / x.size
        at = beta(b + 1, m - b + 1)
        low = np.maximum(1 - np.exp(edges[:, None]) * x, (1 - x) * np.exp(-edges[:, None]))
        high = np.minimum(np.exp(edges[:, None]) * (1 - x), 1 - x * np.exp(-edges[:, None]))
        inside = at.cdf(np.clip(high, 0, 1)) - at.cdf(np.clip(low, 0, 1))
        gains.append(np.maximum(inside, 0) @ density)
    area = np.tanh(edges / 2)
    outer, inner = np.meshgrid(np.arange(1, edges.size), np.arange(1, edges.size), indexing="ij")
    keep = inner < outer
    value = np.zeros(outer.shape)
    ratio = np.ones(keep.sum())
    for g in gains:
        ratio *= (g[outer[keep]] - g[inner[keep]]) / (area[outer[keep]] - area[inner[keep]])
    value[keep] = ratio
    density = value.sum(axis=1) / e * np.exp(-(e**2) / 20)
    cdf = np.cumsum(density) / density.sum()
    found = posterior(counts)
    for q in (0.05, 0.5, 0.95):
        assert float(found.quantile(q)) == pytest.approx(np.interp(q, cdf, e + h / 2), abs=0.03)


DRAWN_ANEW = ("zeros", "one", "unequal", "weak")
"""Tables that are compared with draws without a chain: with chains only in the long form."""


@pytest.mark.parametrize(
    ("name", "delta"),
    [
        pytest.param(name, delta, marks=[pytest.mark.slow] * (delta > 0 or name in DRAWN_ANEW))
        for name in TABLES
        for delta in (0.0, 0.01)
    ],
)
def test_it_agrees_with_algorithm_1(name, delta):
    """Short chains; the tolerance is their own Monte Carlo error."""
    counts = TABLES[name]
    exact = posterior(counts, delta)
    drawn = sample_independent(
        counts, delta, draws=6_000, burn_in=500, auxiliaries=100, steps=(0.4, 0.15), rng=7
    )
    size = drawn.effective_size()
    assert size > 40
    for q in (0.05, 0.5, 0.95):
        below = np.mean(drawn.parameters["epsilon"] <= float(exact.quantile(q)))
        assert abs(below - q) < 4.5 * np.sqrt(q * (1 - q) / size) + 0.004, q


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_it_agrees_with_long_chains(name):
    counts = TABLES[name]
    exact = posterior(counts, 1e-3)
    drawn = sample_independent(
        counts, 1e-3, draws=100_000, burn_in=5_000, auxiliaries=100, steps=(0.4, 0.12), rng=8
    )
    for of in ("epsilon", "strength"):
        for q in (0.05, 0.5, 0.95):
            below = (drawn.parameters[of] <= float(exact.quantile(q, of))).astype(float)
            size = effective_size(below)  # of the event: a chain leaves a tail only slowly
            assert size > 100
            assert abs(below.mean() - q) < 4.0 * np.sqrt(q * (1 - q) / size)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "one")) for n in DRAWN_ANEW],
)
def test_it_agrees_with_importance_sampling(name, rng):
    """Priors as proposals, error rates drawn uniformly on the region: no chain, no grid."""
    counts, delta, size, inner = TABLES[name], 0.01, 30_000, 40
    exact = posterior(counts, delta)
    e, s = np.abs(rng.normal(0.0, np.sqrt(10.0), size)), rng.random(size)
    weight = np.ones(size)
    for a, n, b, m in counts:
        shape = (size, inner)
        x, y = draw_rates(
            np.broadcast_to(e[:, None], shape), np.broadcast_to(s[:, None], shape), delta, rng
        )
        weight *= (beta.pdf(x, a + 1, n - a + 1) * beta.pdf(y, b + 1, m - b + 1)).mean(axis=1)
    weight /= weight.sum()
    for of, value in (("epsilon", e), ("strength", s)):
        for q in (0.05, 0.5, 0.95):
            below = value <= float(exact.quantile(q, of))
            share = weight[below].sum()
            error = np.sqrt(np.sum((weight * (below - share)) ** 2))
            assert error < 0.05
            assert abs(share - q) < 4.0 * error


def test_the_published_auxiliaries_target_the_same_posterior():
    counts = TABLES["one"]
    exact = posterior(counts)
    drawn = sample_independent(
        counts, draws=8_000, burn_in=500, auxiliaries=100, square=True, steps=(0.5, 0.2), rng=3
    )
    for q in (0.1, 0.5, 0.9):
        below = np.mean(drawn.parameters["epsilon"] <= float(exact.quantile(q)))
        assert abs(below - q) < 4.5 * np.sqrt(q * (1 - q) / drawn.effective_size())


def test_the_grid_has_converged():
    for counts, delta in ((STRONG, 0.0), (TABLES["spread"], 1e-3), (TABLES["zeros"], 0.0)):
        q = [0.05, 0.5, 0.95]
        coarse, fine = posterior(counts, delta), posterior(counts, delta, resolution=2.0)
        assert coarse.quantile(q) == pytest.approx(fine.quantile(q), rel=2e-4)
        for_s = coarse.quantile(q, "strength"), fine.quantile(q, "strength")
        assert for_s[0] == pytest.approx(for_s[1], rel=1e-3)


def test_a_strength_near_1_tends_to_its_limit():
    for delta in (0.0, 0.01):
        near = posterior(STRONG, delta, strength=fixed(1.0 - 1e-7)).interval()
        assert near == pytest.approx(posterior(STRONG, delta, strength=fixed(1.0)).interval(), 1e-5)


def test_a_small_delta_tends_to_delta_zero():
    tiny, zero = posterior(STRONG, 1e-9), posterior(STRONG)
    assert tiny.interval() == pytest.approx(zero.interval(), 1e-6)
    assert tiny.interval(of="strength") == pytest.approx(zero.interval(of="strength"), 1e-5)


def test_epsilon_tends_to_zero_with_the_stated_weights():
    """The limit of the likelihood: the average over a + b = 1 with weight 4 min(a, 1 - a)."""
    counts = np.array([[8.0, 20, 13, 20]])
    _, values = fixed_strength(counts, 0.0, 0.3, end=5.0)
    a = (np.arange(200_000) + 0.5) / 200_000
    weight = 4.0 * np.minimum(a, 1.0 - a)
    limit = np.mean(weight * beta.pdf(a, 9, 13) * beta.pdf(1.0 - a, 14, 8))
    assert np.exp(values[0]) == pytest.approx(limit, rel=1e-6)
    assert np.exp(values[3]) == pytest.approx(limit, rel=1e-3)


def test_below_full_strength_the_interval_does_not_collapse():
    n, point = 100_000, np.log(0.6 / 0.4)
    low, high = posterior([[0.4 * n, n, 0.4 * n, n]], strength=fixed(0.5)).interval(0.999)
    assert low == pytest.approx(point, rel=0.02)
    assert high == pytest.approx(point / 0.5, rel=0.02)
    low, high = posterior([[0.4 * n, n, 0.4 * n, n]], strength=fixed(1.0)).interval()
    assert high - low < 0.02


@pytest.mark.parametrize(
    "row", [[0, 100_000, 0, 100_000], [0, 5, 5, 5], [5, 5, 5, 5], [0, 1, 0, 1], [1, 1, 0, 1]]
)
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_extreme_counts_work(row, delta):
    found = posterior([row], delta)
    low, high = found.interval()
    assert 0.0 < low < high < 30.0
    below, above = found.interval(of="strength")
    assert 0.0 <= below < above <= 1.0
    assert found.epsilon.cdf[-1] == pytest.approx(1.0)


def test_swapping_errors_or_turning_answers_changes_nothing():
    q = [0.05, 0.5, 0.95]
    row = [12.0, 80, 30, 120]
    same = ([30, 120, 12, 80], [68, 80, 90, 120])
    for other in same:
        assert posterior([row], 1e-3).quantile(q) == pytest.approx(
            posterior([other], 1e-3).quantile(q), rel=1e-6
        )


def test_areas_have_no_cancellation():
    e, s = 2.0, np.array([0.0, 0.5, 1.0 - 1e-12])
    found = np.exp(log_area(np.full(3, e), s * e, s, 0.01))
    direct = 2 * ((1 - s * 0.01) ** 2 / (1 + np.exp(s * e)) - 0.99**2 / (1 + np.exp(e)))
    assert found[:2] == pytest.approx(direct[:2])
    slope = 2 * e * 0.99**2 * np.exp(e) / (1 + np.exp(e)) ** 2 + 4 * 0.01 * 0.99 / (1 + np.exp(e))
    assert found[2] == pytest.approx(1e-12 * slope, rel=1e-3)


def test_draws_follow_the_posterior():
    found = posterior(TABLES["spread"])
    drawn = found.sample(40_000, rng=0)
    for of in ("epsilon", "strength"):
        for q in (0.1, 0.5, 0.9):
            below = np.mean(drawn[of] <= float(found.quantile(q, of)))
            assert abs(below - q) < 0.012
    edges = found.quantile([0.01, 0.5, 0.99]), found.quantile([0.01, 0.5, 0.99], "strength")
    cells = found.joint(*edges)
    seen, _, _ = np.histogram2d(drawn["epsilon"], drawn["strength"], bins=edges)
    assert cells == pytest.approx(seen / 40_000, abs=0.012)


def test_the_highest_density_region_is_the_shortest():
    found = posterior(STRONG)
    ((low, high),) = found.hdr(0.9)
    a, b = found.interval(0.9)
    assert high - low < b - a
    mass = np.diff(np.interp([low, high], found.epsilon.x, found.epsilon.cdf))[0]
    assert mass == pytest.approx(0.9, abs=2e-3)


def test_other_priors_need_no_new_likelihood():
    of_e, of_s = EpsilonPrior("exponential", 2.0), StrengthPrior(2.0, 3.0)
    end = EpsilonPrior().end(meshes.reach(STRONG, 0.0))
    table = tabulate(
        STRONG, 0.0, end=end, log_priors=[log_prior(EpsilonPrior(), StrengthPrior()),
                                          log_prior(of_e, of_s)],
    )  # fmt: skip
    reused = of_likelihood(table, of_e, of_s)
    direct = posterior(STRONG, epsilon_prior=of_e, strength=of_s)
    assert reused.interval() == pytest.approx(direct.interval(), rel=1e-3)


@pytest.mark.parametrize(
    "prior",
    [
        EpsilonPrior("exponential", 3.0),
        EpsilonPrior("uniform", 6.0),
        EpsilonPrior("log-normal", 1, 1),
    ],
)
def test_without_information_the_posterior_is_the_prior(prior):
    """Pooled counts may be as small as one likes."""
    found = posterior([[1e-9, 2e-9, 1e-9, 2e-9]], epsilon_prior=prior, whole=False)
    for q in (0.1, 0.5, 0.9):
        assert float(found.quantile(q)) == pytest.approx(float(prior.quantile(q)), rel=2e-3)
    assert found.quantile([0.25, 0.5], "strength") == pytest.approx([0.25, 0.5], abs=2e-3)


def test_a_beta_prior_of_the_strength_with_infinite_ends():
    low = posterior(TABLES["spread"], strength=StrengthPrior(0.5, 0.5))
    near = posterior(TABLES["spread"], strength=StrengthPrior(0.5, 0.5), resolution=2.0)
    assert low.interval(of="strength") == pytest.approx(near.interval(of="strength"), rel=5e-3)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[11, 10, 0, 10]], "false_positives cannot exceed negatives. Found 11 of 10 in row 0"),
        ([[1, 10, 0, 10], [1, 10, 12, 10]], "false_negatives cannot exceed positives.*row 1"),
        ([[0, 0, 0, 10]], "negatives must be at least 1"),
        ([[0, 10, 0, 0]], "positives must be at least 1"),
        ([[0.5, 10, 0, 10]], "false_positives must be a whole number.*0.5 in row 0"),
        ([[-1, 10, 0, 10]], "0 or more"),
        ([[np.nan, 10, 0, 10]], "whole number"),
        ([[1, 2, 3]], "rows of four"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(InputError, match=message):
        posterior(counts)


@pytest.mark.parametrize("delta", [1.0, 1.5, -0.1, np.nan])
def test_bad_delta(delta):
    with pytest.raises(InputError, match="delta must lie"):
        posterior([[1, 10, 1, 10]], delta)


@pytest.mark.parametrize(
    "text",
    [
        "normal:1",
        "half-normal:x",
        "half-normal:1,2",
        "exponential:nan",
        "",
        "half-normal:-1",
        "uniform:900",
    ],
)
def test_bad_priors(text):
    with pytest.raises(InputError):
        EpsilonPrior.parse(text)


@pytest.mark.parametrize("text", ["2", "beta:1", "beta:0,1", "gamma:1,1", "x", "nan"])
def test_bad_strengths(text):
    with pytest.raises(InputError):
        StrengthPrior.parse(text)


def test_priors_read_what_they_write():
    for prior in (EpsilonPrior(), EpsilonPrior("log-normal", 2.0, 0.5), EpsilonPrior("uniform", 4)):
        assert EpsilonPrior.parse(str(prior)) == prior
    for strength in (StrengthPrior(), StrengthPrior(2, 3), fixed(0.5)):
        assert StrengthPrior.parse(str(strength)) == strength


def test_a_fixed_strength_has_no_posterior():
    found = posterior([[1, 10, 1, 10]], strength=fixed(1.0))
    with pytest.raises(InputError, match="fixed at 1"):
        found.quantile(0.5, "strength")
    assert set(found.sample(10, rng=0)["strength"]) == {1.0}


def test_draws_become_arviz():
    pytest.importorskip("arviz", reason="arviz is in the extra posterior")
    data = posterior([[10, 100, 20, 100]]).to_arviz(draws=50, chains=2)
    assert data["posterior"]["epsilon"].shape == (2, 50)


def test_the_sampler_says_what_it_cannot_do():
    with pytest.raises(InputError, match="strength below 1"):
        sample_independent([[1, 10, 1, 10]], strength=fixed(1.0))
    with pytest.raises(InputError, match="as many positives"):
        sample_correlated([[1, 10, 1, 12]])


def test_an_independent_chain_has_its_full_size(rng):
    assert effective_size(rng.normal(size=(2, 4000))) > 6000
    walk = np.cumsum(rng.normal(size=4000))
    assert effective_size(walk) < 100


def test_a_peak_between_the_nodes_is_not_made_up():
    """The cubic through these logarithms rises to 113 in the middle."""
    left, right = cumulated(np.array([-1000.0, -10.0, -10.0, -1000.0]))
    assert left[-1] == pytest.approx(right[0])
    assert -11.0 < left[-1] < -9.0
