"""Every planted error, and the row of the self-test that convicts it.

    python tests/support/mutations.py [--only WORDS]

Exits with 1 if more than two are missed. What is caught by an exact check is also tried in every
``make test``; games are those of the quick form, or of the rows that the error affects.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from functools import cache

from errors_elsewhere import ELSEWHERE
from errors_in_bounds import IN_BOUNDS
from mutating import Mutation, applied

from divulge import selftest
from divulge.selftest.case import Check
from divulge.selftest.run import QUICK_REPETITIONS

MUTATIONS = IN_BOUNDS + ELSEWHERE
MISSED_AT_MOST = 2


@cache
def rows(*, quick: bool) -> tuple[selftest.Case | selftest.Check, ...]:
    """The rows of either form, made before any error is."""
    return tuple(selftest.cases(quick=quick))


def rows_of(mutation: Mutation) -> list[selftest.Case | selftest.Check]:
    """The rows that the error affects, of the quick form where they are in it."""
    chosen = rows(quick=mutation.quick)
    found = [c for c in chosen if any(part in c.label for part in mutation.sees)]
    assert found, mutation.name
    return found


def convicted(mutation: Mutation, *, exact_only: bool = False) -> list[str]:
    """Rows that fail while the error is there, at the level of the whole quick form.

    The first exact check that does; where none does, of the games all that do.
    """
    affected = rows_of(mutation)
    among = len(rows(quick=True))
    checks = [c for c in affected if isinstance(c, Check)]
    games = [c for c in affected if not isinstance(c, Check)]
    with applied(mutation), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (*([check] for check in checks), [] if exact_only else games):
            if part:
                done = selftest.run(part, repetitions=QUICK_REPETITIONS, among=among)
                failed = [f"{r.bound} | {r.mechanism}" for r in done if not r.holds]
                if failed:
                    return failed
    return []


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], help="errors with this in their name")
    chosen = parser.parse_args(arguments)
    some = [m for m in MUTATIONS if any(part in m.name for part in chosen.only)]
    caught: dict[str, list[str]] = {}
    for place, mutation in enumerate(some):
        began = time.monotonic()
        caught[mutation.name] = convicted(mutation)
        told = "caught" if caught[mutation.name] else "MISSED"
        took = f"{time.monotonic() - began:.0f} s"
        print(f"{place + 1} of {len(some)}: {told}: {mutation.name}, {took}", file=sys.stderr)
    show(some, caught)
    sys.exit(sum(not by for by in caught.values()) > MISSED_AT_MOST)


def show(some: Sequence[Mutation], caught: dict[str, list[str]]) -> None:
    """How many, and each of them."""
    by_checks = [m for m in some if m.cheap]
    by_games = [m for m in some if not m.cheap]
    print("| seen by | errors | caught |")
    print("|---|---|---|")
    for name, own in (("exact checks", by_checks), ("games", by_games), ("all", some)):
        print(f"| {name} | {len(own)} | {sum(bool(caught[m.name]) for m in own)} |")
    print("\n| error | where | convicted by |")
    print("|---|---|---|")
    for m in some:
        by = caught[m.name]
        more = f" and {len(by) - 1} more" if len(by) > 1 else ""
        told = by[0].replace(" | ", ", ") + more if by else "**missed**"
        print(f"| {m.name} | `{m.where.removeprefix('divulge.')}` | {told} |")


if __name__ == "__main__":
    main()
