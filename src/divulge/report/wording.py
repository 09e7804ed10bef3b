"""Words that every game shares: what a verdict means, labels, headings, names of trials."""

from __future__ import annotations

from dataclasses import dataclass

from divulge.text import rounding
from divulge.text.rounding import percent as percent
from divulge.text.visible import visible as visible

STATUS_CLASSES = {"leak": "leak", "no evidence": "clear", "cannot conclude": "open"}

MEANINGS = {
    "leak": "A lower bound: the model gives away at least this much about records it was trained "
    "on, under the assumptions below; the true leakage may be larger.",
    "no evidence": "The audit did not prove a leak. That does not make the model safe: more "
    "trials or a stronger attack may still prove one.",
    "cannot conclude": "The data allow no conclusion in either direction, so no number is claimed.",
    "computed": "No attack was run and nothing was tested. The figures are computed for each "
    "record from its distance to the others: what the best possible attack would reach, if the "
    "model stated below is right. They are neither lower nor upper bounds with a confidence.",
}

STANDINGS = {
    "proved": "by a theorem, if its assumptions hold",
    "numerical": "by a theorem whose worst case was computed",
    "estimated": "rests on an estimate that no theorem covers",
}
"""What the standing of a bound means."""

MU = "as telling as one draw of Gaussian noise shifted by so many standard deviations"
"""What a mu means."""


@dataclass(frozen=True)
class Words:
    """How one game speaks of its trials: phrases that captions, axes and tables share.

    A game without its own words has those of membership.
    """

    yes: str = "members"
    """The trials whose truth is yes, and below those whose truth is no."""
    no: str = "non-members"
    each: str = "a record"
    """What one trial shows, and below what it is if its truth is yes."""
    one: str = "a member"
    taken: str = "taken for members"
    """What happens to a trial that the attack says yes to."""
    happened: str = "a record was used"
    """What an observer would like to know, as a sentence."""
    tell_apart: str = "tell members apart"
    judgement: str = "propensity"
    """What says, without the model, how likely a yes is."""
    doubt: str = "the propensity is wrong"
    """The judgement at fault, and below what would be at fault, each within a sentence."""
    hidden: str = "unmeasured distribution shift"


@dataclass(frozen=True)
class Advice:
    """What one game says of how sure a finding is, and of what to do next."""

    by_design: bool = False
    """Whether the randomness was known by design, so that no control is needed."""
    explained: bool = False
    """Whether something other than the model may explain a finding, and checks speak to that."""
    settle: str = ""
    """How a fragile finding is settled."""
    settling: str = ""
    """The measurement that shows that this was done already, and below what is left to do then."""
    further: str = ""
    quiet: str = "Before relying on it, try a stronger attack or more trials."
    """What to do where nothing was found, and below where nothing could be concluded."""
    open: str = "The reasons above say what was missing: repair that, or plan canaries."


def number(value: float) -> str:
    """At most three decimals, or three digits if it is small; rounded towards the smaller claim."""
    return rounding.short(value)


CHECKS = {
    "comparison": (
        "How do other attacks perform?",
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
        "A blind baseline, a learner that never sees the model, tries to tell members from "
        "non-members. What it achieves is distribution shift, not a leak of the model; 0 is "
        "best.",
    ),
    "negative_control": (
        "Negative control: does a model that never saw the members show a leak?",
        "The same audit on a reference model, which was not trained on the members. Anything "
        "above 0 is an error of the audit.",
    ),
    "robustness": (
        "What does a robust finding need, and what of it holds?",
        "All of it must hold. What fails stands among the reasons of the verdict.",
    ),
    "left_out": (
        "How much do observed features matter?",
        "By which factor the odds of membership change, per standard deviation, if a feature is "
        "left out. A hidden feature as strong as the first would have to be ruled out by Gamma*.",
    ),
    "folded": ("What of the features was not seen?", ""),
    "duplicates": ("Are there records in both groups?", ""),
    "draw": ("How were the trials drawn?", ""),
    "nuisance": ("How good are the nuisance models?", ""),
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
    "allowance_epsilon": "deducted from epsilon for distribution shift that may have been missed",
    "allowance_mu": "deducted from mu for distribution shift that may have been missed",
    "auc_of_residual_score": "AUC of the score without what the record alone explains",
    "auc": "AUC, the area under the ROC curve (0.5 is guessing)",
    "c_lb": "given away by the record alone (c, at least)",
    "combination": "how the draws are combined",
    "combined_epsilon": "epsilon from all draws combined (at least)",
    "combined_mu": "mu from all draws combined (at least)",
    "corrected_log_loss": "log-loss of the corrected proxy",
    "c_plus_epsilon_lb": "given away by record and model together (c + epsilon, at least)",
    "epsilon_tilde": "epsilon less what the record alone gives away (a measurement, not a bound)",
    "fpr": "false-positive rate",
    "gamma_star": "odds ratio that would explain the finding away (Gamma*)",
    "gdp_equivalent_epsilon": "GDP-equivalent epsilon, if the mechanism is Gaussian; not a bound",
    "goal": "threshold of the wealth",
    "heldout_epsilon": "epsilon of the same audit on held-out records",
    "log_loss": "log-loss",
    "lower": "lower value reported",
    "members_kept": "members kept",
    "negative_control_epsilon": "epsilon of the negative control (a reference model that "
    "never saw the members)",
    "nonmembers": "non-members",
    "nonmembers_kept": "non-members kept",
    "pool_members": "members in the pool",
    "pool_nonmembers": "non-members in the pool",
    "point": "value without resampling",
    "proxy_log_loss": "log-loss of the proxy",
    "repetitions_epsilon_mean": "mean of the bounds on epsilon over draws of the coins; "
    "not a bound",
    "repetitions_epsilon_sd": "standard deviation of the bounds on epsilon over draws of the coins",
    "error_of_each_alone": "error of each draw alone",
    "of_each_seed": "of each seed",
    "shown": "seed of the charts and measurements",
    "without_conclusion": "draws without a conclusion",
    "sha256": "SHA-256",
    "share_within": "share of the records within the overlap",
    "target_log_loss": "log-loss of the model under audit",
    "tau": "total variation allowed to the proxy (tau)",
    "known_share": "share that the target may know of the records it is most confident about",
    "strangers_force": "how strongly the target speaks of held-out records, in log-odds",
    "shift_proved": "difference between values of training and held-out records, at least",
    "student_explained": "share of what the target says that its student explains",
    "student_learnable_share": "share of the target's surprise that more records would explain",
    "student_unexplained": "share of the target's difference from the proxy left by its student",
    "student_unlearned_epsilon": "what the student has left to learn, in log-odds",
    "student_unlearned_mu": "what the student has left to learn, as a mu",
    "tpr": "true-positive rate",
    "tpr_at_fpr": "true-positive rate at a false-positive rate",
}
