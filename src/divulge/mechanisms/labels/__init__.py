"""Label-private learners with a known guarantee, around any scikit-learn classifier."""

from divulge.mechanisms.labels.alibi import LaplaceLabels
from divulge.mechanisms.labels.base import LabelPrivateClassifier
from divulge.mechanisms.labels.guarantee import (
    NO_PRIVACY,
    Guarantee,
    randomised_response_curve,
)
from divulge.mechanisms.labels.laplace import LaplaceChannel, LaplacePair, posterior
from divulge.mechanisms.labels.prior import PriorLabels, StagedLabels
from divulge.mechanisms.labels.randomised import RandomisedLabels
from divulge.mechanisms.labels.response import (
    ResponseChannel,
    best_sizes,
    invert_response,
    label_channel,
    transition_matrix,
)
from divulge.mechanisms.labels.teachers import TeacherLabels, vote_guarantee, vote_scale
from divulge.mechanisms.labels.vote_accounting import epsilon_of_votes, scale_of_votes

__all__ = [
    "NO_PRIVACY",
    "Guarantee",
    "LabelPrivateClassifier",
    "LaplaceChannel",
    "LaplaceLabels",
    "LaplacePair",
    "PriorLabels",
    "RandomisedLabels",
    "ResponseChannel",
    "StagedLabels",
    "TeacherLabels",
    "best_sizes",
    "epsilon_of_votes",
    "invert_response",
    "label_channel",
    "posterior",
    "randomised_response_curve",
    "scale_of_votes",
    "transition_matrix",
    "vote_guarantee",
    "vote_scale",
]
