"""A result of the synthetic game by hand, one with hostile names; no statistics behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sample import HOSTILE, curve, diagnostics

from divulge.report import synthetic_words
from divulge.result import Bound, Result, Verdict

MEANING = "a measurement, not a bound: if the generator is no worse than c_lb, and so on"
REAL = 400


def guesser(skill: float, best: float) -> dict[str, list[float]]:
    """A guesser whose precision falls from 1 - skill apart; no statistics behind it."""
    guesses = [1, 2, 5, 10, 20, 50, 100, 200, 400, 800]
    precision = [0.5 + skill * (1 - g / 800) for g in guesses]
    return {
        "recall": [g * p / REAL for g, p in zip(guesses, precision, strict=True)],
        "precision": precision,
        "guesses": [float(g) for g in guesses],
        "lower": [0.0, 0.0, best / 3, best / 2, best, best, best / 2, 0.1 * best, 0.0, 0.0],
    }


def spread(*values: float) -> dict[str, Any]:
    mean = sum(values) / len(values)
    return {"mean": mean, "low": mean - 0.4, "high": mean + 0.4, "values": list(values)}


def own_diagnostics() -> dict[str, Any]:
    """What only the synthetic game writes."""
    figures = {"c_lb": 0.31299, "c_plus_epsilon_lb": 2.75, "epsilon_tilde": 2.43701}
    strict = {"c_lb": 0.21, "c_plus_epsilon_lb": 2.52, "epsilon_tilde": 2.31}
    return {
        "recall": {"baseline": guesser(0.2, 0.2), "attack": guesser(0.48, 2.5)},
        "measurement": {**figures, "meaning": MEANING, "rule": "grid"},
        "rules": [{"rule": "grid", **figures}, {"rule": "all", **strict}],
        "relaxed": [{"gamma": 0.0, "delta": 1e-5, **strict}],
        "models": {"generator": "trees", "helper": "untrained copy of Pipeline",
                   "baseline": "boosting, small trees", "attack": "logistic regression"},
        "copies": {"generated_equal_to_a_member": 3},
        "repeats": {
            "count": 3,
            "c_lb": spread(0.31299, 0.2, 0.4),
            "c_plus_epsilon_lb": spread(2.75, 2.6, 2.9),
            "epsilon_tilde": spread(2.43701, 2.4, 2.5),
        },
        "comparison": [
            {"attack": "PANORAMIA (a measurement)", "epsilon": 2.43701},
            {"attack": "generated records, weighed one by one", "epsilon": 2.2},
            {"attack": "RM;RN: the same attack on real non-members, taken to be alike",
             "epsilon": 2.5},
            {"attack": "O(1): the loss on real non-members, taken to be alike", "epsilon": 2.1},
        ],
    }  # fmt: skip


def synthetic(**changed: Any) -> Result:
    """A robust leak with every panel of the game."""
    shared = diagnostics()
    return Result(
        game="synthetic",
        verdict=Verdict("leak", True, "The model gives away its members."),
        bounds=(
            Bound("epsilon", 2.2, 0.975, "betting", "Ville's inequality", (), "prior", 0.0, True),
        ),
        measurements={
            "c_lb": 0.31299,
            "c_plus_epsilon_lb": 2.75,
            "epsilon_tilde": 2.43701,
            "real_nonmembers_epsilon": 2.5,
            "real_nonmembers_c_lb": 0.0,
            "one_run_epsilon": 2.1,
            "auc": 0.9,
            "residual_c_lb": 0.0,
        },
        trials={"members": 400, "nonmembers": 400, "pool_members": 800, "pool_nonmembers": 800,
                "taught_generator": 430, "training": 240, "validation": 120, "test": 440},
        diagnostics={
            **own_diagnostics(),
            "overlap": shared["overlap"],
            "balance": shared["balance"],
            "roc": {**curve(2.0), "auc": 0.9, "proven": {**curve(1.1), "label": "mu ≥ 1.1"}},
            "wealth": shared["wealth"],
            "sensitivity": shared["sensitivity"],
            "blind": {"c_lb": 0.0, "sees": "the record, not the model"},
            "nuisance": {"propensity_log_loss": 0.67},
            **changed,
        },
        provenance={"seed": 7},
    )  # fmt: skip


def undecided() -> Result:
    """Nothing from the audit one by one: the figures stand without a bound."""
    kept = ("recall", "measurement", "rules", "relaxed", "models", "copies")
    whole = synthetic()
    return replace(
        whole,
        verdict=Verdict("cannot conclude", False, "Nothing can be concluded.", ("no overlap",)),
        bounds=(),
        measurements={k: whole.measurements[k] for k in synthetic_words.FIGURES},
        diagnostics={k: whole.diagnostics[k] for k in kept},
    )


def hostile() -> Result:
    """Hostile names wherever text from outside can stand."""
    script = HOSTILE[0]
    own = own_diagnostics()
    return replace(
        synthetic(
            recall={**own["recall"], script: own["recall"]["attack"], "note": script},
            measurement={**own["measurement"], "meaning": script, "rule": HOSTILE[1]},
            rules=[{"rule": name, HOSTILE[2]: HOSTILE[3]} for name in HOSTILE],
            models={"generator": script, "helper": HOSTILE[5], HOSTILE[4]: HOSTILE[6]},
            copies={script: script},
            repeats={**own["repeats"], "count": script, script: spread(1.0, 2.0)},
            comparison=[{"attack": name, "epsilon": script} for name in HOSTILE],
        ),
        measurements={**synthetic().measurements, script: "[bold]x[/bold]"},
        trials={script: 3},
    )
