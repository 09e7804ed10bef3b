"""A claim as an assertion, for tests."""

from __future__ import annotations

import os
from typing import Any


def assert_privacy(
    result: Any,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    mu: float | None = None,
    neighbours: str | None = None,
    undecided: str = "fail",
) -> None:
    """AssertionError if a result, or the file of one, refutes epsilon at delta, or mu.

    ``neighbours`` of the claim: "added" or "replaced", as in ``divulge.check``.
    """
    from divulge.claims import Claim, check
    from divulge.errors import require
    from divulge.result import Result

    require(undecided in ("fail", "pass"), f"undecided is 'fail' or 'pass'. Found {undecided!r}.")
    require((epsilon is None) != (mu is None), "Claim epsilon (with delta), or mu.")
    found = Result.load(result) if isinstance(result, str | os.PathLike) else result
    judgement = check(found, Claim(epsilon, delta, mu, neighbours))
    if judgement.refuted or (not judgement.comparable and undecided == "fail"):
        raise AssertionError(judgement.sentence)
