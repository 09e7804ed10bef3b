"""What the retraining game calls things: labels, headings and captions."""

from __future__ import annotations

LABELS = {
    "attacks": "attacks (pairs of dataset and record)",
    "correlation_mean": "correlation of false positives and false negatives, posterior mean",
    "correlation_sd": "correlation of false positives and false negatives, posterior spread",
    "correlation_within_groups": "correlation of decisions within a group",
    "false_negative_rate": "models trained with the record, not recognised",
    "false_positive_rate": "models trained without the record, accused",
    "highest_density": "highest-density region",
    "if_strongest_attack": "epsilon, had every attack been the strongest possible (strength 1)",
    "negatives": "models trained without the record",
    "positives": "models trained with the record",
    "q05": "5% quantile",
    "q50": "median",
    "q95": "95% quantile",
    "sampler": "the published sampler",
    "strength": "strength of the attacks (0: anything allowed, 1: the strongest possible)",
    "tau_mean": "correlation of two decisions (tau), posterior mean",
    "tau_sd": "correlation of two decisions (tau), posterior spread",
}
"""On top of those that every game shares."""

CHECKS = {
    "predictive": (
        "Do the counts look like the model's?",
        "Tables of counts were drawn from the posterior. A probability near 0 says that the "
        "observed value would be odd among them: attacks are then not spread evenly over the "
        "region, as the model of the posterior has it. The bounds do not rest on that model.",
    ),
}
