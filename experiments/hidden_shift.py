"""What remains: tables whose shift nobody sees in the features, and a model that leaks nothing.

    python experiments/hidden_shift.py [--games 4] [--rows 4000] [--kinds hidden|coded|all]

Every claim is false. Of the *coded* kinds the encoder reads the meaning off the columns (weekday,
hour, last digit, area); of the *hidden* ones nothing here does, and the table says how large a
false claim can get. Each table is audited without a control, and with one that knows as much as the
target does, whose training is stated. Prints a table of claims.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.result import Result
from divulge.selftest.coded_tables import CODED, HIDDEN
from divulge.selftest.hostile import audit

KINDS = {"coded": tuple(CODED), "hidden": tuple(HIDDEN), "all": (*CODED, *HIDDEN)}


def claimed(result: Result) -> float:
    """The largest headline bound on epsilon or mu."""
    return max((b.value for b in result.headline()), default=0.0)


def main() -> None:
    """Play, count and print, a row at a time."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--games", type=int, default=4)
    options.add_argument("--rows", type=int, default=4000)
    options.add_argument("--kinds", default="all", choices=list(KINDS))
    given = options.parse_args()
    table = Table("kind", "control", "games", "claims", "mean", "largest", "refused", "robust")
    for place, kind in enumerate(KINDS[given.kinds]):
        for control in (False, True):
            results = [
                audit(kind, given.rows, 0.05, np.random.default_rng([place, game]), control=control)
                for game in range(given.games)
            ]
            values = [claimed(r) for r in results]
            row = (
                kind,
                "yes" if control else "no",
                str(given.games),
                str(sum(v > 0.0 for v in values)),
                f"{np.mean(values):.3f}",
                f"{max(values):.3f}",
                str(sum(r.verdict.status == "cannot conclude" for r in results)),
                str(sum(r.verdict.robust for r in results)),
            )
            print(*row, sep=" | ", flush=True)
            table.add_row(*row)
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
