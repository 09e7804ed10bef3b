"""A parameter named beforehand: the whole error, the only headline, its own test."""

from __future__ import annotations

import numpy as np
import pytest

import divulge
from divulge.bounds import guessing, independent, weighted
from divulge.errors import InputError
from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import GaussianMechanism, Null
from divulge.proof.headline import ALONE, WEIGHTED, WHOLE_BET
from divulge.proof.prove import prove
from divulge.proof.rule import Named, Rule
from divulge.trials import Trials


def proof(name, trials, deltas=(1e-5,), error=0.05, seeds=1):
    rule = Rule(deltas, error, ("balanced", "prior"), seeds=seeds, headline=Named.of(name))
    return prove(trials, rule, np.random.default_rng(1))


@pytest.fixture(scope="module")
def scored():
    return GaussianMechanism(2.0).sample(3000, np.random.default_rng(5))


NAMES = {
    "mu": ("mu", None, "recursion"),
    "epsilon": ("epsilon", 0.0, WEIGHTED),
    "epsilon@1e-5": ("epsilon", 1e-5, WEIGHTED),
    "epsilon@0.001": ("epsilon", 1e-3, "recursion"),
    "independent:mu": ("mu", None, ALONE),
    "independent:epsilon@1e-5": ("epsilon", 1e-5, ALONE),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_named_one_has_the_whole_error_and_the_others_are_no_headline(scored, name):
    trials = Trials(scored.score, scored.truth)
    found = proof(name, trials)
    (bound,) = [b for b in found.bounds if b.headline]
    assert found.bounds[0] == bound
    assert (bound.parameter, bound.delta, bound.method) == NAMES[name]
    assert bound.confidence == pytest.approx(0.95)
    assert (independent.ASSUMPTION in bound.assumptions) == name.startswith("independent")
    truth = {None: 2.0}.get(bound.delta, GaussianMechanism(2.0).curve.epsilon(bound.delta or 0.0))
    assert 0.5 < bound.value < truth
    keys = [(b.parameter, b.delta, b.correction, b.method) for b in found.bounds]
    assert len(set(keys)) == len(keys)
    plain = prove(trials, Rule((1e-5,), 0.05, ("balanced", "prior")), np.random.default_rng(1))
    like = [b for b in plain.bounds if (b.parameter, b.delta) == (bound.parameter, bound.delta)]
    if like and not name.startswith("independent"):
        assert bound.value > max(b.value for b in like)


def test_where_failures_are_many_independence_buys_nothing_and_is_not_assumed(scored):
    trials = Trials(scored.score, scored.truth)
    delta = f"{1.01 * independent.MOST / scored.score.size:g}"
    alone, free = (proof(f"{n}epsilon@{delta}", trials).bounds[0] for n in ("independent:", ""))
    assert alone == free
    assert independent.ASSUMPTION not in alone.assumptions


def test_priors_of_their_own_go_another_way(scored):
    known = Trials(scored.score, scored.truth, log_odds=np.full(3000, 0.1))
    bet, counted = (proof(n, known) for n in ("epsilon", "epsilon@1e-5"))
    assert (bet.bounds[0].method, counted.bounds[0].method) == (WHOLE_BET, "recursion")
    assert bet.counts is None
    assert bet.bet.epsilon == bet.bounds[0].value
    assert bet.bet.error == 0.05


def test_the_counts_are_those_of_the_named_test(scored):
    trials = Trials(scored.score[:1000], scored.truth[:1000])
    plain = prove(trials, Rule((1e-5,), 0.05, ("balanced", "prior")), np.random.default_rng(1))
    mu = proof("mu", trials)
    assert mu.bounds[0].value == guessing.MU.bound(mu.counts, 0.05)
    weighed = proof("epsilon@1e-5", trials).counts
    assert weighed.trials == 1000 - weighted.learned(1000) != plain.counts.trials
    assert 0.5 < weighed.correct / weighed.guesses < 1.0
    alone = proof("independent:mu", trials).counts
    assert alone.trials == weighed.trials
    assert 0 < alone.correct <= alone.guesses <= alone.trials


def test_a_result_records_the_counts_of_the_named_test(scored):
    score, truth = scored.score[:1000].reshape(-1, 1), scored.truth[:1000]
    found = {
        name: audit_trials(score, truth, headline=Named.of(name)) for name in (None, "epsilon")
    }
    assert found["epsilon"].trials["counted"] == 1000 - weighted.learned(1000)
    assert found[None].trials["counted"] != found["epsilon"].trials["counted"]
    assert found[None].measurements["guesses"] != found["epsilon"].measurements["guesses"]
    loaded = audit_trials(
        score[:100],
        truth[:100],
        probability=0.9,
        headline=Named.of("epsilon"),
    )
    assert "guesses" not in loaded.measurements
    assert "counted" not in loaded.trials
    assert loaded.trials["revealed"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_nothing_leaks_nothing_is_proved(name):
    drawn = Null().sample(600, np.random.default_rng(2))
    assert proof(name, Trials(drawn.score, drawn.truth)).bounds[0].value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        *("", "eps", "mu@1e-5", "epsilon@", "epsilon@0", "epsilon@1", "epsilon@nan"),
        *("epsilon@-1e-5", "epsilon@1e-5@2", "independent:", "independent:epsilon"),
        *("dependent:mu", ":mu", 3),
    ],
)
def test_what_cannot_be_named(text):
    with pytest.raises(InputError, match="headline must be"):
        Named.of(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_written_as_it_is_read(name):
    assert Named.of(str(Named.of(name))) == Named.of(name)
    assert Named.of(None) is None


def table(n=600, leak=1.5):
    rng = np.random.default_rng(3)
    member = np.repeat([1, 0], n)
    return {"member": member, "score": leak * member + rng.normal(size=2 * n)}


def test_membership_states_what_was_named():
    found = divulge.membership(table(), score="score", lower_is_member=False, headline="mu")
    assert [b.parameter for b in found.headline()] == ["mu"]
    assert found.provenance["headline"] == "mu"
    assert "95% confidence, mu is at least" in found.verdict.sentence
    assert found.measurements["gamma_star"] > 1.2


def test_independent_scores_are_never_robust():
    found = divulge.membership(
        table(), score="score", lower_is_member=False, headline="independent:mu"
    )
    assert found.headline()[0].value > 0.8
    assert not found.verdict.robust
    assert any("own coin only" in reason for reason in found.verdict.reasons)


@pytest.mark.slow
def test_several_seeds_agree_on_the_named_one():
    found = divulge.membership(
        table(), score="score", lower_is_member=False, headline="epsilon@1e-5", seeds=3
    )
    (bound,) = found.headline()
    assert bound.value > 0.5
    assert "2 of 3 seeds" in bound.theorem
    assert "headline" not in divulge.membership(table(), score="score").provenance


def test_helpers_speak_of_all_bounds():
    with pytest.raises(InputError, match="helpers"):
        divulge.membership(table(), score="score", helpers=3, headline="mu")
