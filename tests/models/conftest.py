from __future__ import annotations

import pytest


@pytest.fixture
def sound_files(monkeypatch):
    """Files made by the test itself need no rehearsal in another process, which takes its time."""
    for kind in ("xgboost", "lightgbm", "catboost", "onnx"):
        monkeypatch.setattr(f"divulge.models.{kind}.rehearse", lambda module, place: None)
