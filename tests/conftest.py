from __future__ import annotations

import os

# Many small fits: threads only get in each other's way. Set before numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of Hugging Face that a test made itself need no rehearsal, which takes long."""
    if "rehearsed" not in request.keywords:
        monkeypatch.setattr("divulge.models.language.rehearse", lambda module, place: None)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
