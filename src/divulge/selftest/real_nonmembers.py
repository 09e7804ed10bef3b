"""Audits with real non-members beside generated records: memory told from knowledge.

The dangerous target knows the population better than generator, baseline and helpers do. Nothing
leaks, and every real record, member or not, looks remembered beside the generated ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.games.synthetic import play
from divulge.games.synthetic.answers import Work
from divulge.games.synthetic.prepare import Material
from divulge.games.synthetic.seen import Seen
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading, by_name

MEMBERS = 1000
SHARE = 0.1
COLUMNS = 3


@dataclass(frozen=True)
class RealPopulation:
    """Records that a generator draws perfectly, and a target with one normal answer for each."""

    members: int
    nonmembers: int
    knows: float = 0.0
    """By how many standard deviations the target's loss is smaller on real records."""
    remembers: float = 0.0
    """And on members besides: the mu of the leak."""

    def material(self, rng: np.random.Generator) -> Material:
        """What is played: members, as many generated records, and real non-members."""
        sizes = (self.members, self.members, self.nonmembers)
        real, made, outside = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
        loss = rng.normal(size=sum(sizes))
        loss[real] -= self.knows + self.remembers
        loss[outside] -= self.knows
        record = rng.normal(size=(sum(sizes), COLUMNS))
        return Material(
            seen=Seen(record, rng.normal(size=(sum(sizes), 1)), loss[:, None]),
            names=tuple(f"x_{j}" for j in range(COLUMNS)),
            real=real,
            generated=made,
            outside=outside,
            copies=0,
            twins=0.0,
            odd=(),
            taught=0,
            helper="given",
            generator="given",
            complete=True,
        )


@dataclass(frozen=True)
class ControlPlay:
    """One whole audit with real non-members: its headline bounds."""

    population: RealPopulation

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        work = Work({}, seed=int(rng.integers(2**31)))
        result = play.play(self.population.material(rng), error=error, work=work)
        return by_name(result.headline())


def cases() -> Iterator[Case]:
    """Knowledge without memory, small and large controls; memory on top of unseen knowledge."""
    rows = [(knows, 0.0, n) for knows in (0.5, 1.0) for n in (500, 2000)]
    for knows, remembers, nonmembers in (*rows, (0.5, 1.0, 500)):
        for parameter in ("mu", "epsilon"):
            if parameter == "epsilon" and remembers > 0.0:
                continue  # a normal answer has no epsilon at delta 0
            delta = None if parameter == "mu" else 0.0
            population = RealPopulation(MEMBERS, nonmembers, knows, remembers)
            yield Case(
                bound=f"synthetic {parameter}, real non-members",
                parameter=parameter,
                delta=delta,
                mechanism=f"knows the population by {knows:g}, remembers {remembers:g}",
                setting=f"{MEMBERS} members, {nonmembers} real non-members",
                play=Reading(ControlPlay(population), (parameter, delta)),
                truth=remembers,
                share=SHARE,
            )
