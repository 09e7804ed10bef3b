"""What is said about line-ups: ranks as measurements, the bounds, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge.games.lineup.read import LineUps
from divulge.proof import state
from divulge.proof.lineup import LineUpProof
from divulge.result import Diagnostics, Result, Verdict
from divulge.result.of_lineup import Ranks
from divulge.result.shared import DrawRecord
from divulge.text import rounding
from divulge.types import Array, Index

BINS = 32
NAMED = 4
"""Score columns that are listed by name, where there are no more."""
TOP = 0.05
RULE = (
    "every line-up is shown in a random order and revealed in a random order; what is guessed is "
    "learned from the first of them, and counted on the others"
)


@dataclass(frozen=True)
class Ranking:
    """The rank of every true value among its candidates by the (first) score, 1 the largest."""

    rank: Index = field(repr=False)
    candidates: int

    @property
    def exposure(self) -> Array:
        """log2 of the candidates less log2 of the rank."""
        return np.asarray(np.log2(self.candidates) - np.log2(self.rank))

    def measured(self) -> dict[str, Any]:
        """Mean rank, shares at the top, mean reciprocal rank, exposure."""
        top = max(1, int(TOP * self.candidates))
        return {
            "mean_rank": float(self.rank.mean()),
            "mean_rank_by_chance": 0.5 * (self.candidates + 1.0),
            "top_1": float((self.rank == 1).mean()),
            f"top_{TOP:.0%}".replace("%", "_percent"): float((self.rank <= top).mean()),
            "mean_reciprocal_rank": float((1.0 / self.rank).mean()),
            "exposure_mean": float(self.exposure.mean()),
            "exposure_max": float(self.exposure.max()),
        }

    def histogram(self) -> Ranks:
        """Every rank, or at most 32 groups of ranks."""
        edges = np.unique(np.linspace(1, self.candidates + 1, BINS + 1).astype(np.intp))
        counts = np.histogram(self.rank, np.r_[edges[:-1], edges[-1] - 0.5])[0]
        expected = np.diff(edges) * self.rank.size / self.candidates
        return Ranks(
            edges=tuple(map(float, edges)),
            records=tuple(map(int, counts)),
            by_chance=tuple(map(float, expected)),
            candidates=self.candidates,
            mean_rank=float(self.rank.mean()),
        )

    def table(self, ids: Any, copies: Index) -> Any:
        """An Arrow table, the most exposed first."""
        import pyarrow as pa

        order = np.argsort(self.rank, kind="stable")
        return pa.table(
            {
                "id": ids.take(pa.array(order)),
                "rank": self.rank[order],
                "candidates": np.full(order.size, self.candidates),
                "exposure": self.exposure[order],
                "copies": copies[order],
            }
        )


def rank(read: LineUps, rng: np.random.Generator) -> Ranking:
    """Ranks of the true values, which stand first; ties are broken at random."""
    score = read.score if read.score.ndim == 2 else read.score[:, :, 0]
    there = np.ones(score.shape, dtype=bool) if read.prior is None else read.prior > 0.0
    own, other = score[:, :1], score[:, 1:]
    tied = ((other == own) & there[:, 1:]).sum(axis=1)
    above = ((other > own) & there[:, 1:]).sum(axis=1)
    return Ranking(1 + above + rng.integers(0, tied + 1), read.candidates)


def result(
    read: LineUps,
    proof: LineUpProof,
    ranking: Ranking,
    *,
    error: float,
    provenance: Mapping[str, Any],
) -> Result:
    """The verdict rests on a design, so a finding is robust unless the design is in doubt."""
    counts = proof.counts
    measured = ranking.measured()
    trials: dict[str, Any] = {
        **described(read),
        "revealed": proof.bet.trials,
        "counted": 0 if counts is None else counts.trials,
    }
    if counts is not None:
        measured["guesses"], measured["correct_guesses"] = counts.guesses[-1], counts.correct[-1]
    return Result(
        game="lineup",
        verdict=_verdict(proof, error, read.doubts),
        bounds=tuple(
            replace(bound, assumptions=(*bound.assumptions, *read.assumptions))
            for bound in proof.bounds
        ),
        measurements=measured,
        trials=trials,
        diagnostics=Diagnostics(
            ranks=ranking.histogram(),
            wealth=state.wealth(proof.bet),
            draw=DrawRecord(
                trials=len(read),
                records=read.records,
                learned_from=proof.learned,
                audited=len(read) - proof.learned,
                rule=RULE,
            ),
        ),
        provenance=provenance,
    )


def described(read: LineUps) -> dict[str, Any]:
    """How many line-ups there are, and of what."""
    names = read.names
    return {
        "lineups": len(read),
        "candidates": read.candidates,
        "records": read.records,
        "most_copies": int(read.copies.max(initial=1)),
        "scores": list(names)
        if len(names) <= NAMED
        else f"{len(names)} columns, {names[0]} to {names[-1]}",
    }


def _verdict(proof: LineUpProof, error: float, doubts: tuple[str, ...]) -> Verdict:
    found = state.leaking(proof.bounds)
    if not found:
        return Verdict("no evidence", False, state.nothing_proved(error), doubts)
    sentence = (
        "The model gives away the true values of its training records: with "
        f"{rounding.confidence(error)} confidence, {state.findings_in_words(found)}."
    )
    return Verdict("leak", not doubts, sentence, doubts)
