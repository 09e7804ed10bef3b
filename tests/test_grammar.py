"""One grammar: the same words in the same order in every public function and every command."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import typer.main

import divulge
from divulge import cli
from divulge.cli import options

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
FUNCTIONS = {
    "chosen": divulge.audit,
    "membership": divulge.membership,
    "attribute": divulge.attribute,
    "synthetic": divulge.synthetic,
    "retraining": divulge.retraining.audit,
    "measure": divulge.retraining.measure,
    "plan": divulge.canaries.plan,
    "rehearse": divulge.canaries.rehearse_table,
    "audit": divulge.canaries.audit,
    "leakage": divulge.leakage,
    "lineup": divulge.lineup,
    "score": divulge.score,
    "shadows": divulge.shadows,
}
INPUT = (
    *("train", "base", "record", "loss", "add"),
    *("data", "plan", "scores", "members", "nonmembers", "generated", "reference", "gradients"),
    *("heldout", "population", "rows", "columns", "keep"),
    *("truth", "score", "lower_is_member", "features", "label", "text", "protected", "jointly"),
    "bins",
    *("target", "proxy", "target_loss", "helper_loss", "propensity", "reference_score"),
    *("template", "names", "column", "versions", "document", "value", "unit", "copies"),
    *("id", "group", "ignore_others", "drop_constant", "rename"),
)
MODEL = (
    *("model", "proxy_model", "public_model", "references", "shadows", "shadow_columns", "form"),
    *("training", "attack", "helpers", "learner", "training_size", "reference_size", "power"),
    *("generator", "drop_poor", "draw", "candidates"),
)
STATISTICS = (
    *("quick", "combine", "estimator", "calibration", "corrections", "bootstrap"),
    *("proxy_exact", "tau", "rule", "gamma"),
    *("correlated", "margins", "hierarchy", "strength", "prior", "level", "sampler"),
    *(
        "count",
        "lineup",
        "strategy",
        "parameters",
        "tokens",
        "temperature",
        "mechanism",
        "noise",
        "averaged",
        "columns",
        "probability",
        "clip",
        "noise_multiplier",
        "rate",
        "learning_rate",
        "steps",
        "times",
        "size",
    ),
    *("covariance", "advantage", "percentile", "fprs", "models", "shadows", "cross_fed", "levels"),
    *("deltas", "headline", "error", "repeats", "seed", "seeds"),
)
WORK = ("chunk", "n_jobs", "backend", "address", "cache", "cache_key")
OUTPUT = ("ids", "table", "save", "command", "progress")
LONG = ("membership", "synthetic", "measure", "score", "shadows", "lineup", "audit", "chosen")
"""Functions with work that processes can share."""


def words(name: str) -> list[str]:
    return list(inspect.signature(FUNCTIONS[name]).parameters)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_words_in_the_same_order(name):
    order = [*INPUT, *MODEL, *STATISTICS, *WORK, *OUTPUT]
    places = []
    for word in words(name):
        after = places[-1] if places else -1
        found = [k for k, known in enumerate(order) if known == word and k > after]
        assert found, f"{word} of {name} is unknown, or stands too late"
        places.append(found[0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_words_that_belong_together_come_together(name):
    given = words(name)
    assert not {"rng", "engine", "out", "repetitions", "attacks"} & set(given)
    long = {"n_jobs", "backend", "address", "cache"}
    assert long & set(given) == (long if name in LONG else set())
    defaults = {p.name: p.default for p in inspect.signature(FUNCTIONS[name]).parameters.values()}
    if name in LONG:
        assert (defaults["n_jobs"], defaults["backend"]) == (1, "loky")
    if "seed" in given:
        assert defaults["seed"] == (None if name in ("plan", "rehearse") else 0)
    if "error" in given:
        assert defaults["error"] == 0.05


def test_every_public_name_is_documented():
    for name in divulge.__all__:
        assert f"divulge.{name}" in PAGE, name
        assert getattr(divulge, name) is not None
    assert len(divulge.__all__) <= 15


def test_every_shared_word_is_documented():
    spelled = re.findall(r"`(\w+)`", PAGE)
    shared = [w for w in {w for n in FUNCTIONS for w in words(n)}
              if sum(w in words(n) for n in FUNCTIONS) > 2]  # fmt: skip
    assert [word for word in shared if word not in spelled] == []


def commands() -> dict[str, typer.main.TyperCommand]:
    built = typer.main.get_command(cli.app).commands
    inner = built["canaries"].commands
    return {**{n: c for n, c in built.items() if n != "canaries"}, **inner}


COMMANDS = commands()
SPELLED = {"deltas": "delta", "corrections": "correction", "fprs": "fpr", "id": "id_",
           "references": "reference", "shadows": "shadow"}  # fmt: skip
INNER = {"shadow_columns", "command", "progress"}
"""Words of Python that the command line says otherwise: MODEL=COLUMN, and what it knows itself."""


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("measure", "chosen")])
def test_the_command_line_has_the_words_of_python(name):
    typed = [p.name for p in COMMANDS[name].params]
    missing = [w for w in words(name) if w not in INNER and SPELLED.get(w, w) not in typed]
    assert missing == []


@pytest.mark.parametrize("name", COMMANDS)
def test_options_stand_in_groups(name):
    listed = [p for p in COMMANDS[name].params if p.param_type_name == "option"]
    groups = [p.rich_help_panel for p in listed if p.name != "help"]
    assert set(groups) <= set(options.PANELS)
    assert next((p.default for p in listed if p.name == "n_jobs"), options.N_JOBS) == options.N_JOBS


def test_out_is_always_the_result():
    for name, command in COMMANDS.items():
        for option in command.params:
            if option.name == "out":
                assert option.help == "Write the result as JSON.", name
