"""Results as an audit would write them, one with hostile names; no statistics behind them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from statistics import NormalDist
from typing import Any

from divulge.result import Bound, Result, Verdict

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    """it's "quoted" \\ `back` {{ 7 * 7 }} ${alert(4)}""",
    "a.b[0]['c'].d",
    "long_" + "x" * 195,
    "العمر عند التسجيل",
    "\u202egnp.exe",
    "datum.feature",
    "#1d5c9e",
    "two\nlines",
    "",
    "age",
    "age",
)

NORMAL = NormalDist()


def curve(mu: float, points: int = 101) -> dict[str, list[float]]:
    """The ROC of two Gaussians mu apart, dense where few non-members are accused."""
    fpr = [0.0, *(10 ** (-4 + 4 * i / points) for i in range(1, points)), 1.0]
    inner = [NORMAL.cdf(NORMAL.inv_cdf(x) + mu) for x in fpr[1:-1]]
    return {"fpr": fpr, "tpr": [0.0, *inner, 1.0]}


def bell(centre: float, edges: list[float], total: int) -> list[int]:
    weights = [math.exp(-(((a + b) / 2 - centre) ** 2) / 0.045) for a, b in pairwise(edges)]
    return [round(total * w / sum(weights)) for w in weights]


def diagnostics() -> dict[str, Any]:
    edges = [i / 20 for i in range(21)]
    members, others = bell(0.62, edges, 5000), bell(0.36, edges, 5000)
    kept = [round(0.96 * min(a, b)) for a, b in zip(members, others, strict=True)]
    features = ["age", "income", "years_of_education", "region=south", "household size", "wave"]
    trials = list(range(0, 10001, 25))
    return {
        "overlap": {
            "edges": edges,
            "members": members,
            "nonmembers": others,
            "members_kept": kept,
            "nonmembers_kept": [round(1.04 * n) for n in kept],
            "share_within": 0.9137,
            "trim": 1.5,
        },
        "balance": [
            {
                "feature": name,
                "before": 2.7 * math.cos(2 * i) / (3 + i),
                "after": 0.03 * (i - 2),
            }
            for i, name in enumerate(features)
        ],
        "roc": {
            **curve(0.72),
            "auc": 0.69456,
            "proven": {**curve(0.41), "label": "mu ≥ 0.41"},
            "claimed": {**curve(0.2), "label": "mu ≤ 0.2"},
        },
        "wealth": {
            "trials": trials,
            "wealth": [math.exp(t / 1500 + 0.9 * math.sin(t / 240)) for t in trials],
            "epsilon": [max(0.0, 1.1 * (1 - 1800 / (t + 1))) for t in trials],
            "goal": 20.0,
        },
        "sensitivity": {
            "gamma": [i / 20 for i in range(31)],
            "epsilon": [max(0.0, 0.9024 - i / 20) for i in range(31)],
            "gamma_star": math.exp(0.9024),
        },
        "bootstrap": {
            "parameter": "mu",
            "values": [0.44 + 0.035 * NORMAL.inv_cdf((i + 0.5) / 600) for i in range(600)],
            "point": 0.44,
            "lower": 0.3715,
        },
        "blind": {"c_lb": 0.0, "learner": "boosting", "log_loss": 0.68123},
        "duplicates": {"across": 3, "within_members": 12, "within_nonmembers": 0},
        "draw": {"members": 5000, "nonmembers": 5000, "rule": "independent fair coins"},
        "nuisance": {
            "propensity": {"learner": "stack", "log_loss": 0.61234, "calibrated": True},
            "prognostic": {"learner": "stack", "r_squared": 0.31},
        },
    }


