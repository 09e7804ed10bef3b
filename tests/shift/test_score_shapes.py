from __future__ import annotations

import numpy as np
import pytest

from divulge.shift.score_shapes import SHAPES, explaining, shapes_of


def test_shapes_are_standard_and_without_the_leak(rng):
    member = rng.random(5000) < 0.5
    left = rng.standard_normal(5000) * (1.0 + member) + member
    shapes = shapes_of(left, member - 0.5)
    np.testing.assert_allclose(shapes.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(shapes.std(axis=0), 1.0)
    np.testing.assert_allclose((member - member.mean()) @ shapes, 0.0, atol=1e-8)


@pytest.mark.parametrize("leak", [1.0, -1.0])
def test_only_what_goes_with_a_leak_explains_it(leak):
    with_it = {"mean": 1.0, "square": 1.0, "upper tail": 1.0, "lower tail": -1.0}
    for shape in SHAPES:
        assert explaining(0.3 * leak * with_it[shape], shape, leak) == 0.3
        against = explaining(-0.3 * leak * with_it[shape], shape, leak)
        assert against == (0.3 if shape == "square" else 0.0)
