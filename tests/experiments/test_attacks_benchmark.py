"""The benchmark of attacks at its quick size, and its measures against other computations."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from divulge.attacks import registry, shadows

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


benchmark = load("attacks")


@pytest.mark.slow
def test_the_quick_run_lists_every_attack_on_a_classifier_and_trains_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark.CONSOLE, "file", None)  # wherever stdout is now
    benchmark.main(["--quick", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "500 members, 500 non-members" in printed
    listed = {line.split()[0] for line in printed.splitlines() if line.strip()}
    texts = {a.name for a in registry.BUILT_IN if "tokens" in a.needs}
    assert set(registry.BY_NAME) - texts <= listed
    assert "lira > lira_offline" in printed

    def refuse(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(shadows._ShadowJob, "__call__", refuse)
    again, _ = benchmark.images(
        benchmark.digits(0), shadows=8, references=4, seed=0, folder=tmp_path, jobs=1
    )
    assert len(again.shadows) == 8
    assert (again.inside.sum(axis=1) == 4).all()


@pytest.mark.slow
def test_the_interval_of_the_auc_covers_as_it_should(rng: np.random.Generator) -> None:
    member = np.arange(200) < 100
    truth = 0.760249938906522  # normals one deviation apart
    covered = 0
    for _ in range(400):
        score = np.round(rng.normal(size=200) + member, 1)  # with ties
        area, half = benchmark.auc_interval(score, member)
        assert area == pytest.approx(roc_auc_score(member, score))
        covered += abs(area - truth) < half
    assert 0.91 < covered / 400 < 0.98


@pytest.mark.slow
def test_the_moments_of_the_next_token_are_those_of_the_whole_distribution() -> None:
    torch = pytest.importorskip("torch", reason="torch is in the extra language")
    pytest.importorskip("transformers", reason="transformers is in the extra language")
    language = load("attacks_language")
    from divulge.models import finetune
    from divulge.models.language import LanguageModel

    network = finetune.tiny(20, 8, np.random.default_rng(0), layers=1, width=8, heads=2)
    rows = [[1, 2, 3, 4], [5, 6]]
    found = language.answers(LanguageModel(network), rows)
    assert np.isnan(found.tokens[1, 1:]).all()
    with torch.inference_mode():
        logs = network(input_ids=torch.tensor([rows[0]])).logits[0].log_softmax(1).double().numpy()
    for place, token in enumerate(rows[0][1:]):
        p = np.exp(logs[place])
        mean = float(p @ logs[place])
        assert found.tokens[0, place] == pytest.approx(logs[place, token], abs=1e-5)
        assert found.means[0, place] == pytest.approx(mean, abs=1e-5)
        spread = np.sqrt(p @ (logs[place] - mean) ** 2)
        assert found.deviations[0, place] == pytest.approx(spread, abs=1e-4)


@pytest.mark.slow
def test_shadow_models_of_the_command_line_beat_the_target_alone() -> None:
    pytest.importorskip("skops.io", reason="skops is in the extra models")
    commands = load("attacks_command_line")
    areas = commands.run(
        benchmark.digits(0), records=600, population=200, shadows=6, seed=0,
        console=benchmark.Console(quiet=True), interval=benchmark.auc_interval,
    )  # fmt: skip
    assert max(areas[n] for n in ("rmia", "learned", "lira_offline")) > areas["loss"] + 0.1