def attribute_diagnostics() -> dict[str, Any]:
    """What only the attribute game writes."""
    inner = [(i + 0.5) / 10 for i in range(10)]
    rows = 4000
    return {
        "proxy": {
            "log_loss": {
                "proxy": 0.41234,
                "target": 0.35,
                "corrected proxy": 0.405,
                "constant": 0.69,
                "proxy, held-out": 0.415,
                "target, held-out": 0.42,
            },
            "calibration": {
                "proxy": [
                    {
                        "predicted": p,
                        "observed": p + 0.03 * math.sin(9 * p),
                        "count": round(rows * (1 - p)),
                    }
                    for p in inner
                ],
                "target": [
                    {"predicted": p, "observed": p + 0.5 * p * (1 - p) * (2 * p - 1), "count": rows}
                    for p in inner
                ],
            },
            "agreement": 0.62,
            "classes": 2,
            "value": "label",
        },
        "repetitions": {
            "count": 100,
            "epsilon": [1.9 + 0.2 * NORMAL.inv_cdf((i + 0.5) / 100) for i in range(100)],
            "mu": [1.25 + 0.09 * NORMAL.inv_cdf((i + 0.5) / 100) for i in range(100)],
            "combined_epsilon": 1.7349,
            "combined_mu": 1.2,
            "combination": "mean of the e-values for epsilon; twice the mean p-value for mu",
        },
        "comparison": [
            {"attack": "log-likelihood ratio", "auc": 0.71, "epsilon": 1.7349, "mu": 1.2,
             "note": "named beforehand"},
            {"attack": "score of the paper (t = 2)", "auc": 0.69, "epsilon": 1.31, "mu": 0.97,
             "note": "the same trials"},
            {"attack": "difficulty calibration (membership)", "auc": 0.58, "epsilon": 0.2,
             "mu": 0.14, "note": "needs a reference model and non-members"},
            {"attack": "offline RMIA (membership)", "auc": 0.6, "epsilon": None, "mu": 0.22,
             "note": "needs a reference model and non-members"},
        ],
        "tau": [
            {"tau": 10.0**-k, "epsilon": max(0.0, 1.7 - 300 * 10.0**-k),
             "mu": max(0.0, 1.2 - 190 * 10.0**-k)}
            for k in (8, 7, 6, 5, 4, 3, 2)
        ],
    }  # fmt: skip


def attribute() -> Result:
    """A robust leak of labels with every panel of the attribute game."""
    coins = "whether the true value is shown is decided by fair coins, one per record"
    close = "the values drawn follow the distribution of the true ones given the record"
    shared = diagnostics()
    return Result(
        game="attribute",
        verdict=Verdict(
            "leak",
            True,
            "The model gives away the labels of its training records: with 95% confidence, "
            "epsilon is at least 1.734 and mu is at least 1.200.",
        ),
        bounds=(
            Bound("epsilon", 1.7349, 0.975, "betting", "Ville's inequality for the wealth",
                  (coins, close), "proxy", 0.0, True),
            Bound("mu", 1.2, 0.975, "recursion", "Mahloujifar et al. 2024, Theorem 9",
                  (coins, close), "proxy", None, True),
        ),
        measurements={
            "auc": 0.71,
            "tpr_at_fpr": {"0.01": 0.0493, "0.001": 0.00771},
            "agreement": 0.62,
            "proxy_log_loss": 0.41234,
            "target_log_loss": 0.35,
            "corrected_log_loss": 0.405,
            "gdp_equivalent_epsilon": 4.93,
            "repetitions_epsilon_mean": 1.9,
            "repetitions_epsilon_sd": 0.2,
            "heldout_epsilon": 0.0,
        },
        trials={"records": 20000, "real": 10021, "drawn": 9979, "guesses": 900, "correct": 741},
        diagnostics={
            "roc": {
                **curve(0.78),
                "auc": 0.71,
                "proven": {**curve(0.6), "label": "mu ≥ 0.6"},
            },
            "wealth": shared["wealth"],
            "sensitivity": shared["sensitivity"],
            "blind": {"c_lb": 0.0, "sees": "the record and the value, not the model"},
            "negative_control": {"epsilon": 0.0, "records": 8000},
            "draw": {"real": 10021, "drawn": 9979, "rule": "independent fair coins"},
            "nuisance": {"proxy": {"learner": "stack", "log_loss": 0.41234, "folds": 5}},
            **attribute_diagnostics(),
        },
        provenance={
            "command": "divulge attribute records.parquet --value label --seed 7 "
            "--report report.html",
            "seed": 7,
            "versions": {"divulge": "0.2.0", "numpy": "2.1.3", "python": "3.11.7"},
        },
    )  # fmt: skip


