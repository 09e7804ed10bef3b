"""Which games of the ledger need not be played again after a guard was strengthened?

A digest calls a row stale if code that it can reach has changed (``selftest/uses.py``): that is
more than a game executes. Games of the code before are kept, under the present digest, where they
must be the same:

- rows whose games never call the functions that the change sits behind (``--behind``); some games
  of each are played with these functions broken, and must end as if they were not;
- with ``--only-lowers``, after a change of which a person can *show* that it only ever lowers a
  bound: rows in which nothing leaks and every claim was 0, with no control and no helpers about. A
  lower bound than 0 there is none. Some games of each are played again, and must claim 0.

All others are stale and played again. An entry that was kept says so, and since when.

    python tools/keep_games.py --before HEAD~1 --behind divulge.shift.robust:fit --only-lowers
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import numpy as np

from divulge.selftest import ledger, uses
from divulge.selftest.case import Case
from divulge.selftest.cases import cases
from divulge.selftest.ledger import Entry
from divulge.selftest.readings import Reading, game_of

AROUND = ("control", "helpers", "texts", "documents")
"""Where a claim also depends on what another audit finds: a lower bound there may free one here."""
DIGESTS = """
import json
from divulge.selftest import uses
from divulge.selftest.cases import cases
print(json.dumps({case.label: uses.digest(case) for case in cases()}))
"""


class Reached(Exception):
    """The function behind which the change sits was called."""


def digests_at(revision: str) -> dict[str, str]:
    """The digest of every row by the code of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "archive", revision, "src"], check=True, capture_output=True
        ).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        done = subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={"PYTHONPATH": f"{folder}/src"},
            check=True,
            capture_output=True,
        )
        return dict(json.loads(done.stdout))


def claims(case: Case, games: int, seed: int = 0) -> list[float]:
    """What the first games of a row claim."""
    play = case.play
    name = repr(play.game) if isinstance(play, Reading) else case.label
    entropy = [seed, zlib.crc32(name.encode())]
    dealt = [np.random.SeedSequence(entropy, spawn_key=(k,)) for k in range(games)]
    return [play(0.05, np.random.default_rng(own)) for own in dealt]


def reaches(case: Case, behind: Sequence[str], games: int) -> bool:
    """Whether some of its games call one of the functions."""
    called: list[int] = []

    def broken(*_: object, **__: object) -> None:
        called.append(1)
        raise Reached

    functions = [
        getattr(import_module(module), name)
        for module, _, name in (place.partition(":") for place in behind)
    ]
    holders = [
        (other, held)
        for other in list(sys.modules.values())
        if getattr(other, "__name__", "").startswith("divulge")
        for held in vars(other)
        if any(vars(other)[held] is function for function in functions)
    ]
    patches = [patch.object(other, held, broken) for other, held in holders]
    for each in patches:
        each.start()
    try:
        claims(case, games)
    except Reached:
        pass
    finally:
        for each in patches:
            each.stop()
    return bool(called)


def main() -> None:
    """Tell, and with ``--write`` keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, help="the revision before the change")
    parser.add_argument(
        "--behind", required=True, nargs="+", help="module:function, one or more, that lead to it"
    )
    parser.add_argument("--only-lowers", action="store_true", help="no bound can be higher for it")
    parser.add_argument("--games", type=int, default=4, help="how many of a row are played")
    parser.add_argument("--ledger", type=Path, default=Path("docs/evidence"))
    parser.add_argument("--write", action="store_true", help="keep them in the ledger")
    options = parser.parse_args()
    before = digests_at(options.before)
    known = {c.label: c for c in cases() if isinstance(c, Case)}
    now = {label: uses.digest(case) for label, case in known.items()}
    changed = [label for label in known if label in before and before[label] != now[label]]
    entries: dict[str, list[Entry]] = defaultdict(list)
    for entry in ledger.read(options.ledger):
        if entry.code == before.get(entry.row) and entry.row in changed:
            entries[entry.row].append(entry)
    reached: dict[object, bool] = {}
    kept: dict[str, str] = {}
    for place, label in enumerate(changed):
        case, own = known[label], entries[label]
        game = game_of(case)
        if game not in reached:
            reached[game] = reaches(case, options.behind, options.games)
        if not own:
            continue
        if not reached[game]:
            kept[label] = "does not reach the change"
        elif options.only_lowers and silent(case, own) and not any(claims(case, options.games)):
            kept[label] = "every claim was 0"
        print(f"{place + 1} of {len(changed)}: {label}: {kept.get(label, 'stale')}", flush=True)
    tell(kept, changed, entries)
    if options.write:
        write(options.ledger, kept, entries, now, options.before)


def silent(case: Case, own: list[Entry]) -> bool:
    """Whether nothing leaks, no other audit is about, and all of its games claimed 0."""
    about = any(word in case.label for word in AROUND)
    return case.truth == 0.0 and not about and not any(e.total or e.false for e in own)


def tell(kept: dict[str, str], changed: list[str], entries: dict[str, list[Entry]]) -> None:
    """How many rows and games."""
    for reason in sorted(set(kept.values())):
        rows = [label for label, why in kept.items() if why == reason]
        games = sum(e.games for label in rows for e in entries[label])
        print(f"{len(rows)} rows, {games} games: {reason}")
    print(f"{len(changed) - len(kept)} of {len(changed)} rows are to be played again")


def write(
    folder: Path,
    kept: dict[str, str],
    entries: dict[str, list[Entry]],
    now: dict[str, str],
    before: str,
) -> None:
    """The same games under the present digest."""
    day: Callable[[], str] = lambda: datetime.now(UTC).date().isoformat()  # noqa: E731
    with ledger.writing(folder) as writer:
        for label, reason in kept.items():
            for entry in entries[label]:
                made = f"{entry.made} | kept {day()} from {before}: {reason}"
                writer.append(replace(entry, code=now[label], made=made))


if __name__ == "__main__":
    main()
