"""A pytest fixture: ``assert_privacy(result, epsilon=8, delta=1e-5)``.

Installed with divulge by the entry point ``pytest11``. A test fails if the result refutes the
claim, and also where the two cannot be compared, unless ``undecided="pass"``: an audit that could
not conclude is no success.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from divulge.integrations.asserting import assert_privacy


@pytest.fixture(name="assert_privacy")
def privacy() -> Callable[..., None]:
    """``assert_privacy(result, epsilon=8, delta=1e-5)``, or ``mu=1``."""
    return assert_privacy
