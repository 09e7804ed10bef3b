"""A parameter named beforehand: the whole error, the only headline, its own test."""

from __future__ import annotations

import numpy as np
import pytest

import divulge
from divulge.bounds import independent
from divulge.errors import InputError
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


def test_priors_of_their_own_go_another_way(scored):
    known = Trials(scored.score, scored.truth, log_odds=np.full(3000, 0.1))
    methods = [proof(n, known).bounds[0].method for n in ("epsilon", "epsilon@1e-5")]
    assert methods == [WHOLE_BET, "recursion"]


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
