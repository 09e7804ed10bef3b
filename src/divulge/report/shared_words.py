"""Headings and labels that every game shares: plain data, so that each game can build on them."""

from __future__ import annotations

CHECKS = {
    "comparison": (
        "How do other attacks fare?",
        "Attacks on the same table, side by side. The verdict rests on the attack that was named "
        "beforehand: the largest value of several, picked afterwards, is not a bound.",
    ),
    "seeds": (
        "What do other draws give?",
        "The same audit with other seeds, which draw other trials from the same table. The bounds "
        "of each draw alone show how much is chance; what is proved is the combination of all. "
        "Charts and measurements are those of the draw shown.",
    ),
    "blind": (
        "What does the record alone give away?",
        "A learner that never sees the model tries to tell members apart. What it achieves is a "
        "difference between the groups, not a leak of the model; 0 is best.",
    ),
    "negative_control": (
        "Does a model that never saw the members stay silent?",
        "The same audit on a reference model. Anything above 0 is an error of the audit.",
    ),
    "duplicates": ("Do records stand in both groups?", ""),
    "draw": ("How were the trials drawn?", ""),
    "nuisance": ("How good are the helper models?", ""),
}
"""Diagnostics shown as tables, in this order: heading and how to read them."""

ROUNDED_UP = frozenset(
    (
        "allowance_epsilon", "allowance_mu", "high", "p_value", "q95", "repetitions_epsilon_sd",
        "student_unlearned_epsilon", "student_unlearned_mu",
    )
)  # fmt: skip
"""What is deducted, a p-value or an upper end: rounded up, as all else is rounded down."""

LABELS = {
    "agreement": "share of the records whose drawn value would equal the true one",
    "allowance_epsilon": "deducted from epsilon for shift that may have been missed",
    "allowance_mu": "deducted from mu for shift that may have been missed",
    "auc_of_residual_score": "area under the curve after what the record explains is taken out",
    "auc": "area under the curve (0.5 is guessing)",
    "c_lb": "given away by the record alone (c, at least)",
    "combination": "how the replays are combined",
    "combined_epsilon": "epsilon from all replays combined (at least)",
    "combined_mu": "mu from all replays combined (at least)",
    "corrected_log_loss": "log-loss of the corrected proxy",
    "c_plus_epsilon_lb": "given away by record and model together (c + epsilon, at least)",
    "epsilon_tilde": "epsilon less what the record alone gives away (a measurement, not a bound)",
    "fpr": "non-members accused",
    "gamma_star": "odds ratio that would explain the finding away (Gamma*)",
    "gdp_equivalent_epsilon": "GDP-equivalent epsilon, if the mechanism is Gaussian; not a bound",
    "goal": "wealth to reach",
    "heldout_epsilon": "epsilon of the same audit on held-out records, which the model never saw",
    "log_loss": "log-loss",
    "lower": "lower value reported",
    "members_kept": "members kept",
    "negative_control_epsilon": "epsilon of a reference model that never saw the members",
    "nonmembers": "non-members",
    "nonmembers_kept": "non-members kept",
    "pool_members": "members brought",
    "pool_nonmembers": "non-members brought",
    "point": "value without resampling",
    "proxy_log_loss": "log-loss of the proxy",
    "repetitions_epsilon_mean": "mean of the bounds on epsilon over replays of the coin flips; "
    "not a bound",
    "repetitions_epsilon_sd": "standard deviation of the bounds on epsilon over replays of the "
    "coin flips",
    "error_of_each_alone": "error of each draw alone",
    "of_each_seed": "of each seed",
    "shown": "seed of the charts and measurements",
    "without_conclusion": "draws without a conclusion",
    "sha256": "SHA-256",
    "share_within": "share of the records within the overlap",
    "target_log_loss": "log-loss of the model under audit",
    "tau": "total variation allowed to the proxy (tau)",
    "known_share": "share that the target may know of the records it speaks of most surely",
    "shift_proved": "difference between values of training and held-out records, at least",
    "student_explained": "share of what the target says that its student explains",
    "student_learnable_share": "share of the target's surprise that more records would explain",
    "student_unexplained": "share of the target's difference from the proxy left by its student",
    "student_unlearned_epsilon": "what the student has left to learn, in log-odds",
    "student_unlearned_mu": "what the student has left to learn, as a mu",
    "tpr": "members recognised",
    "tpr_at_fpr": "members recognised at a share of non-members accused",
}
