from __future__ import annotations

import os

# Many small fits: threads only get in each other's way. Set before numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)
