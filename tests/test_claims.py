from __future__ import annotations

import pytest

from divulge.claims import Claim, check, described
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
    ],
)
def test_unreadable_claims(text):
    with pytest.raises(InputError):
        Claim.parse(text)


def test_a_claim_is_described_for_the_report():
    drawn = described(LEAK, Claim.parse("mu=0.5"))
    assert drawn["status"] == "refuted"
    assert len(drawn["curve"]["fpr"]) == len(drawn["curve"]["tpr"])
