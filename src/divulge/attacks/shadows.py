"""Shadow models: the target's training repeated on training sets that the auditor draws.

Each record of the pool is in the training set of half of the models, drawn at random (Carlini et
al., 2022). Online, the records under attack are part of the pool; offline they are not, and every
model answers for them as an outsider. Trained in parallel, in pieces that survive a kill.

Why a score may use them: nothing here looks at who is a member of the target. Training sets are
drawn from all records of the pool alike, so given the records the shadow models are independent of
the truths and of the target. A score that sees both is a post-processing of the target's output
with outside randomness, and whatever bounds the target bounds it, too. A shadow model that is
trained on members more often than on others, or in another order, breaks that: the score then
shows truths that the target need not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from divulge.attacks.base import Mask
from divulge.errors import require
from divulge.models import code
from divulge.models.base import SMALLEST, Answers, logarithms
from divulge.types import Array
from divulge.work import Engine
from divulge.work.pieces import Arrays, Pieces, digest
from divulge.work.threads import Sized, single

Make = Callable[[int], Any]
"""``make(seed)`` is a fresh estimator with ``fit(x, y)`` and ``predict_proba(x)``."""
Progress = Callable[[int, int], None]
COUNT = 16


class ShadowLesson(Protocol):
    """How one shadow model is trained on some of the records and asked about all of them."""

    def __call__(self, rows: Mask, seed: int, name: str) -> Mapping[str, Any]:
        """What it says, as named arrays."""


@dataclass(frozen=True)
class Shadows:
    """Answers of every shadow model to every record, and who was in its training set."""

    answers: tuple[Answers, ...] = field(repr=False)
    inside: Mask = field(repr=False)
    """One row per record, one column per model."""

    def of(self, rows: npt.NDArray[Any]) -> Shadows:
        """The same for some of the records: a mask or their indices."""
        some = []
        for answers in self.answers:
            assert answers.log_probabilities is not None
            some.append(Answers(log_probabilities=answers.log_probabilities[rows]))
        return Shadows(tuple(some), self.inside[rows])


@single
def train_shadows(
    make: Make,
    x: npt.NDArray[Any],
    labels: npt.NDArray[np.intp],
    *,
    pool: Mask | None = None,
    count: int = COUNT,
    seed: int = 0,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: Path | str | None = None,
    name: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> Shadows:
    """Train ``count`` models on random halves of the pool and ask each about all records.

    ``labels`` are 0, 1, 2, ...; ``pool`` marks the records that may be trained on, all by default.
    With a folder ``cache`` finished models' answers are kept and found again. They are named by the
    data, the numbers here, the source of the module of ``make`` and ``name``: give a name that
    changes whenever the training does for another reason.
    """
    labels = np.asarray(labels)
    may = np.ones(len(x), dtype=bool) if pool is None else np.asarray(pool, dtype=bool)
    require(count >= 2, f"At least two shadow models are needed. Found {count}.")
    require(
        len(x) == labels.size == may.size and int(may.sum()) >= 2,
        f"There are {len(x)} records, {labels.size} labels and a pool of {int(may.sum())}: every "
        "record needs a label, and the pool at least two records.",
    )
    require(
        np.issubdtype(labels.dtype, np.integer) and int(labels.min()) >= 0,
        "Labels must be the numbers of the classes: 0, 1, 2, ...",
    )
    require(cache is None or bool(name), "Give the pieces a name that says which training it is.")
    inside = halves(may, count, np.random.default_rng(seed))
    lesson = _ArrayLesson(make, np.asarray(x), labels, int(labels.max()) + 1)
    inputs = {
        "name": name,
        "data": digest((lesson.x, labels)),
        "code": code.of(make) if cache is not None else None,
    }
    engine = Engine(backend, n_jobs, address)
    found = trained(lesson, inside, seed, inputs, engine, Pieces.at(cache), progress)
    return Shadows(tuple(Answers(log_probabilities=f["answers"]) for f in found), inside)


def trained(
    lesson: ShadowLesson,
    inside: Mask,
    seed: int,
    inputs: Mapping[str, Any],
    engine: Engine,
    pieces: Pieces,
    progress: Progress | None = None,
) -> list[Arrays]:
    """What every shadow model says; ``inputs`` names the lesson in the kept pieces."""
    keep = pieces.tasks(
        "shadow",
        lambda k: {**inputs, "seed": seed, "model": k, "rows": digest(inside[:, k])},
    )
    job = _ShadowJob(lesson, seed, inside)
    return list(engine.run(job, range(inside.shape[1]), keep=keep, progress=progress))


def halves(pool: Mask, count: int, rng: np.random.Generator) -> Mask:
    """Each record of the pool in ``count // 2`` of the training sets, drawn at random."""
    order = np.argsort(rng.random((pool.size, count)), axis=1)
    return np.asarray((order < count // 2) & pool[:, None])


@dataclass(frozen=True)
class _ShadowJob:
    lesson: ShadowLesson
    seed: int
    inside: Mask

    def __call__(self, index: int) -> Mapping[str, Any]:
        """One model; its seed depends on its place alone."""
        words = np.random.SeedSequence([self.seed, index]).generate_state(1)
        seed = int(words[0]) % 2**31
        return self.lesson(self.inside[:, index], seed, f"Shadow model {index}")


@dataclass(frozen=True)
class _ArrayLesson:
    make: Make
    x: npt.NDArray[Any]
    labels: npt.NDArray[np.intp]
    classes: int

    def __call__(self, rows: Mask, seed: int, name: str) -> dict[str, Array]:
        """Log-probabilities of all records."""
        model = self.make(seed)
        asked = Sized(model).fit(self.x[rows], self.labels[rows])
        found = logarithms(asked.predict_proba(self.x), name)
        known = np.asarray(getattr(model, "classes_", np.arange(self.classes)), dtype=np.intp)
        out = np.full((len(self.x), self.classes), np.log(SMALLEST))
        out[:, known] = found  # a class that its training set lacks is impossible to it
        return {"answers": out}
