"""What the leakage of single records calls things: labels, headings and captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

QUESTION = (
    "If a mean of these records is released, which of them can an observer tell to be in it, and "
    "how well?"
)
MEANING = (
    "No attack was run and nothing was tested. The figures are computed for each record from its "
    "distance to the others: what the best possible attack would reach, if the model stated below "
    "is right. They are neither lower nor upper bounds with a confidence."
)

LABELS = {
    "advantage_by_similar": "advantage of somebody who holds the nearest reference record",
    "behind": "records behind the mean",
    "by_similar": "advantage with the nearest reference record",
    "columns": "columns of the mean",
    "compared": "records compared",
    "correlated": "reference records behind the correlations",
    "distance_ratio": "mean squared distance of the records over its expectation (1 is best)",
    "dropped_columns": "columns left out because they are constant",
    "exact_advantage": "advantage, exact",
    "expected_count": "records behind the mean expected to have the rarer value",
    "largest_share": "largest share of the leakage kept",
    "leakage": "leakage (m*)",
    "median_share": "median share of the leakage kept",
    "noise": "noise on every column of the mean (standard deviation)",
    "noise_over_spread": "the same over the spread of the mean itself (median column)",
    "now": "advantage at this percentile now",
    "own": "advantage with the record itself",
    "percentile": "percentile of the records",
    "rate": "share of the records that is sampled",
    "records": "records",
    "reference": "reference records",
    "searched": "reference records searched",
    "shared_with_reference": "records that also stand in the reference (0 is best)",
    "shrinkage": "shrinkage towards independent columns (0 none, 1 whole)",
    "size": "records in the table",
    "skewness_over_root": "skewness over the root of the records behind the mean",
    "wanted": "advantage to come down to",
}
"""On top of those that every game shares."""


def labels(shared: Mapping[str, str]) -> dict[str, str]:
    """The shared words and ours."""
    return {**shared, **LABELS}


EXPOSURE = "How exposed are the records?"
EXPOSURE_CAPTION = (
    "Across: the advantage of the best attack on a record, that is the share of times it rightly "
    "says “in” less the share of times it wrongly does; 0 is guessing, 1 is certainty. Up: how "
    "many records have it, on an axis that also shows single ones. One line marks the percentile "
    "looked at, the other what was asked for."
)
POWER = "How often would the best attack be right?"
POWER_CAPTION = (
    "Up: the share of times that the record is found when it is in. Across: the share of times "
    "that it is accused when it is not. Dotted: guessing. One line for a record in the middle, "
    "one at the 99th percentile, one for the most exposed."
)
SIMILAR = "How much does a similar record still reveal?"
SIMILAR_CAPTION = (
    "Somebody may not hold the record itself but one like it. Each point is a record: across, the "
    "advantage with the record itself; up, with the nearest reference record in its place. On the "
    "dotted line nothing is lost."
)
CHECKS = {
    "most_exposed": (
        "Which records are most exposed?",
        "By id, most exposed first. The whole list is in the table that --table writes.",
    ),
    "defences": (
        "What would bring the exposure down?",
        "Solved, each for itself: the least noise, with the sampling as it is, and the largest "
        "sampling rate, with the noise as it is, at which the percentile has come down to the "
        "advantage asked for. A rate of 0 means that none does.",
    ),
    "normality": (
        "Which columns have a mean that is not close to normal?",
        "Most skewed first. Beyond 0.3, or with fewer than five expected records of the rarer "
        "value, the normal form may be far off. Where every column holds zeros and ones and no "
        "noise is added, the exact figures stand beside the normal ones.",
    ),
    "mechanism": ("What is released?", ""),
    "covariance": (
        "How were distances measured?",
        "In the covariance of the reference records. A ratio far from 1 means that the records are "
        "not like the reference, or that the covariance is not known well enough.",
    ),
}
EXACT = "exact_"
"""How figures that need no normal mean begin."""
SERIES = {"median": "median record", "p99": "99th percentile", "largest": "most exposed record"}
"""The records whose power is drawn."""
QUANTILES = (("median", "median"), ("p90", "90%"), ("p99", "99%"), ("largest", "largest"))
"""The columns of the terminal's table."""


def figure(key: str) -> str:
    """``leakage``, ``advantage``, ``power at FPR 0.01``, ``epsilon at delta 1e-05``."""
    if key.startswith(EXACT):
        return f"{figure(key.removeprefix(EXACT))}, exact"
    for start, words in (("tpr_at_", "power at FPR "), ("epsilon_at_", "epsilon at delta ")):
        if key.startswith(start):
            return words + key.removeprefix(start)
    return LABELS.get(key, key)


def is_summary(value: Any) -> bool:
    """Whether an entry of the measurements is a distribution over records."""
    return isinstance(value, Mapping) and {k for k, _ in QUANTILES} <= set(value)
