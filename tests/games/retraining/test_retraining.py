"""Error counts to a result: what it says, what it refuses, what it warns of."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import divulge
from divulge.claims import Claim, check
from divulge.errors import InputError
from divulge.games.retraining.read import pool, read_counts
from divulge.posterior.correlated import correlated
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.result import Result
from divulge.result.of_posterior import Quantiles

STRONG = pd.DataFrame(
    {
        "false_positives": [40, 50, 60, 100, 100, 110, 120, 200, 200, 200],
        "negatives": 1000,
        "false_negatives": [250, 200, 150, 100, 120, 100, 100, 80, 70, 60],
        "positives": 1000,
    }
)


@pytest.fixture(scope="module")
def result() -> Result:
    return divulge.retraining(STRONG, deltas=(1e-3, 0.0))


def test_the_posterior_is_in_the_json(result):
    data = json.loads(result.dumps())
    found = data["posterior"]
    assert set(found["epsilon"]) == {"q05", "q50", "q95"}
    assert found["epsilon"]["q50"] == pytest.approx(2.939, abs=2e-3)
    assert found["strength"]["q50"] == pytest.approx(0.709, abs=2e-3)
    assert [entry["delta"] for entry in found["by_delta"]] == [1e-3, 0.0]
    assert found["highest_density"]["epsilon"][0][0] < found["epsilon"]["q50"]
    assert Result.from_json(data).dumps() == result.dumps()


def test_the_strongest_attack_would_have_claimed_less(result):
    strongest, free = result.posterior.if_strongest_attack, result.posterior.epsilon
    assert strongest.q95 < free.q05


def test_the_bound_is_frequentist_and_the_interval_is_not_called_one(result):
    assert [b.method for b in result.headline()] == ["clopper-pearson"] * 2
    assert result.bounds[0].value < result.posterior.epsilon.q05
    assert "not a confidence bound" in result.verdict.sentence
    assert result.verdict.status == "leak"
    assert check(result, Claim.parse("epsilon=2,delta=1e-3")).refuted
    assert not check(result, Claim.parse("epsilon=3,delta=1e-3")).refuted


def test_the_text_shows_both(result):
    text = str(result)
    assert "Lower bounds" in text
    assert "They are not confidence bounds" in text
    assert "if every attack were the strongest" in " ".join(text.split())


def test_sensitivity_starts_with_the_prior_that_was_used(result):
    rows = result.diagnostics.priors
    assert rows[0].q50 == result.posterior.epsilon.q50
    assert rows[-1].prior_of_strength == "fixed at 1"
    assert rows[-1].q50 == result.posterior.if_strongest_attack.q50
    assert len(rows) == 8


def test_one_row_says_that_the_strength_is_not_identified():
    found = divulge.retraining([[40, 100, 40, 100]], deltas=(0.0,))
    assert any("not identified" in reason for reason in found.verdict.reasons)
    known = divulge.retraining([[40, 100, 40, 100]], strength=1)
    assert not any("not identified" in reason for reason in known.verdict.reasons)


def test_counts_unlike_the_model_are_noticed():
    """False positives at a target error do not spread over a region; even ones do."""
    rng = np.random.default_rng(0)
    odd = [[100, 1000, y, 1000] for y in rng.integers(50, 900, 20)]
    found = divulge.retraining(odd, deltas=(0.0,))
    assert any("do not look like" in reason for reason in found.verdict.reasons)
    from divulge.bounds.error_rates import draw_rates

    x, y = draw_rates(np.full(20, 2.0), np.full(20, 0.3), 0.0, rng)
    counts = np.column_stack(
        [rng.binomial(1000, x), [1000] * 20, rng.binomial(1000, y), [1000] * 20]
    )
    even = divulge.retraining(counts, deltas=(0.0,))
    assert not any("do not look like" in reason for reason in even.verdict.reasons)


def test_correlated_counts_are_fragile_and_have_their_dependence():
    counts = [[10, 60, 3, 60], [8, 60, 12, 60]]
    found = divulge.retraining(counts, deltas=(0.0,), correlated=True)
    assert not found.verdict.robust
    assert "independent decisions" in " ".join(found.verdict.reasons)
    assert "tau_mean" in found.measurements
    plain = divulge.retraining(counts, deltas=(0.0,))
    assert plain.verdict.robust
    assert [b.value for b in found.bounds] == [b.value for b in plain.bounds]
    assert (found.bounds[0].standing, plain.bounds[0].standing) == ("estimated", "proved")


def test_the_margins_of_correlated_counts_are_the_user_s_choice():
    counts = [[10, 60, 0, 60], [8, 60, 12, 60]]
    published = divulge.retraining(counts, deltas=(0.0,), correlated=True, margins="normal")
    exact = correlated(counts, margins="normal").posterior(EpsilonPrior(), StrengthPrior())
    assert published.posterior.epsilon.q50 == pytest.approx(float(exact.quantile(0.5)))
    assert published.provenance["margins"] == "normal"
    default = divulge.retraining(counts, deltas=(0.0,), correlated=True)
    assert default.provenance["margins"] == "beta-binomial"
    assert default.posterior.epsilon.q50 != published.posterior.epsilon.q50
    assert "margins" not in divulge.retraining(counts, deltas=(0.0,)).provenance


def test_the_sampler_beside_the_exact_posterior():
    found = divulge.retraining([[20, 100, 30, 100]], deltas=(0.0,), sampler=2000, seed=1)
    sampled, exact = found.posterior.sampler, found.posterior.epsilon
    assert sampled["epsilon"].q50 == pytest.approx(exact.q50, rel=0.4)
    assert len(found.diagnostics.sampler.autocorrelation) == 201
    again = divulge.retraining([[20, 100, 30, 100]], deltas=(0.0,), sampler=2000, seed=1)
    assert again.posterior == found.posterior


def test_priors_as_text_or_objects():
    row = [[20, 100, 30, 100]]
    text = divulge.retraining(row, prior="exponential:1", strength="beta:2,1")
    objects = divulge.retraining(
        row, prior=EpsilonPrior("exponential", 1), strength=StrengthPrior(2, 1)
    )
    assert text.posterior == objects.posterior
    fixed = divulge.retraining(row, strength="0.5")
    assert fixed.posterior.strength == Quantiles(fixed=0.5)
    assert fixed.diagnostics.joint is None


@pytest.mark.parametrize(
    "names",
    [
        ("X_fp", "N0", "Y_fn", "N1"),
        ("FP", "negative", "FN", "positive"),
        ("false positives", "N_0", "False-Negatives", "n_1"),
        ("x", "n", "y", None),
    ],
)
def test_near_names_are_understood(names):
    columns = {n: v for n, v in zip(names, ([3], [50], [4], [50]), strict=True) if n}
    counts, _ = read_counts(pd.DataFrame(columns))
    assert counts.rows.tolist() == [[3, 50, 4, 50]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"false_positives": 2000}, "false_positives cannot exceed negatives"),
        ({"positives": 0}, "positives must be at least 1"),
        (
            {"false_negatives": 0.25},
            "'false_negatives' must hold whole numbers. Found 0.25 in row 0",
        ),
        ({"negatives": None}, "must be finite|must hold numbers"),
    ],
)
def test_bad_tables(change, message):
    table = STRONG.assign(**change)
    with pytest.raises(InputError, match=message):
        divulge.retraining(table)


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="no column 'false_negatives'"):
        divulge.retraining(STRONG.drop(columns="false_negatives"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deltas": (1.0,)}, "delta must lie"),
        ({"deltas": ()}, "at least one delta"),
        ({"error": 0.0}, "error must lie"),
        ({"strength": 2.0}, "strength must lie"),
        ({"prior": "normal"}, "Cannot read the prior"),
        ({"sampler": 5}, "at least 1000 draws"),
        ({"sampler": 2000, "strength": 1.0}, "strength below 1"),
        ({"correlated": True, "group": "g"}, "not both"),
        ({"margins": "normal"}, "give --correlated too"),
        ({"correlated": True, "margins": "poisson"}, "Unknown margins 'poisson'"),
        ({"group": "g"}, "no column 'g'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        divulge.retraining(STRONG, **options)


def test_groups_without_scatter_are_simply_added():
    counts = np.array([[10.0, 100, 20, 100], [10, 100, 20, 100], [5, 100, 6, 100]])
    pooled, correlation = pool(counts, ["a", "a", "b"])
    assert correlation == 0.0
    assert pooled.tolist() == [[20, 200, 40, 200], [5, 100, 6, 100]]


def test_scatter_within_groups_costs_decisions(rng):
    """Rates scattered with a known variance: the correlation is recovered."""
    r, n, groups, size = 0.05, 200, 60, 8
    mean = rng.uniform(0.2, 0.4, groups)
    rates = rng.beta(mean * (1 / r - 1), (1 - mean) * (1 / r - 1), (size, groups))
    x = rng.binomial(n, rates).T.ravel()
    counts = np.column_stack([x, np.full(x.size, n), x[::-1], np.full(x.size, n)]).astype(float)
    pooled, correlation = pool(counts, [str(k // size) for k in range(x.size)])
    assert correlation == pytest.approx(r, rel=0.3)
    assert pooled[0, 1] == pytest.approx(size * n / (1 + correlation * (n - 1)))
    assert pooled[0, 0] / pooled[0, 1] == pytest.approx(x[:size].sum() / (size * n))


def test_a_group_column(rng):
    table = STRONG.assign(record=["a", "a", "b", "b", "c", "c", "d", "d", "e", "e"])
    found = divulge.retraining(table, group="record", deltas=(0.0,))
    assert found.trials["groups"] == 5
    assert found.provenance["counts"] == "pooled"
    assert found.bounds == divulge.retraining(STRONG, deltas=(0.0,)).bounds


@pytest.mark.slow
def test_two_modes_are_said():
    """Correlated rows at two corners: either a large epsilon, or next to none and correlation."""
    x = [9, 0, 65, 27, 3, 76, 2, 55, 59, 10, 9, 92, 1, 65, 4, 7, 22, 58, 89, 15]
    y = [95, 100, 49, 36, 94, 20, 100, 22, 43, 91, 48, 4, 100, 16, 100, 95, 27, 32, 8, 25]
    counts = np.column_stack([x, [100] * 20, y, [100] * 20])
    found = divulge.retraining(counts, deltas=(1e-3,), correlated=True)
    assert any("more than one mode" in reason for reason in found.verdict.reasons)
    assert len(found.posterior.highest_density.epsilon) == 2


GROUPED = pd.DataFrame(
    {
        "false_positives": [5, 12, 8, 20, 22, 18],
        "negatives": 60,
        "false_negatives": [12, 9, 14, 21, 25, 17],
        "positives": 60,
        "record": list("aaabbb"),
    }
)


@pytest.mark.slow
def test_the_hierarchy_is_stated_beside_pooled_counts():
    """Appendix C in full, and its shortcut: both about the same, and each says which it is."""
    full, pooled = (
        divulge.retraining(GROUPED, group="record", hierarchy=h, deltas=(0.0,))
        for h in (True, False)
    )
    assert full.provenance["counts"] == "hierarchical"
    assert pooled.provenance["counts"] == "pooled"
    assert 0.0 < full.measurements["scatter_mean"] < 0.2
    assert "scatter_mean" not in pooled.measurements
    ends = [r.posterior.epsilon for r in (full, pooled)]
    assert ends[0].q50 == pytest.approx(ends[1].q50, rel=0.3)


def test_a_hierarchy_needs_groups():
    with pytest.raises(InputError, match="give --group too"):
        divulge.retraining(STRONG, hierarchy=True)
