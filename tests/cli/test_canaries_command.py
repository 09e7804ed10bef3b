"""The canaries commands, from files to exit codes."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest
from commands import run


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run(*words, cwd=cwd)


PLAN = ("canaries", "plan", "data.parquet", "--id", "key", "--count", "200", "--records", "in.csv")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    table = pd.DataFrame(x, columns=["x_0", "x_1", "x_2"]).assign(
        key=np.arange(600) + 10_000, town="here"
    )
    table.to_parquet(tmp_path / "data.parquet")
    return tmp_path


def test_from_a_plan_to_a_claim(folder):
    done = divulge(*PLAN, "--features", "x_*", "--canaries", "c.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    plan = json.loads((folder / "plan.json").read_text())
    digest = hashlib.sha256((folder / "plan.json").read_bytes()).hexdigest()
    assert f"sha256 of plan.json: {digest}" in done.stdout
    assert "keep it" in done.stdout
    assert (
        plan["input"]["sha256"]
        == hashlib.sha256((folder / "data.parquet").read_bytes()).hexdigest()
    )
    trained = set(pd.read_csv(folder / "in.csv")["key"])
    inside = {k for k, use in zip(plan["ids"], plan["included"], strict=True) if use}
    assert trained & set(plan["ids"]) == inside

    shown = pd.read_parquet(folder / "c.parquet")
    rng = np.random.default_rng(1)
    loss = -3.0 * shown["key"].isin(trained) + rng.normal(size=len(shown))
    pd.DataFrame({"key": shown["key"], "loss": loss}).to_csv(folder / "scores.csv", index=False)
    audit = ("canaries", "audit", "plan.json", "scores.csv")
    done = divulge(*audit, "--out", "result.json", "--report", "report.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "LEAK" in done.stdout
    assert "canaries" in done.stdout
    result = json.loads((folder / "result.json").read_text())
    assert result["game"] == "canaries"
    assert [i["name"] for i in result["provenance"]["inputs"]] == ["plan.json", "scores.csv"]
    page = (folder / "report.html").read_text()
    assert "by the flip of a coin" in page
    assert "How were the canaries planned?" in page
    assert not re.search(rf"(?<![\d.]){plan['ids'][0]}(?![\d.])", json.dumps(result))
    refuted = divulge("check", "result.json", "--claim", "epsilon=0.5,delta=1e-5", cwd=folder)
    assert refuted.returncode == 1
    as_json = divulge(*audit, "--json", cwd=folder)
    assert json.loads(as_json.stdout)["verdict"]["status"] == "leak"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*PLAN,), "Column 'town' of the data holds"),
        ((*PLAN, "--features", "x_*", "--strategy", "luck"), "Unknown strategy"),
        ((*PLAN, "--features", "x_*", "--count", "601"), "between 20 and the 600"),
        ((*PLAN, "--features", "x_*", "--seed", "-1"), "seed must be a whole number of at least 0"),
        ((*PLAN, "--features", "x_*", "--plan", "in.csv"), "name the same file"),
        ((*PLAN, "--features", "x_*", "--canaries", "c.txt"), ".parquet or .csv"),
        ((*PLAN, "--features", "x_*", "--reference", "none.csv"), "no file"),
        (("canaries", "audit", "data.parquet", "data.parquet"), "Cannot read"),
        (("canaries", "audit", "none.json", "data.parquet"), "Cannot read"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(folder, words, message):
    before = sorted(p.name for p in folder.iterdir())
    done = divulge(*words, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(p.name for p in folder.iterdir()) == before


def test_noise_of_every_column(folder):
    noisy = ("--features", "x_*", "--noise", "0,9,9", "--seed", "1")
    done = divulge(*PLAN, *noisy, cwd=folder)
    assert done.returncode == 0, done.stderr
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["details"]["noise"] == [0.0, 9.0, 9.0]
    x = pd.read_parquet(folder / "data.parquet")["x_0"]
    x = (x - x.mean()).abs()
    assert x.iloc[plan["rows"]].min() > x.drop(plan["rows"]).max() - 0.1
    for wrong, said in (("0,1", "one for each of the 3"), ("loud", "is a number")):
        done = divulge(*PLAN, "--features", "x_*", "--noise", wrong, "--overwrite", cwd=folder)
        assert done.returncode == 2
        assert said in done.stderr


def test_the_seed_is_drawn_unless_it_is_given(folder):
    plans = []
    for words in ((), (), ("--seed", "7"), ("--seed", "7")):
        done = divulge(*PLAN, "--strategy", "random", "--overwrite", *words, cwd=folder)
        assert done.returncode == 0, done.stderr
        plans.append(json.loads((folder / "plan.json").read_text()))
    assert plans[0]["seed"] != plans[1]["seed"]
    assert plans[0]["included"] != plans[1]["included"]
    assert plans[2] == plans[3]
    assert plans[2]["seed"] == 7


def test_a_plan_is_not_written_over(folder):
    assert divulge(*PLAN, "--strategy", "random", cwd=folder).returncode == 0
    first = (folder / "plan.json").read_bytes()
    again = divulge(*PLAN, "--strategy", "random", "--seed", "1", cwd=folder)
    assert (again.returncode, (folder / "plan.json").read_bytes()) == (2, first)
    assert "--overwrite" in again.stderr
    forced = divulge(*PLAN, "--strategy", "random", "--seed", "1", "--overwrite", cwd=folder)
    assert forced.returncode == 0
    assert (folder / "plan.json").read_bytes() != first


PLANT = (
    *("canaries", "plan", "--lineup", "128", "--template"),
    *("the code of {name} is {secret:digits:6}", "--records", "t.csv", "--canaries", "v.csv"),
)


def test_planted_line_ups_from_a_plan_to_a_report(folder, monkeypatch):
    done = divulge(*PLANT, "--copies", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "128 canaries, each with one of 32 candidates" in done.stdout
    assert re.search("sha256 of plan.json: [0-9a-f]{64}", done.stdout)
    trained = pd.read_csv(folder / "t.csv")["text"]
    shown = pd.read_csv(folder / "v.csv")
    assert (len(trained), trained.nunique(), len(shown)) == (256, 128, 4096)
    rng = np.random.default_rng(0)
    loss = rng.normal(size=len(shown)) - 4.0 * shown["text"].isin(set(trained))
    pd.DataFrame({"version": shown["version"], "loss": loss}).to_csv(folder / "s.csv", index=False)
    audit = ("canaries", "audit", "plan.json")
    done = divulge(
        *audit, "s.csv", "--out", "r.json", "--report", "r.html", "--table", "ranks.csv", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "r.json").read_text())
    assert (result["game"], result["verdict"]["status"]) == ("lineup", "leak")
    assert result["trials"]["most_copies"] == 2
    assert result["diagnostics"]["planted"]["draw"] == "digits:6"
    page = (folder / "r.html").read_text()
    assert "How do the true values rank among their alternatives?" in page
    assert "How were the canaries planted?" in page
    assert not any(text in page for text in trained)
    assert len(pd.read_csv(folder / "ranks.csv")) == 128

    (folder / "own_planted_model.py").write_text(
        f"TEXTS = {set(trained)!r}\n"
        "def loss(rows):\n"
        "    return [-float(t in TEXTS) for t in rows['text'].to_pylist()]\n"
    )
    monkeypatch.syspath_prepend(folder)
    asked = ("--model", "own_planted_model:loss", "--attack", "loss", "--no-cache", "--json")
    done = divulge(*audit, "v.csv", *asked, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["measurements"]["top_1"] == 1.0


def test_a_column_of_a_table_is_planted(folder):
    (folder / "towns.txt").write_text("Rye\nBath\nHove\n")
    words = ("--column", "town", "--draw", "choice:towns.txt", "--records", "t.csv")
    done = divulge(
        "canaries", "plan", "data.parquet", "--lineup", "50", *words, "--canaries", "v.csv",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "50 canaries, each with one of 3 candidates" in done.stdout
    assert pd.read_csv(folder / "t.csv")["town"].isin(["Rye", "Bath", "Hove"]).sum() == 50
    assert len(pd.read_csv(folder / "v.csv")) == 150


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*PLANT[:-2],), "Where shall all versions"),
        ((*PLANT, "--count", "30"), "count belong to coin flips"),
        ((*PLANT, "--column", "town"), "either a template"),
        ((*PLANT, "--copies", "0"), "copies must be at least 1"),
        ((*PLANT, "--candidates", "1"), "at least 2 candidates"),
        ((*PLANT, "--names", "none.txt"), "no file"),
        ((*PLANT, "--seed", "-3"), "seed must be a whole number"),
        ((*PLANT, "--plan", "v.csv"), "name the same file"),
        ((*PLAN, "--template", "{secret:hex:8}"), "give lineup"),
        (("canaries", "plan", "--records", "t.csv"), "Give the data"),
    ],
)
def test_bad_plantings_are_one_message(folder, words, message):
    test_bad_input_is_one_message_and_nothing_is_written(folder, words, message)


@pytest.mark.parametrize(
    ("words", "included", "said"),
    [
        (("--strategy", "mislabelled", "--label", "y"), 140, "Train on train.csv"),
        (("--strategy", "out-of-distribution"), 140, "Train on train.csv"),
        (("--strategy", "new-tokens", "--text", "t", "--tokens", "3"), 200, "Train on train.csv"),
        (("--strategy", "one-hot", "--parameters", "900"), 0, "Insert the gradients of train.csv"),
    ],
)
def test_crafted_canaries_from_a_plan_to_a_result(folder, words, included, said):
    rows = [f"{k / 7:.3f},{k % 3},word {k} of many" for k in range(200)]
    (folder / "made.csv").write_text("\n".join(["x,y,t", *rows]) + "\n")
    data = () if "one-hot" in words else ("made.csv",)
    files = ("--records", "train.csv", "--canaries", "shown.csv", "--count", "60", "--seed", "5")
    done = divulge("canaries", "plan", *data, *words, *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    plan = json.loads((folder / "plan.json").read_text())
    assert len(pd.read_csv(folder / "train.csv")) == included + sum(plan["included"])
    shown = pd.read_csv(folder / "shown.csv")
    assert list(shown["row"]) == plan["ids"]
    loss = np.random.default_rng(0).normal(size=60) - 4.0 * np.array(plan["included"])
    shown.assign(loss=loss)[["row", "loss"]].to_csv(folder / "scores.csv", index=False)
    done = divulge("canaries", "audit", "plan.json", "scores.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "LEAK" in done.stdout


NETWORKS = """import torch


