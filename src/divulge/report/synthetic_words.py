"""What the synthetic game calls things: labels, headings and captions, for a first-time reader."""

from __future__ import annotations

QUESTION = (
    "Can somebody who sees the model tell the records it was trained on from records that a "
    "generator made up, and better than somebody who never saw the model?"
)

LABELS = {
    "auc_of_residual_score": "area under the curve after what the baseline explains is taken out",
    "c_lb": "given away without the model (c_lb)",
    "c_plus_epsilon_lb": "given away with the model ({c + epsilon}_lb)",
    "epsilon_tilde": "what the model adds (epsilon~, a measurement, not a bound)",
    "fpr": "generated records taken for members",
    "generated_equal_to_a_member": "generated records that equal a member",
    "members": "members in the trials",
    "nonmembers": "generated records in the trials",
    "nonmembers_kept": "generated records kept",
    "members_equal_to_another_member": "share of the members that equal another member",
    "direct_epsilon": "epsilon of members against real non-members, weighed one by one",
    "negative_control_epsilon": "epsilon of the same audit on real non-members, who cannot leak",
    "negative_control_sight": "epsilon that the audit on real non-members would have noticed",
    "one_run_epsilon": "epsilon of the loss alone, on real non-members taken to be alike (O(1))",
    "pool_members": "members in the game, all splits",
    "pool_nonmembers": "generated records in the game, all splits",
    "real_nonmembers_c_lb": "given away without the model, on real non-members (0 if they are "
    "alike)",
    "real_nonmembers_epsilon": "epsilon of the same attack, on real non-members taken to be alike "
    "(RM;RN)",
    "residual_c_lb": "given away without the model after weighing records one by one (0 is best)",
    "taught_generator": "members that taught the generator or a helper",
    "test": "records of either side to draw trials from (test)",
    "tpr_at_fpr": "members recognised at a share of generated records taken for members",
    "training": "records of either side that taught baseline and attack (training)",
    "validation": "records of either side that chose their settings (validation)",
}
"""On top of those that every game shares."""

CHECKS = {
    "measurement": (
        "What does PANORAMIA measure?",
        "Without the model: how well the baseline tells members from generated records, which is "
        "an imperfection of the generator. With the model: how well the attack does. The "
        "difference is what the model adds, by memory or by knowing the population better than "
        "the baseline does. All three are log-odds: 0 is guessing.",
    ),
    "comparison": (
        "How do other audits fare?",
        "PANORAMIA's figure is a measurement. The records weighed one by one give the bound that "
        "the verdict rests on. RM;RN and O(1) use real non-members instead of generated records "
        "and take them to be alike with the members; only then do they bound epsilon.",
    ),
    "rules": (
        "What if other numbers of guesses are tried?",
        "The rule says how many numbers of guesses are tried: a fixed grid of at most twenty, or "
        "all of them, as published. They share one allowance for error, so each further one "
        "costs something. The rule of the measurement was named beforehand.",
    ),
    "relaxed": (
        "What if a few records are exempt?",
        "gamma is the share of the records on which the generator may be worse than c, delta the "
        "probability with which the model may exceed epsilon. The figures are smaller then, and "
        "hold under the weaker assumption.",
    ),
    "models": (
        "Who made the records, and who guessed?",
        "The generator made the records that stand for non-members. Helpers do the task of the "
        "model under audit without having learned from the records in the trials; baseline and "
        "attack both see how well they do. The settings of both were chosen on other records.",
    ),
    "copies": (
        "Did the generator copy members?",
        "A copy is a member that counts as generated, so each makes members harder to recognise.",
    ),
    "blind": (
        "Is anything left that the record alone gives away?",
        "Records are weighed one by one by how real they look, then a learner that never sees the "
        "model tries again to tell members from generated records. What it still achieves is not "
        "a leak of the model; 0 is best.",
    ),
    "negative_control": (
        "Does the same audit stay silent where nothing can leak?",
        "Real non-members in the place of the members, against generated records: if anything is "
        "found there, it is knowledge of the population, and nothing is concluded. If not, what "
        "so few records could not have shown is deducted. Members are also played against the real "
        "non-members directly: a finding that this does not confirm is not called a leak.",
    ),
    "odd": ("What is odd about the generated records?", ""),
    "nuisance": ("How well were the records judged one by one?", ""),
}
"""On top of those that every game shares, and shown before them."""

RECALL = "What does the model add to what the record alone gives away?"
RECALL_CAPTION = (
    "Members, the records that the model was trained on, are mixed with records that a generator "
    "made up, and two guessers pick out members. The baseline sees the record and never the model: "
    "it finds what the generator got wrong. The attack sees what the model says as well. What the "
    "attack finds beyond the baseline is what the model remembers, or what it knows of the "
    "population that the baseline does not: so the gap between the two is what matters. Across, in "
    "each chart: recall, the share of the members found."
)
PRECISION_CAPTION = "Up: the share of the guesses that were right. Dotted: guessing by coin."
GUESSES_CAPTION = "Up: how many records were guessed. Dotted: if every guess were right."
PROVEN_CAPTION = (
    "Up: what the right guesses prove, in log-odds: c for the baseline, c + epsilon for the "
    "attack. Lines with labels mark the largest of each. Every number of guesses is tried and paid "
    "for here (the rule “all”); the figures stated may follow another rule, and both are listed "
    "below."
)
REPEATS = "How much do other splits and coin flips change it?"
REPEATS_CAPTION = (
    "The records were split anew, baseline and attack taught again, the coins flipped anew, and "
    "everything measured again. Circles: the single repeats. Diamond and line: their mean and its "
    "95% t-interval. The members, the generator and the helpers stay the same: it is the spread of "
    "splits and coins alone, and not a bound."
)

SERIES = {
    "baseline": "baseline (sees the record alone)",
    "attack": "attack (sees the model as well)",
}
"""The two guessers, in legends."""
FIGURES = {
    "c_lb": "What the record alone gives away (c_lb)",
    "c_plus_epsilon_lb": "With the model as well ({c + epsilon}_lb)",
    "epsilon_tilde": "What the model adds (epsilon~)",
}
"""The three figures, in the terminal."""
NAMES = {
    "auc_of_residual_score": "auc beyond the baseline",
    "nonmembers": "generated records",
    "members_equal_to_another_member": "share of the members that equal another member",
    "direct_epsilon": "epsilon of members against real non-members, one by one",
    "negative_control_epsilon": "epsilon of the same audit on real non-members, who cannot leak",
    "negative_control_sight": "epsilon that this audit would have noticed",
    "one_run_epsilon": "epsilon of O(1), on real non-members",
    "pool_members": "members in all splits",
    "pool_nonmembers": "generated records in all splits",
    "real_nonmembers_c_lb": "c_lb on real non-members",
    "real_nonmembers_epsilon": "epsilon of RM;RN, on real non-members",
    "residual_c_lb": "c_lb left after weighing",
    "taught_generator": "members that taught generator or helper",
    "test": "test records, either side",
    "training": "training records, either side",
    "validation": "validation records, either side",
}
"""What the terminal calls other entries."""
SHORT = {
    "c_lb": "c_lb",
    "c_plus_epsilon_lb": "{c + epsilon}_lb",
    "epsilon_tilde": "epsilon~",
}
"""The same where there is little room."""
