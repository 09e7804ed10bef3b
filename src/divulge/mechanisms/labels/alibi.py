"""Learning from labels under Laplace noise, made soft by Bayes' rule (ALIBI)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.mechanisms.labels.base import LabelPrivateClassifier, refine
from divulge.mechanisms.labels.guarantee import Guarantee, check_epsilon
from divulge.mechanisms.labels.laplace import LaplaceChannel


class LaplaceLabels(LabelPrivateClassifier):
    """ALIBI of Malek et al. (2021), "Antipodes of label differential privacy: PATE and ALIBI".

    Laplace noise of scale 2 / epsilon on the one-hot label; then ``rounds`` of soft labels by
    Bayes' rule, the first with a uniform prior, the others with the out-of-fold predictions (over
    ``folds``) of a model of the soft labels before. All but the noise is post-processing. Few
    rounds leave the predictions too flat, the more so the smaller epsilon is.

    After fit: ``noisy_labels_`` (one column per class), ``soft_labels_``, ``channel_``,
    ``guarantee_``, which is exact and the same before fit.
    """

    def __init__(
        self,
        learner: Any,
        epsilon: float,
        rounds: int = 6,
        folds: int = 3,
        classes: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.rounds = rounds
        self.folds = folds
        self.classes = classes
        self.random_state = random_state

    @property
    def guarantee(self) -> Guarantee:
        """Exact for any number of classes."""
        return LaplaceChannel(self.epsilon, 2).guarantee

    def fit(self, X: Any, y: Any) -> LaplaceLabels:  # noqa: N803
        """Add noise to the labels and fit the learner to what they then say."""
        check_epsilon(self.epsilon)
        task = self._start(X, y)
        k = task.classes.size
        self.channel_ = LaplaceChannel(self.epsilon, k)
        self.noisy_labels_ = self.channel_.sample(task.codes, task.rng)
        self.model_, self.soft_labels_ = refine(
            self.learner,
            task,
            self.channel_.log_likelihood(self.noisy_labels_),
            np.full((task.records, k), 1.0 / k),
            self.rounds,
            self.folds,
        )
        self.guarantee_ = self.channel_.guarantee
        return self
