"""Every example runs from its first line to its verdict, where what it needs is installed."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import util
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import divulge

FOLDER = Path(__file__).parents[1] / "examples"
IMPORTED = {"scikit-learn": "sklearn", "xgboost-cpu": "xgboost", "mlflow-skinny": "mlflow"}
"""Names under which packages are imported, where they differ from their names."""


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


SCRIPTS = [p for p in sorted(FOLDER.glob("*.py")) if "Needs: " in docstring(p)]


def requirements(extra: str) -> list[str]:
    """The packages of an extra of divulge, and of the extras that it names in turn."""
    extras = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
    found: list[str] = []
    for given in map(Requirement, extras["optional-dependencies"][extra]):
        if given.name == "divulge":
            found.extend(r for e in sorted(given.extras) for r in requirements(e))
        elif given.marker is None or given.marker.evaluate():
            found.append(given.name)
    return found


def needed(path: Path) -> list[str]:
    """Packages that an example names after ``Needs: pip install``."""
    packages: list[str] = []
    for line in re.findall(r"^Needs: pip install (.*)$", docstring(path), re.MULTILINE):
        for word in line.replace("'", "").replace('"', "").split():
            given = Requirement(word)
            if given.name == "divulge":
                packages.extend(r for e in sorted(given.extras) for r in requirements(e))
            else:
                packages.append(given.name)
    return packages


def missing(package: str) -> bool:
    name = IMPORTED.get(package, package.replace("-", "_"))
    return util.find_spec(name) is None


def test_an_example_says_what_it_needs_or_serves_others():
    for path in FOLDER.glob("*.py"):
        if path not in SCRIPTS:
            uses = [p for p in SCRIPTS if f"from {path.stem} import" in p.read_text()]
            assert uses, f"{path.name} neither says what it needs nor is imported by an example"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_examples_are_short(path):
    assert docstring(path).startswith("Needs: pip install ")
    assert len(path.read_text().splitlines()) <= 80


def test_what_an_example_needs_is_read_from_its_first_line():
    assert "xgboost-cpu" in needed(FOLDER / "xgboost_model.py") or sys.platform == "darwin"
    assert needed(FOLDER / "onnx_model.py") == ["onnx", "onnxruntime", "skl2onnx", "pandas"]
    assert needed(FOLDER / "callable_model.py") == ["pandas"]


HEAVY = (
    *("language_model", "text_classifier", "torch_export", "torch_safetensors", "retraining_torch"),
    *("shadow_models", "openai_endpoint", "mlflow_server", "lightgbm_model", "catboost_model"),
    *("onnx_model", "kserve_endpoint", "xgboost_model", "retraining_sklearn", "callable_model"),
)
"""Examples that take long to start or to train: `make models` runs them."""


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, marks=pytest.mark.slow) if p.stem in HEAVY else p for p in SCRIPTS],
    ids=lambda p: p.stem,
)
def test_an_example_prints_its_verdict(path, tmp_path):
    absent = [p for p in needed(path) if missing(p)]
    if absent:
        pytest.skip(f"{path.name} needs {', '.join(absent)}")
    source = str(Path(divulge.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"gives away its members|evidence of a leak|is at least \d", done.stdout), (
        done.stdout
    )
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"
