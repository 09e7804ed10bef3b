from __future__ import annotations

import pytest

from divulge.claims import Claim, check, described
from divulge.curves import epsilon_from_mu
from divulge.errors import InputError
from divulge.result import Bound, Result, Verdict


def bound(parameter: str, value: float, delta: float | None = None, headline: bool = True) -> Bound:
    return Bound(parameter, value, 0.975, "m", "t", (), delta=delta, headline=headline)


def result(*bounds: Bound, status: str = "leak") -> Result:
    return Result("membership", Verdict(status, True, "A sentence."), bounds)


LEAK = result(bound("mu", 0.8), bound("epsilon", 2.5, 0.0), bound("epsilon", 2.4, 1e-5))


@pytest.mark.parametrize(
    ("claim", "code"),
    [
        ("epsilon=8,delta=1e-5", 0),
        ("epsilon=2,delta=1e-5", 1),
        ("epsilon=2.45", 1),
        ("epsilon=1", 1),
        ("epsilon=2, delta=1e-6", 1),
        ("epsilon=2,delta=1e-4", 3),
        ("mu=1", 0),
        ("mu=0.5", 1),
        ("mu=0.7", 1),
    ],
)
def test_exit_codes(claim, code):
    assert check(LEAK, Claim.parse(claim)).exit_code == code


def test_only_headline_bounds_count():
    quiet = result(bound("mu", 5.0, headline=False), bound("epsilon", 0.0, 1e-5))
    assert check(quiet, Claim.parse("mu=1")).exit_code == 0
    assert check(result(bound("epsilon", 9.0, 0.0)), Claim.parse("mu=1")).exit_code == 3


def test_pure_epsilon_limits_mu():
    assert check(result(bound("mu", 2.0)), Claim.parse("epsilon=0.5")).exit_code == 1
    assert check(result(bound("mu", 2.0)), Claim.parse("epsilon=0.5,delta=1e-5")).exit_code == 3


def test_nothing_concluded_is_not_comparable():
    assert check(result(status="cannot conclude"), Claim.parse("mu=1")).exit_code == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "eps=8",
        "epsilon",
        "epsilon=-1",
        "mu=x",
        "mu=1,epsilon=2",
        "delta=1e-5",
        "epsilon=1,delta=1",
        "mu=1,delta=0.1",
        "mu=1,mu=2",
        "mu=nan",
        "mu=1,neighbours=both",
        "mu=1,neighbours=added,neighbours=added",
        "neighbours=added",
    ],
)
def test_unreadable_claims(text):
    with pytest.raises(InputError):
        Claim.parse(text)


def test_a_claim_is_described_for_the_report():
    drawn = described(LEAK, Claim.parse("mu=0.5"))
    assert drawn["status"] == "refuted"
    assert len(drawn["curve"]["fpr"]) == len(drawn["curve"]["tpr"])


def of(game: str, *bounds: Bound) -> Result:
    return Result(game, Verdict("leak", True, "A sentence."), bounds)


@pytest.mark.parametrize("game", ["membership", "synthetic", "attribute", "lineup", "unheard-of"])
def test_replacing_is_removing_and_adding(game):
    found = of(game, bound("mu", 0.8), bound("epsilon", 2.5, 0.0))
    for claim, code in [
        ("epsilon=1.3,neighbours=added", 0),
        ("epsilon=1.2,neighbours=added", 1),
        ("mu=0.39,neighbours=added", 1),
        ("mu=0.41,neighbours=added", 0),
        ("epsilon=2.4,neighbours=replaced", 1),
        ("epsilon=2.6,neighbours=replaced", 0),
    ]:
        assert check(found, claim).exit_code == code, claim


def test_two_steps_cost_more_delta():
    """e^2 + 1 = 8.39: the bound must stand at a delta of 8.4e-5 or more."""
    claim = "epsilon=2,delta=1e-5,neighbours=added"
    assert check(of("membership", bound("epsilon", 4.5, 9e-5)), claim).refuted
    narrow = check(of("membership", bound("epsilon", 4.5, 8e-5)), claim)
    assert narrow.exit_code == 3
    assert "with delta 8.39e-05 or more" in narrow.sentence
    assert check(of("canaries", bound("epsilon", 2.1, 1e-5)), claim).refuted


def test_two_steps_of_a_weak_claim_promise_nothing():
    """e^20 times 1e-5 is far above 1: no audit could refute it."""
    unlike = check(LEAK, "epsilon=20,delta=1e-5,neighbours=added")
    assert unlike.exit_code == 3
    assert "promise nothing" in unlike.sentence


def test_an_added_record_says_nothing_about_a_replaced_one():
    found = of("canaries", bound("epsilon", 2.5, 0.0))
    assert check(found, "epsilon=1,neighbours=added").refuted
    unlike = check(found, "epsilon=1,neighbours=replaced")
    assert unlike.exit_code == 3
    assert "neither follows" in unlike.sentence


def test_a_refutation_that_depends_on_the_neighbours_says_so():
    close, far = check(LEAK, "epsilon=2"), check(LEAK, "epsilon=1")
    assert close.refuted
    assert far.refuted
    assert "neighbours=added" in close.sentence
    assert "neighbours" not in far.sentence
    assert "neighbours" not in check(of("canaries", *LEAK.bounds), "epsilon=2").sentence


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_a_gaussian_of_twice_the_shift_is_never_refuted_falsely(mu):
    """N(0, 1) against N(2 mu, 1): what a sum with that noise shows when a record is replaced."""
    for delta in (1e-5, 1e-2):
        exact = epsilon_from_mu(2 * mu, delta)
        found = of("membership", bound("mu", 2 * mu), bound("epsilon", exact, delta))
        assert not check(found, f"mu={mu},neighbours=added").refuted
        assert check(found, f"mu={mu},neighbours=replaced").refuted


def test_the_report_draws_what_the_claim_means_for_the_game():
    plain, added = (described(LEAK, Claim.parse("mu=0.5" + n)) for n in ("", ",neighbours=added"))
    assert described(LEAK, Claim.parse("mu=1"))["curve"]["tpr"] == added["curve"]["tpr"]
    assert plain["curve"]["tpr"] != added["curve"]["tpr"]
    assert added["text"] == "mu = 0.5 for a record added"
