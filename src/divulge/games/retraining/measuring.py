"""Measuring an attack by training again: Algorithms 2 to 5 of MCMC-DP-Est.

``train(data, seed)`` is anything that returns a model, ``loss(model, record)`` its loss on the
record. Models are trained with and without the record, in parallel, in pieces that survive a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from divulge.attacks import parametric
from divulge.errors import InputError, require
from divulge.games.public import check_words
from divulge.models import code
from divulge.types import Array
from divulge.work import Engine
from divulge.work.pieces import Pieces, digest
from divulge.work.threads import sized
from divulge.work.watching import watched

Train = Callable[[Any, int], Any]
Loss = Callable[[Any, Any], float]

LEVELS = tuple(np.round(np.arange(0.01, 1.0, 0.01), 2).tolist())
"""Every target type I error of the paper's Figure 4."""
MODELS = 100
SHADOWS = 16
BLOCK = 10
"""Models trained in one piece of work."""


@dataclass(frozen=True)
class Measured:
    """Losses on the record, and error counts at every target type I error."""

    without: Array = field(repr=False)
    """Losses of the models trained without the record (H0), and below with it (H1)."""
    with_record: Array = field(repr=False)
    levels: Array
    counts: Array
    """Columns false positives, negatives, false negatives, positives; one row per level."""
    correlated: bool
    """Whether the models served as each other's shadow models (Algorithm 5)."""

    def row(self, level: float = 0.1) -> dict[str, int]:
        """The counts at one target error: a row of the table that ``divulge.retraining`` reads."""
        at = np.flatnonzero(np.isclose(self.levels, level))
        require(at.size == 1, f"{level!r} is not among the target errors that were measured.")
        names = ("false_positives", "negatives", "false_negatives", "positives")
        return dict(zip(names, map(int, self.counts[at[0]]), strict=True))


@watched("training")
def measure(
    train: Train,
    base: Any,
    record: Any,
    *,
    loss: Loss,
    add: Callable[[Any, Any], Any] | None = None,
    calibration: str = parametric.NORMAL,
    models: int = MODELS,
    shadows: int = SHADOWS,
    cross_fed: bool = True,
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: Path | str | None = None,
    cache_key: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Measured:
    """Train ``models`` models without and with the record, and count the errors of LiRA's test.

    ``base`` and ``record`` are arrays or tuples of arrays (features, labels, ...);
    ``add(base, record)`` puts the record in, by default below the rows of each array. With
    ``cross_fed`` every model is tested against all others (Algorithm 5: 2 ``models`` trainings,
    correlated counts); without, each has ``shadows`` shadow models per side of its own (Algorithm
    4: independent counts, 2 ``models`` (1 + 2 ``shadows``) trainings). All target errors come from
    the same models.

    ``calibration`` says where the test draws its line: ``normal`` as published, which keeps the
    target error for normal losses, or ``ranks`` among the shadow models, which keeps it for any.

    With a folder ``cache`` finished pieces are kept and found again. They are named by the data,
    the numbers here, the source of the modules of ``train`` and ``loss`` and ``cache_key``:
    give one that changes whenever the training does for another reason.
    ``n_jobs``, ``backend`` and ``address`` say who trains (``divulge.work.Engine``).
    """
    check_words({"seed": seed})
    parametric.check_calibration(calibration)
    require(models >= 4, f"At least four models per side are needed. Found {models}.")
    require(cross_fed or shadows >= 2, f"At least two shadow models are needed. Found {shadows}.")
    require(
        cache is None or bool(cache_key),
        "Give the pieces a cache_key, a name that says which training it is.",
    )
    target = np.asarray(levels, dtype=float)
    sound = target.ndim == 1 and target.size > 0 and bool(np.all((target > 0) & (target < 1)))
    require(sound, "Target errors must be a list of numbers in (0, 1).")
    both = (add or append)(base, record)
    job = _Job(train, loss, base, both, record, seed)
    each = 1 if cross_fed else 1 + 2 * shadows
    tasks = [
        (side, start, min(BLOCK, models * each - start))
        for side in (0, 1)
        for start in range(0, models * each, BLOCK)
    ]
    losses: dict[int, Array] = {side: np.empty(models * each) for side in (0, 1)}
    inputs = {
        "name": cache_key,
        "seed": seed,
        "data": digest(base, both, record),
        "each": each,
        "code": code.of(train, loss) if cache is not None else None,
    }
    keep = Pieces.at(cache).tasks("losses", lambda task: {**inputs, "models": task})
    engine = Engine(backend, n_jobs, address)
    results = engine.run(_Block(job, each, shadows), tasks, keep=keep, progress=progress)
    for (side, start, size), found in zip(tasks, results, strict=True):
        losses[side][start : start + size] = found["loss"]
    if cross_fed:
        counts = parametric.cross_fed(losses[0], losses[1], target, calibration=calibration)
        return Measured(losses[0], losses[1], target, counts, True)
    accused, own = [], []
    for side in (0, 1):
        table = losses[side].reshape(models, each)
        own.append(table[:, 0])
        of0, of1 = table[:, 1 : 1 + shadows], table[:, 1 + shadows :]
        accused.append(
            parametric.independent(table[:, 0], of0, of1, target, calibration=calibration)
        )
    total = np.full(target.size, models)
    counts = np.column_stack([accused[0].sum(axis=0), total, (~accused[1]).sum(axis=0), total])
    return Measured(own[0], own[1], target, counts.astype(float), False)


@dataclass(frozen=True)
class _Job:
    train: Train
    loss: Loss
    base: Any
    both: Any
    record: Any
    seed: int

    def one(self, side: int, data: int, index: int) -> float:
        """The loss of one model; its seed depends on nothing but its place."""
        words = np.random.SeedSequence([self.seed, side, data, index]).generate_state(1)
        with sized(_rows(self.base)):
            model = self.train(self.both if data else self.base, int(words[0]))
            value = float(self.loss(model, self.record))
        if not np.isfinite(value):
            raise InputError(
                f"The loss of model {index} trained {'with' if data else 'without'} the record is "
                f"{value}. Losses must be finite: clip the probabilities that they come from."
            )
        return value


@dataclass(frozen=True)
class _Block:
    """Train models ``start`` to ``start + size`` of one side."""

    job: _Job
    each: int
    shadows: int

    def __call__(self, task: tuple[int, int, int]) -> dict[str, Array]:
        side, start, size = task
        values = []
        for index in range(start, start + size):
            place = index % self.each
            # The first is the model under test; then come its shadow models, without and with.
            data = side if place == 0 else int(place > self.shadows)
            values.append(self.job.one(side, data, index))
        return {"loss": np.array(values)}


def _rows(base: Any) -> int:
    return len(base[0] if isinstance(base, tuple) else base)


def append(base: Any, record: Any) -> Any:
    """The record as one more row of each array."""
    if isinstance(base, tuple):
        same = isinstance(record, tuple) and len(record) == len(base)
        require(same, "A base of several arrays needs a record with as many parts.")
        return tuple(append(b, r) for b, r in zip(base, record, strict=True))
    array = np.asarray(base)
    row = np.asarray(record, dtype=array.dtype)
    fits = array.ndim >= 1 and row.shape == array.shape[1:]
    require(fits, f"The record has shape {row.shape}, the rows of the base {array.shape[1:]}.")
    return np.concatenate([array, row[None]])
