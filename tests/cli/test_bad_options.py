"""Options out of range, of another type, contradictory, or naming what does not exist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import small_inputs as small
from hostile import Case, parametrised, refused

COMMANDS = {
    "membership": small.MEMBERSHIP_COMMAND,
    "attribute": small.ATTRIBUTE_COMMAND,
    "synthetic": small.SYNTHETIC_COMMAND,
    "retraining": small.RETRAINING_COMMAND,
    "leakage": small.LEAKAGE_COMMAND,
    "plan": small.PLAN_COMMAND,
    "audit": small.AUDIT_COMMAND,
    "score": small.SCORE_COMMAND,
    "bound": small.BOUND_COMMAND,
    "selftest": small.SELFTEST_COMMAND,
    "demo": small.DEMO_COMMAND,
    "check": small.CHECK_COMMAND,
    "report": small.REPORT_COMMAND,
    "attacks": ("attacks",),
}
AUDITS = ("membership", "attribute", "synthetic", "audit")

OUT_OF_RANGE = {
    "--error": (
        (*AUDITS, "retraining", "bound", "selftest"),
        ("0", "1", "-0.1", "2", "nan", "inf"),
        "error must lie in (0, 1)",
    ),
    "--delta": ((*AUDITS, "leakage"), ("-1", "1", "2", "0", "nan", "inf"), "delta must lie in"),
    "--headline": (
        ("membership", "audit"),
        ("magic", "epsilon@2", "epsilon@nan", "mu@1e-5", "independent:epsilon"),
        "headline must be",
    ),
    "--seed": (
        (*AUDITS, "retraining", "plan", "selftest", "demo"),
        ("-1", "-99999999999999999999"),
        "seed must be a whole number of at least 0",
    ),
    "--n-jobs": (
        ("membership", "synthetic", "score", "selftest"),
        ("0", "-2"),
        "n_jobs must be at least 1",
    ),
    "--backend": (
        ("membership", "synthetic", "score", "selftest"),
        ("magic",),
        "Unknown execution backend",
    ),
    "--address": (("membership", "synthetic", "score", "selftest"), ("here",), "has no address"),
}
"""By option: the commands that have it, the values, and what is said."""

ONE_COMMAND = {
    "membership": [
        ("--rows", ("0", "-5"), "rows must be at least 1"),
        ("--seeds", ("0", "-1", "100000000"), "seeds must lie in"),
        ("--bootstrap", ("-1",), "bootstrap must be at least 0"),
        ("--correction", ("magic",), "Unknown correction"),
        ("--estimator", ("magic",), "Unknown estimator"),
        ("--calibration", ("magic",), "Unknown calibration"),
        ("--combine", ("magic",), "Unknown combine"),
        ("--attack", ("loss",), "needs a model"),
        ("--truth", ("nobody",), "has no column 'nobody'"),
        ("--truth", ("loss", "word"), "must have two values"),
        ("--members", ("members.csv",), "Give one table"),
        ("--score", ("lost",), "Did you mean 'loss'?"),
        ("--score", ("s_*",), "matches the pattern"),
        ("--score", ("word",), "must hold numbers"),
        ("--score", ("", ",", " , "), "at least one score"),
        ("--features", ("y",), "has no column 'y'"),
        ("--features", ("y_*",), "matches the pattern 'y_*'"),
        ("--features", ("x,member",), "must not be a feature"),
        ("--propensity", ("loss", "nobody"), "'"),
        ("--reference-score", ("nobody",), "has no column"),
        ("--reference-score", ("word",), "must hold numbers"),
        ("--claim", ("epsilon", "epsilon=", "epsilon=-1", "epsilon=nan", "mu=1,delta=0.1",
                     "delta=0.1", "epsilon=1,epsilon=2", "epsilon=1,delta=1", "eps=1", ""),
         "laim"),
    ],
    "attribute": [
        ("--bins", ("1", "0", "-3"), "At least 2 bins"),
        ("--tau", ("-0.1", "1", "nan"), "tau must lie in [0, 1)"),
        ("--power", ("-1", "nan", "inf"), "power"),
        ("--repeats", ("0", "-1"), "repeats must be at least 1"),
        ("--attack", ("magic",), "Unknown attack"),
        ("--label", ("nobody",), "has no column 'nobody'"),
        ("--label", ("x",), ""),
        ("--protected", ("nobody",), "has no column 'nobody'"),
        ("--features", ("nobody",), "has no column 'nobody'"),
        ("--target", ("r_",), "has no column 'r_0'"),
        ("--proxy-model", ("own_loss:loss",), "needs a target model"),
        ("--data", ("attribute.csv",), "Give one table"),
    ],
    "synthetic": [
        ("--gamma", ("-0.1", "1", "nan"), "gamma must lie in [0, 1)"),
        ("--repeats", ("0", "-1"), "repeats must be at least 1"),
        ("--rule", ("magic",), "Unknown rule"),
        ("--target-loss", ("nobody",), "has no column 'nobody'"),
        ("--target-loss", ("",), "Nothing is known of the target"),
        ("--helper-loss", ("nobody",), "has no column 'nobody'"),
        ("--features", ("nobody",), "has no column 'nobody'"),
        ("--features", ("loss",), "cannot be a feature and a loss"),
        ("--label", ("nobody",), "has no column 'nobody'"),
        ("--text", ("nobody",), "has no column 'nobody'"),
        ("--public-model", ("nowhere",), "A public model reads texts"),
        ("--attack", ("magic", ""), "attack"),
        ("--attack", ("text",), "name their column (--text)"),
        ("--model", ("own_loss:loss",), "not both"),
    ],
    "retraining": [
        ("--level", ("0", "1", "nan"), "level must lie in (0, 1)"),
        ("--delta", ("-1", "1", "nan"), "delta must lie in [0, 1)"),
        ("--sampler", ("-1", "10"), "at least 1000 draws"),
        ("--strength", ("2", "-0.1", "nan", "inf", "weak", "beta:1", "beta:0,1", "gamma:1,1", ""),
         ""),
        ("--prior", ("flat", "half-normal:-1", "half-normal:nan", "uniform:1,2", "uniform:1e9",
                     "log-normal:1,99", "exponential:x", ""), "prior"),
        ("--margins", ("magic", "beta-binomial"), "argins"),
        ("--group", ("nobody",), "has no column 'nobody'"),
    ],
    "leakage": [
        ("--mechanism", ("magic",), "Unknown mechanism"),
        ("--mechanism", ("noisy-mean",), "needs noise"),
        ("--mechanism", ("subsampled-mean",), "needs rate"),
        ("--noise", ("1",), "adds no noise"),
        ("--noise", ("nan", "-1", "inf"), "noise"),
        ("--rate", ("0.5", "0", "2", "nan"), "rate"),
        ("--size", ("10",), "size must be at least"),
        ("--size", ("0", "-1"), "at least 2 records"),
        ("--covariance", ("magic",), "ovariance"),
        ("--fpr", ("0", "1", "nan"), "fpr must lie in (0, 1)"),
        ("--advantage", ("0", "1", "nan"), "advantage must lie in (0, 1)"),
        ("--percentile", ("0", "101", "nan"), "percentile must lie in"),
        ("--id", ("nobody",), "has no column 'nobody'"),
        ("--features", ("nobody",), "has no column 'nobody'"),
        ("--table", ("table.txt",), ".parquet or .csv"),
        ("--table", ("nowhere/table.csv",), "no folder nowhere"),
    ],
    "plan": [
        ("--count", ("0", "19", "61", "-1"), "must lie between 20 and the 60 records"),
        ("--strategy", ("magic",), "Unknown strategy"),
        ("--probability", ("0", "1", "nan", "-1"), "probability must lie in (0, 1)"),
        ("--noise", ("-1", "nan", "inf"), "noise must be at least 0"),
        ("--averaged", ("0", "-1", "nan", "inf"), "averaged must be above 0"),
        ("--id", ("nobody",), "has no column 'nobody'"),
        ("--id", ("a",), "must hold ids"),
        ("--records", ("train.txt", "train"), ".parquet or .csv"),
        ("--records", ("nowhere/train.csv",), "nowhere"),
        ("--canaries", ("canaries.txt",), ".parquet or .csv"),
        ("--plan", ("nowhere/plan.json",), "nowhere"),
        ("--plan", ("plan.json",), "exists already"),
        ("--plan", ("train.csv",), "names"),
    ],
    "audit": [
        ("--score", ("nobody",), "has no column 'nobody'"),
        ("--score", ("row",), "cannot be a score"),
        ("--id", ("nobody",), "has no column 'nobody'"),
        ("--id", ("loss",), "must hold ids"),
    ],
    "score": [
        ("--chunk", ("0", "-1"), "chunk must be at least 1"),
        ("--attack", ("magic",), "magic"),
        ("--attack", ("", ","), "at least one attack"),
        ("--attack", ("lira",), ""),
        ("--columns", ("nobody",), "has no column 'nobody'"),
        ("--shadow", ("model", "=column", "model="), "MODEL=COLUMN"),
        ("--shadow", ("own_loss:loss=nobody",), "nobody"),
        ("--with", ("magic=1", "outputs", "=1", ""), "NAME=VALUE"),
        ("--with", ("outputs=magic",), "outputs"),
        ("--with", ("timeout=soon",), "must be a number"),
        ("--with", ("truncate=maybe",), "yes or no"),
        ("--with", ("kind=magic",), "Unknown kind"),
        ("--members", ("membership.csv",), "members and nonmembers separately"),
        ("--table", ("scored.json", "scored"), ".parquet or .csv"),
        ("--table", ("nowhere/scored.csv",), "nowhere"),
        ("--population", ("nowhere.csv",), "no file nowhere.csv"),
    ],
    "bound": [
        ("--trials", ("0", "-1", "50", "1" + "0" * 13, "1" + "0" * 40), "must"),
        ("--guesses", ("-1", "2000"), "guesses must lie"),
        ("--correct", ("-1", "101"), "correct must lie"),
        ("--delta", ("-1", "1", "2", "nan", "inf"), "delta must lie in [0, 1)"),
        ("--tau", ("-0.1", "1", "nan"), "tau"),
        ("--method", ("magic",), "Unknown method"),
    ],
    "selftest": [
        ("--repeats", ("0", "-1"), "repetitions must be at least 1"),
        ("--only", ("nothing like this",), "No case matches"),
    ],
    "check": [
        ("--claim", ("epsilon", "mu=", "mu=-1", "mu=nan", "epsilon=1,delta=2", "", "sigma=1"),
         "laim"),
    ],
    "report": [
        ("--claim", ("epsilon", "mu=", "mu=nan", ""), "laim"),
        ("--report", ("nowhere/report.html",), "nowhere"),
    ],
}  # fmt: skip

NOT_NUMBERS = {
    "--seed": ("membership", "demo", "plan"),
    "--error": ("attribute", "bound"),
    "--delta": ("synthetic", "leakage"),
    "--rows": ("membership",),
    "--chunk": ("score",),
    "--count": ("plan",),
    "--trials": ("bound",),
    "--level": ("retraining",),
    "--n-jobs": ("selftest",),
}

WITHOUT = [
    ("membership", ("membership",), "Give one table"),
    ("membership, members alone", ("membership", "--members", "members.csv"), "Give one table"),
    ("three tables", (*small.APART_COMMAND, "membership.csv"), "Give one table"),
    ("attribute", ("attribute", "--label", "y"), "Give one table"),
    ("attribute, no label", ("attribute", "attribute.csv"), "Name the label column"),
    ("synthetic", ("synthetic",), "--members"),
    ("synthetic, no target", ("synthetic", "--members", "members.csv"), "Nothing is known"),
    ("retraining", ("retraining",), "Missing argument"),
    ("leakage, no reference", ("leakage", "records.csv"), "--reference"),
    ("plan, no data", ("canaries", "plan"), "Missing"),
    ("plan, no records", ("canaries", "plan", "records.csv"), "--records"),
    ("audit, no scores", ("canaries", "audit", "plan.json"), "Missing argument"),
    ("score, no model", ("score", "--table", "scored.csv"), "--model"),
    ("score, no data", ("score", "--model", "own_loss:loss", "--table", "s.csv"), "Give one table"),
    ("check, no claim", ("check", "result.json"), "--claim"),
    ("check, no result", ("check",), "Missing argument"),
    ("report, no out", ("report", "result.json"), "--report"),
    ("bound, no counts", ("bound",), "--trials"),
    ("a table too many", (*small.MEMBERSHIP_COMMAND, "members.csv"), "unexpected extra argument"),
    ("attacks with a word", ("attacks", "loss"), "unexpected extra argument"),
    ("no such command", ("magic",), "No such command 'magic'"),
    ("no such command of canaries", ("canaries", "magic"), "No such command 'magic'"),
    ("an option before the command", ("--error", "0.1", "membership"), "--error"),
]

TOGETHER = {
    "exact proxy and tau": (
        (*small.ATTRIBUTE_COMMAND, "--proxy-exact", "--tau", "0.1"),
        "not both",
    ),
    "correlated and grouped": (
        (*small.RETRAINING_COMMAND, "--correlated", "--group", "positives"),
        "not both",
    ),
    "sampler and groups": (
        (*small.RETRAINING_COMMAND, "--sampler", "1000", "--group", "positives"),
        "does not pool groups",
    ),
    "sampler at full strength": (
        (*small.RETRAINING_COMMAND, "--sampler", "1000", "--strength", "1"),
        "below 1",
    ),
    "Steinke's theorem and tau": (
        (*small.BOUND_COMMAND, "--method", "steinke", "--tau", "0.1"),
        "tau",
    ),
    "a generator for losses in columns": (
        ("synthetic", "--members", "members.csv", "--target-loss", "loss"),
        "",
    ),
    "an unknown generator": (
        ("synthetic", "--members", "members.csv", "--target-loss", "loss", "--generator", "magic"),
        "magic",
    ),
    "a share of everything": (
        ("synthetic", "--members", "members.csv", "--target-loss", "loss", "--drop-poor", "1"),
        "drop_poor must lie in [0, 1)",
    ),
    "gradients and a reference": (
        (*small.PLAN_COMMAND, "--gradients", "records.csv", "--reference", "reference.csv"),
        "not both",
    ),
    "held-out records without features": (
        (*small.MEMBERSHIP_COMMAND, "--heldout", "membership.csv"),
        "name the features",
    ),
    "a column that is the attack's name": (
        tuple("loss" if w == "member" else w for w in small.SCORE_COMMAND),
        "already has a column 'loss'",
    ),
    "a reference that is not there": (
        (*small.SCORE_COMMAND, "--attack", "ratio", "--reference", "nowhere.skops"),
        "no file nowhere.skops",
    ),
    "a noisy mean with a rate": (
        (*small.LEAKAGE_COMMAND, "--mechanism", "noisy-mean", "--noise", "1", "--rate", "0.5"),
        "uses every record",
    ),
}


def option_cases() -> Iterator[Case]:
    for option, (commands, values, says) in OUT_OF_RANGE.items():
        for name in commands:
            for value in values:
                typed = (*COMMANDS[name], option, value)
                yield Case(f"{name} {option} {value}", typed, small.FILES, (says,))
    for name, rows in ONE_COMMAND.items():
        for option, values, says in rows:
            for value in values:
                typed = (*COMMANDS[name], option, value)
                yield Case(f"{name} {option} {value!r}", typed, small.FILES, (says,))
    for option, commands in NOT_NUMBERS.items():
        for name in commands:
            for value in ("many", "0x10", "1,5"):
                typed = (*COMMANDS[name], option, value)
                says = (f"Invalid value for '{option}'", "--help")
                yield Case(f"{name} {option} {value}", typed, small.FILES, says)
    for name, typed in COMMANDS.items():
        yield Case(f"{name} --magic", (*typed, "--magic"), small.FILES, ("No such option",))


@parametrised(option_cases())
def test_an_option(case, tmp_path):
    refused(case, tmp_path)


@parametrised(Case(name, typed, small.FILES, (says,)) for name, typed, says in WITHOUT)
def test_what_is_left_out(case, tmp_path):
    refused(case, tmp_path)


@parametrised(Case(name, typed, small.FILES, (says,)) for name, (typed, says) in TOGETHER.items())
def test_what_contradicts_itself(case, tmp_path):
    refused(case, tmp_path)


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("command", AUDITS)
def test_json_does_not_change_an_error(command, json, tmp_path):
    more = ("--json",) if json else ()
    typed = (*COMMANDS[command], "--error", "2", *more)
    refused(Case("json", typed, small.FILES, ("error must lie",)), tmp_path)
