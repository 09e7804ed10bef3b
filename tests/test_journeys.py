"""Six newcomers: each has something, types `divulge audit` as the help shows it, and is done.

At most two commands each: the first, and once more what its refusal says.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from commands import run

ROWS = 700
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2 * ROWS, 4))
Y = (X[:, 0] + RNG.normal(size=2 * ROWS) > 0.0).astype(int)
NAMES = [f"measure_{j}" for j in range(4)]


def write(folder: Path) -> None:
    import pandas as pd

    table = pd.DataFrame(X, columns=NAMES).assign(label=Y)
    table[:ROWS].to_csv(folder / "train.csv", index=False)
    table[ROWS:].to_csv(folder / "test.csv", index=False)


def journey(folder: Path, *words: str) -> list[str]:
    """The commands typed until the answer; a refusal may say what to add, once."""
    typed = [*words]
    for commands in range(1, 3):
        done = run(*typed, cwd=folder)
        if done.returncode in (0, 3):
            said = done.stdout
            assert "What it means" in said
            assert re.search(r"^(LEAK|NO EVIDENCE|CANNOT CONCLUDE)", said)
            assert "Game: " in done.stderr
            return [commands, said, done.stderr]
        hint = re.search(r"pass (--trust [\w.]+)", done.stderr)
        assert hint is not None, done.stderr
        typed += shlex.split(hint[1].rstrip("."))
    raise AssertionError("two commands were not enough")


def forest(folder: Path):
    from sklearn.ensemble import RandomForestClassifier

    write(folder)
    import pandas as pd

    table = pd.read_csv(folder / "train.csv")
    return RandomForestClassifier(20, random_state=0).fit(table[NAMES], table["label"])


def test_a_table_of_scores(tmp_path):
    member = np.arange(2 * ROWS) < ROWS
    loss = RNG.normal(size=2 * ROWS) - 2.0 * member
    rows = [f"{m},{x:.5f},{a:.4f}" for m, x, a in zip(member, loss, X[:, 0], strict=True)]
    (tmp_path / "scores.csv").write_text("\n".join(["member,loss,age", *rows]) + "\n")
    commands, said, why = journey(tmp_path, "audit", "scores.csv")
    assert commands == 1
    assert said.startswith("LEAK (fragile)")
    assert "column 'member' says who is a member" in why


def test_a_forest_in_a_file(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(forest(tmp_path), tmp_path / "model.skops")
    commands, said, why = journey(
        tmp_path, "audit", "--members", "train.csv", "--nonmembers", "test.csv",
        "--model", "model.skops",
    )  # fmt: skip
    assert commands <= 2
    assert said.startswith("LEAK")
    assert "as the model stores them: measure_0" in why


@pytest.mark.slow
def test_a_booster(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    write(tmp_path)
    import pandas as pd

    table = pd.read_csv(tmp_path / "train.csv")
    model = xgboost.XGBClassifier(n_estimators=60, max_depth=8, n_jobs=1)
    model.fit(table[NAMES], table["label"]).save_model(tmp_path / "model.ubj")
    commands, said, _ = journey(
        tmp_path, "audit", "--members", "train.csv", "--nonmembers", "test.csv",
        "--model", "model.ubj",
    )  # fmt: skip
    assert commands == 1
    assert said.startswith("LEAK")


@pytest.mark.slow
def test_members_alone(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump(forest(tmp_path), tmp_path / "model.skops")
    commands, _, why = journey(
        tmp_path, "audit", "--members", "train.csv", "--model", "model.skops"
    )
    assert commands <= 2
    assert "Game: synthetic" in why


@pytest.mark.slow
def test_a_network(tmp_path):
    torch = pytest.importorskip("torch")
    write(tmp_path)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    inputs, labels = torch.tensor(X[:ROWS], dtype=torch.float32), torch.tensor(Y[:ROWS])
    for _ in range(200):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
        optimiser.step()
    rows = {0: torch.export.Dim("rows", min=2)}
    program = torch.export.export(network.eval(), (torch.zeros(2, 4),), dynamic_shapes=(rows,))
    torch.export.save(program, tmp_path / "model.pt2")
    commands, _, why = journey(
        tmp_path, "audit", "--members", "train.csv", "--nonmembers", "test.csv",
        "--model", "model.pt2",
    )  # fmt: skip
    assert commands == 1
    assert "label: label" in why


@pytest.mark.slow
def test_a_language_model(tmp_path):
    pytest.importorskip("transformers")
    import pandas as pd

    from divulge.models import finetune

    words = np.array([f"word{k}" for k in range(200)])
    texts = [" ".join(RNG.choice(words, 12)) for _ in range(600)]
    tokenizer = finetune.byte_pairs(texts, 400)
    network = finetune.tiny(400, 64, np.random.default_rng(0), layers=1, width=32, heads=2)
    finetune.save(network, tokenizer, tmp_path / "model")
    for name, part in (("train.csv", texts[:300]), ("test.csv", texts[300:])):
        pd.DataFrame({"text": part}).to_csv(tmp_path / name, index=False)
    commands, said, why = journey(
        tmp_path, "audit", "--members", "train.csv", "--nonmembers", "test.csv",
        "--model", "model",
    )  # fmt: skip
    assert commands == 1
    assert "text: text" in why
    assert not said.startswith("LEAK")  # it never learned a text
