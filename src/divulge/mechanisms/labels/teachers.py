"""Learning from the noisy votes of teachers that never share a label (PATE)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.curves import ApproximateDP, Gaussian, mu_from_epsilon
from divulge.errors import require, require_probability
from divulge.mechanisms.labels.base import LabelPrivateClassifier, Task, as_table
from divulge.mechanisms.labels.guarantee import NO_PRIVACY, Guarantee, check_epsilon
from divulge.mechanisms.labels.learner import check_learner, fit_labels, partition, take
from divulge.mechanisms.labels.response import Codes
from divulge.mechanisms.labels.vote_accounting import epsilon_of_votes
from divulge.types import Array

NOISES = ("gaussian", "laplace")


def vote_guarantee(scale: float, queries: int, noise: str = "gaussian") -> Guarantee:
    """What noise of this scale on the votes for this many queries promises.

    A label belongs to one teacher. Replacing it moves at most that teacher's vote in every query:
    one count down by 1, another up by 1, so by sqrt(2) in L2 and by 2 in L1. All counts together
    move by at most sqrt(2 Q) in L2: exactly mu-GDP with ``mu = sqrt(2 Q) / sigma`` (Dong, Roth and
    Su, Theorem 1; composition is the norm of the whole vector). In L1 they move by 2 Q: pure DP
    with ``epsilon = 2 Q / scale`` for Laplace noise.
    """
    _check_noise(noise)
    require(scale >= 0.0 and math.isfinite(scale), f"scale must be at least 0. Found {scale!r}.")
    require(queries >= 1, f"queries must be at least 1. Found {queries}.")
    if scale == 0.0:
        return NO_PRIVACY
    if noise == "laplace":
        epsilon = 2.0 * queries / scale
        theorem = "Laplace mechanism with L1 sensitivity 2 per query (Papernot et al. 2017)."
        return Guarantee(ApproximateDP(epsilon), theorem, pure=epsilon)
    return Guarantee(
        Gaussian(math.sqrt(2.0 * queries) / scale),
        "Gaussian mechanism with L2 sensitivity sqrt(2) per query (Papernot et al. 2018; "
        "Dong, Roth and Su, Theorem 1).",
    )


def vote_scale(epsilon: float, delta: float, queries: int, noise: str = "gaussian") -> float:
    """The least scale whose guarantee is at most epsilon at delta; rounded to the private side."""
    check_epsilon(epsilon)
    _check_noise(noise)
    if math.isinf(epsilon):
        return 0.0
    if noise == "laplace":
        scale = 2.0 * queries / epsilon
    else:
        require_probability("delta", delta)
        scale = math.sqrt(2.0 * queries) / mu_from_epsilon(epsilon, delta)
    at, step = (0.0 if noise == "laplace" else delta), 1e-15
    while vote_guarantee(scale, queries, noise).epsilon(at) > epsilon:
        scale, step = scale * (1.0 + step), 2.0 * step
    return scale


class TeacherLabels(LabelPrivateClassifier):
    """PATE for labels: Papernot et al. (2017, 2018); for label DP, Malek et al. (2021).

    The records are split at random into as many disjoint parts as there are ``teachers``; each
    teacher is fitted to its own part and votes on the ``queries``. Noise is added to the counts,
    and a student is fitted to the queries with the winning labels. The features are public, so the
    queries are a random choice of that many training records, or a table of their own. Neither the
    parts nor the choice depends on any label.

    State either ``epsilon`` (with ``delta`` for Gaussian noise), from which the scale is solved, or
    ``scale``: the standard deviation of Gaussian noise, the scale of Laplace noise. ``teacher`` is
    what the teachers learn with, if not the ``learner`` of the student; with a student that also
    learns from the features of all records (FixMatch) this is PATE-FM.

    After fit: ``teacher_`` (of each record), ``queries_`` (their indices, None for a table),
    ``noisy_votes_``, ``noisy_labels_`` (of the queries), ``scale_``, ``guarantee_``, and, of
    Gaussian noise, ``spent_``: what these votes cost at ``delta`` (``vote_accounting``), which is
    not private itself.
    """

    def __init__(
        self,
        learner: Any,
        epsilon: float | None = None,
        delta: float = 1e-5,
        scale: float | None = None,
        teachers: int = 10,
        queries: Any = 100,
        noise: str = "gaussian",
        teacher: Any = None,
        classes: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.teacher = teacher
        self.epsilon = epsilon
        self.delta = delta
        self.scale = scale
        self.teachers = teachers
        self.queries = queries
        self.noise = noise
        self.classes = classes
        self.random_state = random_state

    @property
    def guarantee(self) -> Guarantee:
        """Exact: it depends on the number of queries and the noise only."""
        return vote_guarantee(self._scale(), self._asked(), self.noise)

    def fit(self, X: Any, y: Any) -> TeacherLabels:  # noqa: N803
        """Fit the teachers, let them vote, and fit the student to the noisy winners."""
        guarantee = self.guarantee
        task = self._start(X, y)
        if self.teacher is not None:
            check_learner(self.teacher)
        require(
            1 <= self.teachers <= task.records,
            f"teachers must lie between 1 and the number of records ({task.records}). "
            f"Found {self.teachers}.",
        )
        asked = self._ask(task)
        self.scale_ = self._scale()
        votes = self._vote(task, asked)
        gaussian = self.noise == "gaussian"
        self.spent_ = epsilon_of_votes(votes, self.scale_, self.delta) if gaussian else None
        if self.noise == "laplace":
            noise = task.rng.laplace(scale=self.scale_, size=votes.shape)
        else:
            noise = task.rng.normal(scale=self.scale_, size=votes.shape)
        self.noisy_votes_ = votes + noise
        winners = self.noisy_votes_.argmax(axis=1)
        self.noisy_labels_ = task.classes[winners]
        self.model_ = fit_labels(self.learner, asked, winners, task.classes, task.rng)
        self.guarantee_ = guarantee
        return self

    def _asked(self) -> int:
        """The number of queries."""
        if isinstance(self.queries, (int, np.integer)):
            return int(self.queries)
        return int(np.shape(self.queries)[0])

    def _scale(self) -> float:
        require(
            (self.epsilon is None) != (self.scale is None),
            "State either epsilon or scale, and not both.",
        )
        if self.epsilon is not None:
            return vote_scale(self.epsilon, self.delta, self._asked(), self.noise)
        assert self.scale is not None
        return float(self.scale)

    def _ask(self, task: Task) -> Any:
        """The features of the queries."""
        self.queries_: Codes | None = None
        if not isinstance(self.queries, (int, np.integer)):
            return as_table(self.queries)
        require(
            self._asked() <= task.records,
            f"There are {task.records} records, fewer than the {self.queries} queries: "
            "lower queries or pass a table of them.",
        )
        self.queries_ = np.sort(task.rng.choice(task.records, self.queries, replace=False))
        return take(task.x, self.queries_)

    def _vote(self, task: Task, asked: Any) -> Array:
        """How many teachers chose each label, for each query."""
        self.teacher_ = np.empty(task.records, dtype=np.intp)
        votes = np.zeros((self._asked(), task.classes.size))
        learner = self.learner if self.teacher is None else self.teacher
        for teacher, part in enumerate(partition(task.records, self.teachers, task.rng)):
            self.teacher_[part] = teacher
            own = take(task.x, part)
            model = fit_labels(learner, own, task.codes[part], task.classes, task.rng)
            choice = model.predict_proba(asked).argmax(axis=1)
            votes[np.arange(choice.size), choice] += 1.0
        return votes


def _check_noise(noise: str) -> None:
    require(noise in NOISES, f"Unknown noise {noise!r}. Choose from {', '.join(NOISES)}.")