def small(seed):
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
"""
REHEARSE = (
    *("canaries", "rehearse", "labelled.parquet", "--features", "x_*", "--label", "town"),
    *(
        "--id",
        "key",
        "--model",
        "rehearsed_networks:small",
        "--clip",
        "1",
        "--noise-multiplier",
        "0.5",
    ),
    *("--rate", "0.1", "--learning-rate", "0.5", "--steps", "6", "--times", "2", "--count", "100"),
    *("--records", "in.csv"),
)


@pytest.fixture
def rehearsed(folder):
    pytest.importorskip("torch", reason="needs the extra 'torch'")
    table = pd.read_parquet(folder / "data.parquet")
    table["town"] = np.where(table["x_0"] > 0, "here", "there")
    table.to_parquet(folder / "labelled.parquet")
    (folder / "rehearsed_networks.py").write_text(NETWORKS)
    return folder


def test_a_rehearsal_writes_a_plan_that_audits(rehearsed):
    done = divulge(*REHEARSE, "--canaries", "c.parquet", "--seed", "4", cwd=rehearsed)
    assert done.returncode == 0, done.stderr
    assert "100 canaries (mahalanobis)" in done.stdout
    plan = json.loads((rehearsed / "plan.json").read_text())
    assert plan["details"]["rehearsal"]["model"] == "rehearsed_networks:small"
    assert plan["details"]["rehearsal"]["times"] == 2
    trained = set(pd.read_csv(rehearsed / "in.csv")["key"])
    inside = {k for k, use in zip(plan["ids"], plan["included"], strict=True) if use}
    assert trained & set(plan["ids"]) == inside
    shown = pd.read_parquet(rehearsed / "c.parquet")
    loss = np.random.default_rng(1).normal(size=len(shown)) - 4.0 * shown["key"].isin(trained)
    pd.DataFrame({"key": shown["key"], "loss": loss}).to_csv(rehearsed / "s.csv", index=False)
    audited = divulge("canaries", "audit", "plan.json", "s.csv", cwd=rehearsed)
    assert audited.returncode == 0, audited.stderr
    assert "LEAK" in audited.stdout
    again = divulge(*REHEARSE, cwd=rehearsed)
    assert again.returncode == 2
    assert "plan.json exists already" in again.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "rehearsed_networks:large"), "has no attribute 'large'"),
        (("--label", "nowhere"), "nowhere"),
        (("--clip", "0"), "clip"),
        (("--times", "7"), "more steps than there are"),
        (("--parameters", "head"), "no parameter 'head'"),
        (("--strategy", "random"), "strategy"),
        (("--count", "5"), "between 20 and"),
        (("--records", "labelled.parquet"), "labelled.parquet"),
    ],
)
def test_a_rehearsal_that_cannot_be(rehearsed, words, message):
    before = sorted(p.name for p in rehearsed.iterdir() if p.name != "__pycache__")
    done = divulge(*REHEARSE, *words, cwd=rehearsed)
    assert done.returncode == 2
    assert message in done.stderr
    assert sorted(p.name for p in rehearsed.iterdir() if p.name != "__pycache__") == before
