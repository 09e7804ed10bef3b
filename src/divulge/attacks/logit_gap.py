"""The logit of the true label: ``log p_y - log(sum of the other probabilities)``.

The logit scaling of LiRA (Carlini et al., 2022), in its stable form: nearly normal
over models, where a probability is not, and unbounded where the model is sure. Needs probabilities
and the label. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from divulge.attacks.base import Attack, Observed, label_log_probabilities, losses
from divulge.models.base import Answers
from divulge.types import Array


def logit_gap(answers: Answers, labels: npt.NDArray[np.intp]) -> Array:
    """The logit of the true label of every record."""
    assert answers.log_probabilities is not None
    others = answers.log_probabilities.copy()
    others[np.arange(labels.size), labels] = -np.inf
    return np.asarray(label_log_probabilities(answers, labels) - logsumexp(others, axis=1))


def signal(answers: Answers, labels: npt.NDArray[np.intp] | None) -> Array:
    """What attacks with shadow models compare: the logit, or minus the loss where there is none."""
    if answers.log_probabilities is not None and labels is not None:
        return logit_gap(answers, labels)
    return -losses(answers, labels)


def _score(observed: Observed) -> Array:
    assert observed.labels is not None
    return logit_gap(observed.target, observed.labels)


ATTACK = Attack(
    name="logit_gap",
    title="logit of the true label",
    paper="Carlini et al. 2022, logit scaling",
    lower_is_member=False,
    needs=("probabilities", "label"),
    score=_score,
)
