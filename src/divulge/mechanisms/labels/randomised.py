"""Learning from labels that went through k-ary randomised response."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.mechanisms.labels.base import LabelPrivateClassifier, fit_noisy
from divulge.mechanisms.labels.guarantee import (
    NO_PRIVACY,
    Guarantee,
    check_epsilon,
    randomised_response_curve,
)
from divulge.mechanisms.labels.response import invert_response, label_channel
from divulge.types import Array


class RandomisedLabels(LabelPrivateClassifier):
    """k-ary randomised response: a label is kept with probability ``e^eps / (e^eps + k - 1)``.

    Each label is randomised once and on its own, so the guarantee is that of one answer. With
    ``noise_correction`` predictions go through the inverse transition matrix.

    After fit: ``noisy_labels_``, ``channel_``, ``guarantee_``.
    """

    def __init__(
        self,
        learner: Any,
        epsilon: float,
        noise_correction: bool = False,
        classes: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.noise_correction = noise_correction
        self.classes = classes
        self.random_state = random_state

    @property
    def guarantee(self) -> Guarantee:
        """Exact if the classes are given, otherwise that of two classes, which leak most."""
        check_epsilon(self.epsilon)
        if np.isinf(self.epsilon):
            return NO_PRIVACY
        k = self._public_classes() or 2
        return Guarantee(
            randomised_response_curve(self.epsilon, k),
            f"Randomised response over {k} labels (Warner 1965; Kairouz et al. 2016).",
            pure=self.epsilon,
        )

    def fit(self, X: Any, y: Any) -> RandomisedLabels:  # noqa: N803
        """Randomise the labels and fit the learner to them."""
        check_epsilon(self.epsilon)
        task = self._start(X, y)
        self.channel_ = label_channel(self.epsilon, task.classes.size)
        noisy = self.channel_.sample(task.codes, task.rng)
        self.noisy_labels_ = task.classes[noisy]
        self.model_ = fit_noisy(self.learner, task, noisy)
        self.guarantee_ = self.channel_.guarantee
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """One column per class of ``classes_``."""
        found = super().predict_proba(X)
        return invert_response(found, self.epsilon) if self.noise_correction else found
