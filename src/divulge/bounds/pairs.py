"""Pairs: what guesses between a record's own value and another one prove of mu, or at delta.

A record's value y has the distribution ``w`` given what the record shows. Another value v is drawn
by a kernel ``K(v | y)`` with ``w_y K(v | y) = w_v K(y | v)``, without the model: given the
unordered pair either value is the record's own with probability 1/2, independently over the
records, and a mechanism that is f-DP under replacement of the value is f-DP between the two. So the
pairs are a game of fair coins, and the f-DP recursion applies as it stands.

Drawing v from w itself is such a kernel, but often v = y, and the trial is void. Here v is proposed
in proportion to w among the other values and kept with probability ``min(1, (1 - w_y) / (1 -
w_v))`` (the Metropolised Gibbs sampler), so that ``w_y K(v | y) = w_y w_v min(1/(1 - w_y), 1/(1 -
w_v))``, which is symmetric and at least ``w_y w_v``: every pair is drawn at least as often. For two
values it keeps a record with probability ``min(1, w_v / w_y)``, which is balancing; for even ones
no trial is void at all.

*Priors that are not known exactly.* If the record's prior odds of a against b may exceed those of w
by a factor ``e^u`` with ``u = up_a + down_b``, a guess of a is right with log-odds of u at most
before the model is asked. A right guess is then kept with probability ``e^-u`` (balancing towards
the guess): what is kept is right with probability at most 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from divulge.bounds.choice import least
from divulge.bounds.guessing import Counts, Target, choose_guesses
from divulge.types import Array, Index

_MOST_REHEARSED = 1_000_000


@dataclass(frozen=True)
class Pairing:
    """What pairs are drawn with, and what is guessed of them: a row per record, a column per value.

    All of it is fixed before a pair is drawn, and depends on no value of these records.
    """

    prior: Array = field(repr=False)
    """w: what values are drawn with; 0 for a value that is not there."""
    lift: Array = field(repr=False)
    """``log(q / w)`` of the forecast q."""
    up: Array = field(repr=False)
    """By how much the prior may favour a value more than w does, in logarithms."""
    down: Array = field(repr=False)
    """And by how much less."""
    trim: float = np.inf
    """No guess where the prior may be off by more, for both values together."""

    def draw(self, own: Index, rng: np.random.Generator) -> Index:
        """Another value for each record; -1 where the trial is void."""
        from divulge.bounds import compiled_values

        return np.asarray(
            compiled_values.draw_partners(own, self.prior, rng.random((own.size, 2))), dtype=np.intp
        )

    def evidence(self, own: Index, partner: Index, rng: np.random.Generator) -> Array:
        """Of the pairs that are kept: positive where the guess is right, 0 where there is none."""
        from divulge.bounds import compiled_values

        return np.asarray(
            compiled_values.pair_evidence(
                own, partner, self.lift, self.up, self.down, rng.random(own.size), self.trim
            )
        )

    def some(self, rows: Index) -> Pairing:
        """Of some records."""
        parts = (self.prior[rows], self.lift[rows], self.up[rows], self.down[rows])
        return Pairing(*parts, self.trim)


def share_to_guess(
    rehearsed: Array, audited: int, error: float, deltas: tuple[float, ...] = ()
) -> float:
    """The share of the pairs to guess, by evidence of pairs whose values are all revealed.

    The number is chosen from scores, which is paid for (``choice.py``). ``audited`` pairs will be
    counted; as many are pretended here.
    """
    size = np.sort(np.abs(rehearsed))[::-1]
    if size.size == 0 or size[0] == 0.0:
        return 0.0
    times = max(1, min(audited // size.size, _MOST_REHEARSED // size.size))
    size = np.repeat(size, times)
    return choose_guesses(expit(size), target=Target(), error=error, deltas=deltas) / size.size


def number_to_guess(share: float, trials: int) -> int:
    """The share of the trials, or none; not fewer than are ever considered."""
    return max(round(share * trials), least(trials, None)) if share > 0.0 else 0


def count_top(evidence: Array, guesses: int, rng: np.random.Generator) -> Counts:
    """Guess the trials with the strongest evidence, which is positive where the guess is right.

    Ties, and the sign of no evidence, are broken at random.
    """
    if guesses == 0 or evidence.size == 0:
        return Counts(max(1, evidence.size), 0, 0)
    size = np.abs(evidence)
    weakest = np.partition(size, size.size - guesses)[size.size - guesses]
    above = size > weakest
    sure, open_ = int(above.sum()), size == weakest
    right, wrong = int((evidence[open_] > 0.0).sum()), int((evidence[open_] < 0.0).sum())
    if weakest > 0.0:
        more = int(rng.hypergeometric(right, wrong, guesses - sure))
    else:
        more = int(rng.binomial(guesses - sure, 0.5))
    return Counts(evidence.size, guesses, int((evidence[above] > 0.0).sum()) + more)
