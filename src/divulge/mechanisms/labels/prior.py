"""Learning from labels randomised with a prior: one stage (LP-1ST) or several (LP-MST)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from divulge.curves import ApproximateDP
from divulge.errors import require
from divulge.mechanisms.labels.base import (
    LabelPrivateClassifier,
    Task,
    check_refinement,
    fit_noisy,
    refine,
)
from divulge.mechanisms.labels.guarantee import NO_PRIVACY, Guarantee, check_epsilon
from divulge.mechanisms.labels.learner import (
    fit_labels,
    floored,
    partition,
    predict_out_of_fold,
    predict_prior,
    take,
)
from divulge.mechanisms.labels.response import Codes, ResponseChannel, check_prior, label_channel
from divulge.types import Array


class _WithPrior(LabelPrivateClassifier):
    """What both share: where the prior comes from, and what is done with the noisy labels."""

    epsilon: float
    prior: Any
    noise_correction: bool
    rounds: int
    folds: int
    channel_: ResponseChannel
    noisy_labels_: npt.NDArray[Any]
    soft_labels_: Array

    @property
    def guarantee(self) -> Guarantee:
        """A prior may narrow any record down to two answers, so the curve is that of pure DP."""
        check_epsilon(self.epsilon)
        if np.isinf(self.epsilon):
            return NO_PRIVACY
        return Guarantee(
            ApproximateDP(self.epsilon),
            "RRWithPrior is epsilon-DP for any prior (Ghazi et al. 2021, Lemma 1); "
            "each label is used once (parallel composition).",
            pure=self.epsilon,
        )

    def __sklearn_clone__(self) -> Any:
        """A clone keeps the fitted prior, which scikit-learn would otherwise reset."""
        params = {name: clone(v, safe=False) for name, v in self._own_params().items()}
        return type(self)(**params, prior=self.prior)

    def _own_params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.get_params(deep=False)
        return {name: value for name, value in params.items() if name != "prior"}

    def _prior(self, task: Task) -> Array:
        """One row per record, whatever the prior was given as."""
        k = task.classes.size
        if self.prior is None:
            return np.full((task.records, k), 1.0 / k)
        if hasattr(self.prior, "predict_proba"):
            return check_prior(predict_prior(self.prior, task.x, task.classes), k)
        rows = check_prior(self.prior, k)
        require(
            rows.shape[0] in (1, task.records),
            f"The prior has {rows.shape[0]} rows for {task.records} records.",
        )
        return np.broadcast_to(rows, (task.records, k))

    def _finish(self, task: Task, noisy: Codes, prior: Array) -> None:
        """The final model on all noisy labels, hard or made soft by the known noise."""
        self.noisy_labels_ = task.classes[noisy]
        if not self.noise_correction:
            self.model_ = fit_noisy(self.learner, task, noisy)
            return
        check_refinement(task, self.rounds, self.folds)
        hot = np.eye(task.classes.size)[noisy]
        answers = predict_out_of_fold(self.learner, task.x, hot, task.classes, self.folds, task.rng)
        start = floored(self.channel_.invert(answers, prior))
        likelihood = self.channel_.log_likelihood(noisy)
        self.model_, self.soft_labels_ = refine(
            self.learner, task, likelihood, start, self.rounds, self.folds
        )


class PriorLabels(_WithPrior):
    """LP-1ST of Ghazi et al. (2021), "Deep learning with label differential privacy".

    RRWithPrior (Algorithms 1 and 2): each label is randomised among its k likeliest values under
    ``prior``, with the k that makes the answer right most often. The prior is a fitted classifier,
    a matrix of probabilities (one row per record, or one for all; columns as in the sorted
    classes), or None for uniform, which is k-ary randomised response. It must not have seen these
    labels. With ``noise_correction`` the learner is fitted to soft labels: out-of-fold predictions
    of the answers (over ``folds``), put through ``ResponseChannel.invert``, are the prior of Bayes'
    rule. Further ``rounds`` are expectation maximisation: they sharpen a parametric learner a
    little and let a flexible one, such as a forest, grow overconfident.

    After fit: ``noisy_labels_``, ``channel_`` (its ``sizes`` are the k), ``guarantee_``, which is
    exact given the prior.
    """

    def __init__(
        self,
        learner: Any,
        epsilon: float,
        prior: Any = None,
        noise_correction: bool = False,
        rounds: int = 1,
        folds: int = 3,
        classes: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.prior = prior
        self.noise_correction = noise_correction
        self.rounds = rounds
        self.folds = folds
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> PriorLabels:  # noqa: N803
        """Randomise the labels with the prior and fit the learner to them."""
        check_epsilon(self.epsilon)
        task = self._start(X, y)
        prior = self._prior(task)
        self.channel_ = label_channel(self.epsilon, task.classes.size, prior)
        self._finish(task, self.channel_.sample(task.codes, task.rng), prior)
        self.guarantee_ = self.channel_.guarantee
        return self


class StagedLabels(_WithPrior):
    """LP-MST of Ghazi et al. (2021), Algorithm 3: the model of the earlier stages is the prior.

    The records are split at random into disjoint ``stages``. The labels of a stage are randomised
    by RRWithPrior with the predictions of a model fitted to the noisy labels of all stages before;
    the final model is fitted to the noisy labels of all. A label enters only its own stage, and
    later stages see its noisy version only: parallel composition, so epsilon is paid once. The
    prior of the first stage and ``noise_correction`` are as in PriorLabels.

    After fit: ``noisy_labels_``, ``stage_`` (of each record), ``channel_``, ``guarantee_``. The k
    of later stages follow noisy labels, so the guarantee does not depend on them.
    """

    def __init__(
        self,
        learner: Any,
        epsilon: float,
        stages: int = 2,
        prior: Any = None,
        noise_correction: bool = False,
        rounds: int = 1,
        folds: int = 3,
        classes: npt.ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.stages = stages
        self.prior = prior
        self.noise_correction = noise_correction
        self.rounds = rounds
        self.folds = folds
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> StagedLabels:  # noqa: N803
        """Randomise the labels stage by stage and fit the learner to all of them."""
        check_epsilon(self.epsilon)
        task = self._start(X, y)
        require(
            1 <= self.stages <= task.records,
            f"stages must lie between 1 and the number of records ({task.records}). "
            f"Found {self.stages}.",
        )
        prior = np.array(self._prior(task))
        allowed = np.zeros(prior.shape, dtype=bool)
        noisy = np.full(task.records, -1, dtype=np.intp)
        self.stage_ = np.full(task.records, -1, dtype=np.intp)
        for stage, part in enumerate(partition(task.records, self.stages, task.rng)):
            done = np.flatnonzero(noisy >= 0)
            if done.size:
                seen = take(task.x, done)
                model = fit_labels(self.learner, seen, noisy[done], task.classes, task.rng)
                prior[part] = model.predict_proba(take(task.x, part))
            channel = label_channel(self.epsilon, task.classes.size, prior[part])
            noisy[part] = channel.sample(task.codes[part], task.rng)
            allowed[part] = channel.allowed
            self.stage_[part] = stage
        self.channel_ = ResponseChannel(self.epsilon, allowed)
        self._finish(task, noisy, prior)
        self.guarantee_ = self.guarantee
        return self
