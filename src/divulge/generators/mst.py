"""MST: a spanning tree of two-way marginals (McKenna, Miklau and Sheldon, Winning the NIST contest:
a scalable and general approach to differentially private synthetic data, 2021).

PANORAMIA's tables (002, Appendix C.3) come from it with epsilon 1000, where its privacy is beside
the point. Selection and noise are written here after the paper, with the Gaussian mechanism under
zero-concentrated privacy; the marginals are made consistent by the authors' library mbi (extra
``generators``). Numbers are cut into quantile bins and drawn uniformly within a bin.
"""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import MissingExtra, require, require_probability
from divulge.generators.encoding import Column, columns_of, first_rows, rebuild, snap, table_of
from divulge.types import Array, Index


@dataclass(frozen=True)
class SpanningTree:
    """MST. ``bins``: quantile bins of a number; ``steps``: of the estimation of the marginals."""

    epsilon: float = 1000.0
    delta: float = 1e-9
    bins: int = 32
    steps: int = 1000

    def __post_init__(self) -> None:
        require(self.epsilon > 0.0, f"epsilon must be above 0. Found {self.epsilon!r}.")
        require_probability("delta", self.delta)
        require(self.bins >= 2, f"bins must be at least 2. Found {self.bins}.")
        require(self.steps >= 1, f"steps must be at least 1. Found {self.steps}.")

    @property
    def name(self) -> str:
        return "mst"

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        cuts = [cut(column, self.bins) for column in columns_of(records)]
        codes = self.sample(cuts, count, rng)
        arrays = {c.column.name: c.fill(codes[:, j], rng) for j, c in enumerate(cuts)}
        return table_of(records, arrays)

    def sample(self, cuts: list[Cut], count: int, rng: np.random.Generator) -> Index:
        """Codes of new records: one-way marginals, tree, two-way marginals, estimation, draws."""
        data = np.column_stack([c.codes for c in cuts])
        sizes = [c.size for c in cuts]
        rho = zero_concentrated(self.epsilon, self.delta)
        sigma = math.sqrt(3.0 / (2.0 * rho))
        ones = [np.bincount(data[:, j], minlength=sizes[j]) for j in range(len(cuts))]
        weight = 1.0 / math.sqrt(len(cuts))
        noisy = [y + sigma / weight * rng.normal(size=y.size) for y in ones]
        if len(cuts) == 1:
            share = _shares(noisy[0])
            return rng.choice(sizes[0], size=(count, 1), p=share)
        edges = spanning_tree(data, sizes, noisy, rho / 3.0, rng)
        deviation = sigma * math.sqrt(len(edges))
        twos = {}
        for a, b in edges:
            joint = np.bincount(data[:, a] * sizes[b] + data[:, b], minlength=sizes[a] * sizes[b])
            twos[a, b] = joint + deviation * rng.normal(size=joint.size)
        margins = _estimate(sizes, noisy, sigma / weight, twos, deviation, self.steps)
        return walk(margins, sizes, count, rng)


@dataclass(frozen=True)
class Cut:
    """A column in bins: point masses and levels one by one, the rest by quantiles, then missing."""

    column: Column
    codes: Index
    size: int
    rows: Index
    """A row of the records for every bin: what a value of the bin is rebuilt from."""
    low: Array
    high: Array

    def fill(self, codes: Index, rng: np.random.Generator) -> Any:
        """Values for bins: uniform between the ends of a bin."""
        low, high = self.low[codes], self.high[codes]
        values = snap(self.column, low + (high - low) * rng.random(codes.size))
        return rebuild(self.column, self.rows[codes], values)


def cut(column: Column, bins: int) -> Cut:
    """Bins of a column."""
    rows, states = first_rows(column), column.states
    missing = bool((column.codes < 0).any())
    if column.kind == "category" or column.levels <= bins:
        bin_of = np.arange(column.levels + 1)
    else:
        bin_of = np.append(_quantile_bins(column, bins), 0)
        bin_of[-1] = bin_of.max() + 1
    size = int(bin_of[-1]) + int(missing)
    low, high = np.full(size, np.nan), np.full(size, np.nan)
    first = np.full(size, -1, dtype=np.intp)
    for level in range(column.levels - 1, -1, -1):
        first[bin_of[level]] = rows[level]
        if column.kind == "number":
            low[bin_of[level]] = column.numbers[level]
            high[bin_of[level]] = np.fmax(high[bin_of[level]], column.numbers[level])
    if missing:
        first[size - 1] = rows[column.levels]
    return Cut(column, bin_of[states], size, first, low, high)


