"""What is said about true values among candidates, in whichever game they were drawn.

Ranks as measurements, the bounds, and the verdict.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge import __version__
from divulge.data.table_files import write_table
from divulge.errors import CannotConclude
from divulge.proof import state
from divulge.proof.lineup import LineUp, LineUpProof
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.result import Diagnostics, Result, Verdict
from divulge.result.of_lineup import Ranks
from divulge.result.shared import DrawRecord
from divulge.text import rounding
from divulge.types import Array, Index, Progress

LEAST = 20
"""Fewer line-ups than this prove nothing."""
BINS = 32
NAMED = 4
"""Score columns that are listed by name, where there are no more."""
TOP = 0.05
RULE = (
    "every line-up is shown in a random order and revealed in a random order; what is guessed is "
    "learned from the first of them, and counted on the others"
)


@dataclass(frozen=True)
class LineUps:
    """The scores of every line-up, the true value's first, rows in the order of their content."""

    score: Array = field(repr=False)
    """A row per line-up, a column per candidate, and a last axis of several scores if there are."""
    copies: Index = field(repr=False)
    """Training records that the true value stands in."""
    ids: Any = field(repr=False)
    """An Arrow column: what names each line-up."""
    names: tuple[str, ...]
    inputs: tuple[dict[str, str], ...]
    records: int
    """Rows of the table, or line-ups of a long one; more than line-ups where values are shared."""
    prior: Array | None = field(default=None, repr=False)
    """Where candidates are not equally probable."""
    assumptions: tuple[str, ...] = ()
    """What the draws rest on, beyond what every line-up does."""
    doubts: tuple[str, ...] = ()
    """Why the values may not have been drawn as stated."""

    def __len__(self) -> int:
        return len(self.score)

    @property
    def candidates(self) -> int:
        """How many values each line-up shows."""
        return int(self.score.shape[1])


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


def own_first(matrix: Array, value: Index) -> Array:
    """Scores by row and candidate, with the true one's put first."""
    count = matrix.shape[1]
    places = (value[:, None] + np.arange(count)) % count
    return np.asarray(np.take_along_axis(matrix, places, axis=1))


def require_enough(lineups: int) -> None:
    """CannotConclude where there are too few to prove anything."""
    if lineups < LEAST:
        raise CannotConclude(f"{lineups} line-ups are too few; an audit needs at least {LEAST}.")


def rank(read: LineUps, rng: np.random.Generator) -> Ranking:
    """Ranks of the true values, which stand first; ties are broken at random."""
    score = read.score if read.score.ndim == 2 else read.score[:, :, 0]
    there = np.ones(score.shape, dtype=bool) if read.prior is None else read.prior > 0.0
    own, other = score[:, :1], score[:, 1:]
    tied = ((other == own) & there[:, 1:]).sum(axis=1)
    above = ((other > own) & there[:, 1:]).sum(axis=1)
    return Ranking(1 + above + rng.integers(0, tied + 1), read.candidates)


def audit(
    found: LineUps,
    *,
    deltas: Sequence[float],
    error: float,
    rng: np.random.Generator,
    provenance: dict[str, Any],
    table: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """The audit of line-ups, wherever they come from: prove, rank, state, write."""
    require_enough(len(found))
    if np.ptp(found.score, axis=1).max() == 0.0:
        raise CannotConclude("In every line-up all candidates have the same score.")
    ranking = rank(found, rng)
    trials = LineUp(found.score, np.zeros(len(found), dtype=np.intp), found.prior, found.copies)
    proof = prove(trials, Rule(tuple(deltas), error), rng, progress)
    result = _result(found, proof, ranking, error=error, provenance=provenance)
    if table is not None:
        write_table(table, [ranking.table(found.ids, found.copies)], {"divulge": __version__})
    return result


def _result(
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
