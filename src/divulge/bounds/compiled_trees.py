"""Gradient boosting on columns of bins; compiled by numba on first use, kept on disk.

The algorithm of scikit-learn's histogram boosting: leaf-wise trees, the best split of all leaves
first, histograms of the smaller child only. Four columns make a block, whose histogram is small and
is filled, subtracted and searched before the next one's. Histograms are cumulative: entry
``4 * b + l`` is of bin ``b`` of column ``l`` of the block and of the bins below.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from divulge.types import Array

Bytes = npt.NDArray[np.uint8]
Nodes = npt.NDArray[np.int64]
Rows = npt.NDArray[np.uint32]
Places = npt.NDArray[np.uint16]
Scale = tuple[float, int]
Scratch = tuple[Array, Nodes]
Room = tuple[Array, Array, Array, Array, Nodes, Scratch, Nodes, Rows, Rows]
LEAST_HESSIAN = 1e-3
"""As scikit-learn has it."""
LEAST_MEAN = 1e-12
"""Of a class, so that the logarithm of its odds is finite even if all its rows weigh nothing."""
LEAST_SUM = 1e-100
"""Of bends, so that its logarithm is finite."""
ROUNDED = 1e-13
"""Sums of slopes are known up to this share of all slopes, at worst."""
_LANES = 4
"""Columns of a block."""
_NODE = 5
"""What is known of a node: column, last bin of the left child, both children, 1 if it is split."""
_FOUND = 5
"""What is known of a split: how good it is, its column, the last bin of its left child, and the
slope and the bend of that child."""


@njit(cache=True, nogil=True, error_model="numpy")
def _blocks(bins: Bytes) -> Bytes:
    """A row for each block; the columns that fill up the last one are 0."""
    count, columns = bins.shape
    out = np.zeros((-(-columns // _LANES), count * _LANES), np.uint8)
    for i in range(count):
        for j in range(columns):
            out[j // _LANES, _LANES * i + j % _LANES] = bins[i, j]
    return out


@njit(cache=True, nogil=True, fastmath=True)
def _size(values: Array) -> float:
    """The sum of absolute values, in any order."""
    total = 0.0
    for i in range(values.size):
        total += abs(values[i])
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _pack(bend: Array, packed: Nodes) -> Scale:
    """Bends as integers, with a one above the bits of each: one addition is enough for both.

    What their one is, a power of two, and how many bits there are, for the sum of all to fit.
    """
    bits = 62 - math.ceil(math.log2(bend.size + 1))
    unit = 2.0 ** (math.ceil(math.log2(max(_size(bend), LEAST_SUM))) + 1 - bits)
    for i in range(bend.size):
        packed[i] = (1 << bits) + int(bend[i] / unit + 0.5)
    return unit, bits


@njit(cache=True, nogil=True, error_model="numpy")
def _histogram(
    block: Bytes,
    size: int,
    rows: Rows,
    slope: Array,
    packed: Nodes,
    scale: Scale,
    room: Scratch,
    out: Array,
) -> None:
    """Sums of slopes, of bends and of ones; ``slope`` and ``packed`` are in the order of rows."""
    sums, counts = room
    unit, bits = scale
    low = (1 << bits) - 1
    sums[:size] = 0.0
    counts[:size] = 0
    for place in range(rows.size):
        i, g, c = _LANES * rows[place], slope[place], packed[place]
        for lane in range(_LANES):
            at = _LANES * block[i + lane] + lane
            sums[at] += g
            counts[at] += c
    slopes, bends, ones = out[0], out[1], out[2]
    for lane in range(_LANES):
        g, c = 0.0, 0
        for at in range(lane, size, _LANES):
            g += sums[at]
            c += counts[at]
            slopes[at], bends[at], ones[at] = g, unit * (c & low), c >> bits


@njit(cache=True, nogil=True, error_model="numpy")
def _search(
    seen: Array,
    size: int,
    whole: Array,
    least: int,
    penalty: float,
    tiny: float,
    block: int,
    scores: Array,
    found: Array,
) -> None:
    """Put the best split of a block in place of the one found, if it is better.

    Most blocks have nothing better, which is seen without a branch. Of equal splits it is the
    first: a bin without bends, and slopes not above what is rounded, has that of the bin before.
    """
    g, h, n = whole[0], whole[1], whole[2]
    slope, bend, ones = seen[0], seen[1], seen[2]
    best, hits = found[0], 0
    for at in range(size - _LANES):
        gl, hl, nl = slope[at], bend[at], ones[at]
        gr, hr, nr = g - gl, h - hl, n - nl
        a, c = hl + penalty, hr + penalty
        enough = (nl >= least) & (nr >= least) & (hl >= LEAST_HESSIAN) & (hr >= LEAST_HESSIAN)
        scores[at] = (gl * gl * c + gr * gr * a) / (a * c) if enough else -1.0
        hits += scores[at] > best
    if hits == 0:
        return
    for lane in range(_LANES):
        for at in range(lane, size - _LANES, _LANES):
            last = at - _LANES
            again = last >= 0 and scores[last] >= 0.0 and bend[at] == bend[last]
            if scores[at] > best and not (again and abs(slope[at] - slope[last]) <= tiny):
                best = scores[at]
                found[0], found[1], found[2] = best, _LANES * block + lane, at // _LANES
                found[3], found[4] = slope[at], bend[at]


@njit(cache=True, nogil=True, error_model="numpy")
def _part(block: Bytes, lane: int, cut: int, rows: Rows, spare: Rows) -> int:
    """Put the rows whose bin is at most ``cut`` first, in their order; how many these are."""
    left, right = 0, 0
    for place in range(rows.size):
        i = rows[place]
        low = block[_LANES * i + lane] <= cut
        rows[left], spare[right] = i, i
        left += low
        right += not low
    for p in range(right):
        rows[left + p] = spare[p]
    return left


@njit(cache=True, nogil=True, error_model="numpy")
def _put(table: Array | Nodes, k: int, first: float, second: float, third: float) -> None:
    """The first three entries of a row. Loops: numba takes seconds to compile a slice assigned."""
    table[k, 0], table[k, 1], table[k, 2] = first, second, third


@njit(cache=True, nogil=True, error_model="numpy")
def _copy(histogram: Array, out: Array) -> None:
    """The same once more."""
    for c in range(3):
        for at in range(out.shape[1]):
            out[c, at] = histogram[c, at]


@njit(cache=True, nogil=True, error_model="numpy")
def _open(whole: Array, penalty: float, found: Array) -> None:
    """No split yet: one has to be better than the node as it is."""
    found[0], found[1] = whole[0] ** 2 / (whole[1] + penalty), -1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _next(nodes: Nodes, found: Array, whole: Array, penalty: float) -> int:
    """The leaf whose split gains most; -1 if none gains."""
    best, gain = -1, 0.0
    for k in range(whole.shape[0]):
        own = found[k, 0] - whole[k, 0] ** 2 / (whole[k, 1] + penalty)
        if nodes[k, 4] != 1 and found[k, 1] >= 0.0 and own > gain:
            best, gain = k, own
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _grow(
    blocks: Bytes,
    sizes: Nodes,
    slope: Array,
    bend: Array,
    rate: float,
    least: int,
    penalty: float,
    root: Array,
    known: bool,
    room: Room,
    nodes: Nodes,
    values: Array,
    margin: Array,
) -> None:
    """One tree: its nodes and the values of its leaves, which are added to the margin.

    ``root`` is empty, or it is the histogram of all rows, if that is known already, and becomes
    that of the next tree: slopes of the squared loss change by bends times the value of a leaf.
    """
    seen, found, whole, ordered, packed, scratch, place, rows, spare = room
    count = slope.size
    leaves = (nodes.shape[0] + 1) // 2
    for i in range(count):
        rows[i] = i
    scale = _pack(bend, packed[0])
    tiny = ROUNDED * _size(slope)
    _put(place, 0, 0, count, 0)
    for j in range(sizes.size):
        if known:
            _copy(root[j], seen[0, j])
        else:
            _histogram(blocks[j], sizes[j], rows, slope, packed[0], scale, scratch, seen[0, j])
            if root.size > 0:
                _copy(seen[0, j], root[j])
        if j == 0:
            last = sizes[0] - _LANES
            _put(whole, 0, seen[0, 0, 0, last], seen[0, 0, 1, last], seen[0, 0, 2, last])
            _open(whole[0], penalty, found[0])
        _search(seen[0, j], sizes[j], whole[0], least, penalty, tiny, j, scratch[0], found[0])
    used = 1
    for grown in range(1, leaves):
        best = _next(nodes, found, whole[:used], penalty)
        if best < 0:
            break
        first, last, slot = place[best, 0], place[best, 1], place[best, 2]
        column, cut = int(found[best, 1]), int(found[best, 2])
        inner, lane = blocks[column // _LANES], column % _LANES
        middle = first + _part(inner, lane, cut, rows[first:last], spare)
        a, b = used, used + 1
        used += 2
        _put(nodes, best, column, cut, a)
        nodes[best, 3], nodes[best, 4] = b, 1
        _put(whole, a, found[best, 3], found[best, 4], float(middle - first))
        for c in range(3):
            whole[b, c] = whole[best, c] - whole[a, c]
        small, large = (a, b) if middle - first <= last - middle else (b, a)
        _put(place, a, first, middle, slot)
        _put(place, b, middle, last, slot)
        place[small, 2] = grown
        _open(whole[a], penalty, found[a])
        _open(whole[b], penalty, found[b])
        final = grown == leaves - 1 or whole[large, 2] < 2 * least
        if final and root.size == 0:
            continue
        shown = rows[place[small, 0] : place[small, 1]]
        for p in range(shown.size):
            ordered[p], packed[1, p] = slope[shown[p]], packed[0, shown[p]]
        for j in range(sizes.size):
            own, rest = seen[grown, j], seen[slot, j]
            _histogram(blocks[j], sizes[j], shown, ordered, packed[1], scale, scratch, own)
            for c in range(3):
                for at in range(sizes[j]):
                    rest[c, at] -= own[c, at]
            if final:
                continue
            for k, its in ((small, own), (large, rest)):
                _search(its, sizes[j], whole[k], least, penalty, tiny, j, scratch[0], found[k])
    for k in range(used):
        if nodes[k, 4] != 1:
            g, h = 0.0, 0.0
            for p in range(place[k, 0], place[k, 1]):
                g += slope[rows[p]]
                h += bend[rows[p]]
            values[k] = -rate * g / (h + penalty + np.finfo(np.float64).eps)
            for p in range(place[k, 0], place[k, 1]):
                margin[rows[p]] += values[k]
            for j in range(root.shape[0]):
                sums, bends = root[j, 0], seen[place[k, 2], j, 1]
                for at in range(sizes[j]):
                    sums[at] += values[k] * bends[at]


@njit(cache=True, nogil=True, error_model="numpy")
def boost(
    bins: Bytes,
    target: Array,
    weight: Array,
    loss: int,
    rounds: int,
    rate: float,
    leaves: int,
    least: int,
    penalty: float,
    width: int,
) -> tuple[Array, Nodes, Array]:
    """The baseline of every margin, and for each round and margin a tree and its values.

    ``target`` has a column for each margin. Loss 0 is the squared one, 1 the logistic one of a
    target of 0 and 1, 2 that of the classes whose columns are 0 but for one. A leaf has ``least``
    rows at least; bins are below ``width``.
    """
    count, many = target.shape
    most = 2 * leaves - 1
    start = np.empty(many)
    for k in range(many):
        mean = (weight * target[:, k]).sum() / weight.sum()
        start[k] = mean
        if loss != 0:
            mean = min(max(mean, LEAST_MEAN), 1.0 - LEAST_MEAN)
            start[k] = math.log(mean / (1.0 - mean)) if loss == 1 else math.log(mean)
    nodes = np.full((rounds, many, most, _NODE), -1, np.int64)
    values = np.zeros((rounds, many, most))
    margin = np.empty((many, count))
    for k in range(many):
        margin[k] = start[k]
    slope, bend = np.empty((many, count)), np.empty((many, count))
    blocks = _blocks(bins)
    sizes = np.empty(blocks.shape[0], np.int64)
    for j in range(sizes.size):
        sizes[j] = _LANES * (blocks[j].max() + 1)
    root = np.empty((sizes.size if loss == 0 else 0, 3, _LANES * width))
    room = (
        np.empty((leaves, sizes.size, 3, _LANES * width)),
        np.empty((most, _FOUND)),
        np.empty((most, 3)),
        np.empty(count),
        np.empty((2, count), np.int64),
        (np.empty(_LANES * width), np.empty(_LANES * width, np.int64)),
        np.empty((most, 3), np.int64),
        np.empty(count, np.uint32),
        np.empty(count, np.uint32),
    )
    for t in range(rounds):
        for i in range(count):
            w, total, highest = weight[i], 1.0, 0.0
            if loss == 2:
                total, highest = 0.0, margin[:, i].max()
                for k in range(many):
                    total += math.exp(margin[k, i] - highest)
            for k in range(many):
                p, bent = margin[k, i], 1.0
                if loss == 1:
                    p = 1.0 / (1.0 + math.exp(-p))
                elif loss == 2:
                    p = math.exp(p - highest) / total
                if loss != 0:
                    bent = p * (1.0 - p)
                slope[k, i], bend[k, i] = w * (p - target[i, k]), w * bent
        for k in range(many):
            _grow(
                blocks,
                sizes,
                slope[k],
                bend[k],
                rate,
                least,
                penalty,
                root,
                loss == 0 and t > 0,
                room,
                nodes[t, k],
                values[t, k],
                margin[k],
            )
    return start, nodes, values


@njit(cache=True, nogil=True)
def margins(columns: Bytes, start: Array, nodes: Nodes, values: Array) -> Array:
    """What the trees say of every row, the baseline included: a column for each margin.

    Every split is asked of all rows at once, as its column is contiguous.
    """
    rounds, many, most = values.shape
    count = columns.shape[1]
    out = np.empty((count, many))
    at = np.empty(count, np.uint16)
    for m in range(many):
        out[:, m] = start[m]
        for t in range(rounds):
            at[:] = 0
            for k in range(most):
                if nodes[t, m, k, 4] == 1:
                    _descend(columns[nodes[t, m, k, 0]], nodes[t, m, k], np.uint16(k), at)
            for i in range(count):
                out[i, m] += values[t, m, at[i]]
    return out


@njit(cache=True, nogil=True)
def _descend(column: Bytes, node: Nodes, k: np.uint16, at: Places) -> None:
    """Move the rows that are at a node to its children."""
    cut, a, b = np.uint8(node[1]), np.uint16(node[2]), np.uint16(node[3])
    for i in range(at.size):
        child = a if column[i] <= cut else b
        at[i] = child if at[i] == k else at[i]