def leak() -> Result:
    """A fragile leak with every chart."""
    coins = "the truths of the trials are independent, each with its propensity, given the records"
    close = "the estimated log-odds are right"
    return Result(
        game="membership",
        verdict=Verdict(
            "leak",
            False,
            "The model gives away which records it was trained on: mu is at least 0.371 "
            "with 95% confidence.",
            ("a hidden difference of odds ratio 1.8 between the groups would explain it",),
        ),
        bounds=(
            Bound("mu", 0.371986, 0.95, "recursion", "Mahloujifar et al. 2024, Theorem 9",
                  (coins, close), "balanced", None, True),
            Bound("epsilon", 0.902499, 0.95, "betting", "Ville's inequality for the wealth",
                  (coins, close), "prior", 0.0),
            Bound("epsilon", 0.615, 0.975, "recursion", "Mahloujifar et al. 2024, Theorem 9",
                  (coins,), "conditional", 1e-5),
            Bound("mu", 0.0, 0.95, "recursion", "Zero-Run auditing, Section 4",
                  ("overlap holds",), "composition"),
        ),
        measurements={
            "auc": 0.69456,
            "epsilon_tilde": 0.90249,
            "tpr_at_fpr": {"0.01": 0.0493, "0.001": 0.00771},
            "gamma_star": 2.4655,
        },
        trials={"members": 5000, "nonmembers": 5000, "kept": 6112, "guesses": 400, "correct": 281},
        diagnostics=diagnostics(),
        provenance={
            "command": "divulge membership scores.parquet --truth member --score loss "
            "--features age,income --seed 7 --report report.html",
            "seed": 7,
            "versions": {"divulge": "0.1.0", "numpy": "2.1.3", "python": "3.11.7"},
            "inputs": [{"name": "scores.parquet", "sha256": "9f" * 32}],
        },
    )  # fmt: skip


def hostile() -> Result:
    """Hostile names at every place where text from outside can stand, in every chart there is."""
    base = leak()
    script = HOSTILE[0]
    features = [
        {"feature": name, "before": 0.8 - 0.05 * i, "after": 0.02 * i - 0.1}
        for i, name in enumerate(HOSTILE)
    ]
    shown = dict(base.diagnostics) | attribute_diagnostics()
    shown["balance"] = features
    proxy = shown["proxy"]
    shown["proxy"] = {
        "log_loss": {name: 0.5 - 0.01 * i for i, name in enumerate(HOSTILE)},
        "calibration": {script: proxy["calibration"]["proxy"], **proxy["calibration"]},
        "agreement": script,
        "classes": script,
        "value": script,
    }
    shown["repetitions"] = {**shown["repetitions"], "count": script, "combination": HOSTILE[1]}
    shown["comparison"] = [
        {"attack": name, HOSTILE[2]: HOSTILE[3], "note": script} for name in HOSTILE
    ]
    shown["roc"] = {**shown["roc"], "proven": {**curve(0.41), "label": script}}
    shown["blind"] = {"learner": HOSTILE[1], HOSTILE[2]: HOSTILE[3]}
    shown[HOSTILE[4]] = {HOSTILE[5]: [{HOSTILE[1]: script}]}
    return replace(
        base,
        game=script,
        verdict=Verdict("leak", True, f"Sentence {script}", (f"Reason {script}",)),
        bounds=(
            *base.bounds,
            Bound(script, 1.0, 0.95, script, script, (script,), script, 0.1, True),
        ),
        measurements={script: 1.5, HOSTILE[5]: HOSTILE[5], HOSTILE[6]: HOSTILE[6]},
        trials={script: 3},
        diagnostics=shown,
        provenance={
            "command": f"divulge membership '{script}'",
            "seed": script,
            "versions": {script: script},
            "inputs": [{"name": name, "sha256": "00" * 32} for name in HOSTILE],
        },
    )


def undecided() -> Result:
    """No overlap, no bound."""
    return Result(
        game="membership",
        verdict=Verdict(
            "cannot conclude",
            False,
            "Nothing can be concluded: the two groups do not overlap.",
            ("only 0.4% of the records lie where both groups have records",),
        ),
        bounds=(),
        trials={"members": 5000, "nonmembers": 5000, "kept": 0},
        diagnostics={
            "overlap": {
                "edges": [0.0, 0.25, 0.5, 0.75, 1.0],
                "members": [0, 0, 20, 4980],
                "nonmembers": [4980, 20, 0, 0],
                "share_within": 0.004,
            }
        },
        provenance={"seed": 1},
    )