def _quantile_bins(column: Column, bins: int) -> Index:
    """A bin for every distinct number: point masses alone, runs between them by equal counts."""
    share = max(1.0, len(column) / bins)
    out = np.empty(column.levels, dtype=np.intp)
    current, filled = 0, 0.0
    for level in range(column.levels):
        alone = column.spikes[level]
        if level and (alone or column.spikes[level - 1] or filled >= share):
            current, filled = current + 1, 0.0
        out[level] = current
        filled += column.counts[level]
    return out


def zero_concentrated(epsilon: float, delta: float) -> float:
    """The rho whose zero-concentrated privacy gives (epsilon, delta) by Bun and Steinke (2016)."""
    log = math.log(1.0 / delta)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


def spanning_tree(
    data: Index, sizes: list[int], noisy: list[Array], rho: float, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Edges drawn one by one by the exponential mechanism, scored by what independence misses."""
    columns, rows = data.shape[1], data.shape[0]
    shares = [_shares(y) for y in noisy]
    missed = {}
    for a, b in itertools.combinations(range(columns), 2):
        joint = np.bincount(data[:, a] * sizes[b] + data[:, b], minlength=sizes[a] * sizes[b])
        product = rows * np.outer(shares[a], shares[b]).ravel()
        missed[a, b] = float(np.abs(joint - product).sum())
    scale = math.sqrt(8.0 * rho / (columns - 1))
    group = list(range(columns))
    edges: list[tuple[int, int]] = []
    while len(edges) < columns - 1:
        open_edges = [e for e in missed if group[e[0]] != group[e[1]]]
        score = 0.5 * scale * np.array([missed[e] for e in open_edges])
        edge = open_edges[int(np.argmax(score + rng.gumbel(size=score.size)))]
        edges.append(edge)
        joined, gone = group[edge[0]], group[edge[1]]
        group = [joined if g == gone else g for g in group]
    return edges


def _shares(counts: Array) -> Array:
    kept = np.maximum(counts, 0.0)
    return kept / kept.sum() if kept.sum() > 0.0 else np.full(kept.size, 1.0 / kept.size)


def _estimate(
    sizes: list[int],
    ones: list[Array],
    sigma: float,
    twos: dict[tuple[int, int], Array],
    deviation: float,
    steps: int,
) -> dict[tuple[int, int], Array]:
    """Two-way marginals that agree with each other, nearest to the noisy ones; by mbi."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import mbi
        except ImportError:
            raise MissingExtra("mbi", "generators") from None
        domain = mbi.Domain(tuple(range(len(sizes))), tuple(sizes))
        measured = [mbi.LinearMeasurement(y, (j,), sigma) for j, y in enumerate(ones)]
        measured += [mbi.LinearMeasurement(y, edge, deviation) for edge, y in twos.items()]
        total = max(1.0, float(np.mean([y.sum() for y in ones])))
        model = mbi.estimation.MirrorDescent().estimate(domain, measured, total, iters=steps)
        found = {}
        for a, b in twos:
            margin = np.asarray(model.project((a, b)).datavector(flatten=False), dtype=float)
            found[a, b] = np.maximum(margin, 0.0)
    return found


def walk(
    margins: dict[tuple[int, int], Array], sizes: list[int], count: int, rng: np.random.Generator
) -> Index:
    """Draws along the tree, each column given its neighbour."""
    out = np.full((count, len(sizes)), -1, dtype=np.intp)
    start = next(iter(margins))[0]
    out[:, start] = rng.choice(
        sizes[start], size=count, p=_shares(next(iter(margins.values())).sum(axis=1))
    )
    seen, left = {start}, dict(margins)
    while left:
        edge = next(e for e in left if (e[0] in seen) != (e[1] in seen))
        joint = left.pop(edge)
        known, fresh = edge if edge[0] in seen else edge[::-1]
        table = joint if known == edge[0] else joint.T
        rows = np.cumsum(np.array([_shares(row) for row in table]), axis=1)
        u = rng.random(count)[:, None]
        picked = (u > rows[out[:, known]]).sum(axis=1)
        out[:, fresh] = np.minimum(picked, sizes[fresh] - 1)
        seen.add(fresh)
    return out
