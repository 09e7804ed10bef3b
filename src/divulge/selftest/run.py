"""Run the cases many times and judge what was seen."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv

from divulge.errors import require, require_probability, require_seed
from divulge.pieces import Pieces
from divulge.selftest.case import Case
from divulge.work import Engine

ERROR = 0.05
REPETITIONS, QUICK_REPETITIONS = 2000, 200
FAMILY_ERROR = 0.01
"""Probability that a self-test of sound bounds reports any failure at all, at most."""
_PIECE = 50
_SLACK = 1e-9


@dataclass(frozen=True)
class Row:
    """What was seen of one bound on one mechanism."""

    bound: str
    parameter: str
    delta: float | None
    mechanism: str
    setting: str
    claimed_error: float
    repetitions: int
    false_claims: int
    rate_low: float
    rate_high: float
    mean_bound: float
    truth: float
    holds: bool

    @property
    def rate(self) -> float:
        """Observed rate of false claims."""
        return self.false_claims / self.repetitions

    @property
    def power(self) -> float | None:
        """Mean bound over truth; None where the truth is 0 or infinite."""
        if self.truth == 0.0 or math.isinf(self.truth):
            return None
        return self.mean_bound / self.truth

    @property
    def verdict(self) -> str:
        """holds, fails, or power only."""
        if math.isinf(self.truth):
            return "power only"
        return "holds" if self.holds else "fails"

    def to_json(self) -> dict[str, Any]:
        """One entry of ``rows``; an infinite truth is null."""
        return {
            "bound": self.bound,
            "parameter": self.parameter,
            "delta": self.delta,
            "mechanism": self.mechanism,
            "setting": self.setting,
            "claimed_error": self.claimed_error,
            "repetitions": self.repetitions,
            "false_claims": self.false_claims,
            "rate": self.rate,
            "rate_low": self.rate_low,
            "rate_high": self.rate_high,
            "mean_bound": self.mean_bound,
            "truth": None if math.isinf(self.truth) else self.truth,
            "power": self.power,
            "verdict": self.verdict,
        }


def run(
    chosen: Sequence[Case],
    *,
    repetitions: int = REPETITIONS,
    error: float = ERROR,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """One row per case; the same seed gives the same rows, whatever n_jobs and the other cases.

    A row fails if its number of false claims would have probability below 1% over the number of
    rows that can fail, were the claimed error true. Where the truth is infinite no claim is false:
    such a row shows power only, and its verdict says so. ``n_jobs``, ``backend`` and ``address``
    say who plays (``divulge.work.Engine``); finished games are kept in the folder ``cache``, named
    by the label of the case and by divulge's source.
    """
    engine = Engine(backend, n_jobs, address)
    require(len(chosen) > 0, "No case matches. `divulge selftest --list` shows their names.")
    require(repetitions >= 1, f"repetitions must be at least 1. Found {repetitions}.")
    require_probability("error", error)
    require_seed(seed)
    tasks = []
    for index, case in enumerate(chosen):
        count = max(1, round(case.share * repetitions))
        piece = max(1, round(case.share * _PIECE))
        sizes = [min(piece, count - k) for k in range(0, count, piece)]
        root = np.random.SeedSequence([seed, zlib.crc32(case.label.encode())])
        for child, size in zip(root.spawn(len(sizes)), sizes, strict=True):
            tasks.append(_Games(index, case, error, child, size))
    keep = Pieces.at(cache).tasks("selftest", _Games.inputs)
    claims: list[list[float]] = [[] for _ in chosen]
    results = engine.run(_Games.play, tasks, keep=keep, progress=progress)
    for games, found in zip(tasks, results, strict=True):
        claims[games.index].extend(found["claims"].tolist())
    level = FAMILY_ERROR / max(1, sum(math.isfinite(case.truth) for case in chosen))
    return [_row(case, values, error, level) for case, values in zip(chosen, claims, strict=True)]


@dataclass(frozen=True)
class _Games:
    """Some games of one case."""

    index: int
    case: Case
    error: float
    seed: np.random.SeedSequence
    size: int

    def inputs(self) -> dict[str, Any]:
        """What names the piece."""
        name = [self.case.label, self.case.parameter, self.case.delta]
        seed = [self.seed.entropy, self.seed.spawn_key]
        return {"case": name, "error": self.error, "seed": seed, "size": self.size}

    def play(self) -> dict[str, Any]:
        """The claims of the games."""
        rngs = [np.random.default_rng(child) for child in self.seed.spawn(self.size)]
        return {"claims": np.array([self.case.play(self.error, rng) for rng in rngs], dtype=float)}


def _row(case: Case, claims: Sequence[float], error: float, level: float) -> Row:
    truth = case.truth
    n = len(claims)
    false = int(np.sum(np.asarray(claims) > truth + _SLACK))
    surprise = 1.0 if false == 0 else float(betainc(false, n - false + 1.0, error))
    low, high = exact_interval(false, n)
    return Row(
        bound=case.bound,
        parameter=case.parameter,
        delta=case.delta,
        mechanism=case.mechanism,
        setting=case.setting,
        claimed_error=error,
        repetitions=n,
        false_claims=false,
        rate_low=low,
        rate_high=high,
        mean_bound=float(np.mean(np.sort(claims))),
        truth=truth,
        holds=surprise > level,
    )


def exact_interval(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson interval of a rate."""
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1.0, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1.0, n - hits, 1.0 - tail))
    return low, high
