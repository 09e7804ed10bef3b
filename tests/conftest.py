from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

# Many small fits: threads only get in each other's way. Set before numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Pages show numbers: rounding, and what follows from it, is that of processors with AVX2.
CPU = Path("/proc/cpuinfo")
if CPU.is_file() and " avx2 " in CPU.read_text():
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

import numpy as np  # noqa: E402
import pytest  # noqa: E402


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Side by side, files of few tests come first: those are the long ones.

    Every process begins with its own part of the list and takes from the end of another's when it
    has none left: short tests there leave nobody waiting, and keep a file in one process.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes == 1:
        return
    tests = Counter(item.path for item in items)
    load, part = [0] * processes, {}
    for path, number in tests.most_common():
        part[path] = load.index(min(load))
        load[part[path]] += number
    items.sort(key=lambda item: (part[item.path], tests[item.path], item.path))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the committed ledger says that fails no test: rows that are stale or doubtful."""
    for report in terminalreporter.stats.get("passed", []):
        for name, told in report.user_properties:
            if name == "ledger":
                terminalreporter.write_line(told, yellow=True)


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of Hugging Face that a test made itself need no rehearsal, which takes long."""
    if "rehearsed" not in request.keywords:
        monkeypatch.setattr("divulge.models.language.rehearse", lambda module, place: None)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
