"""Needs: pip install divulge pandas

A function of one's own, named as module:function: any model that Python can ask.
"""

from typing import Any

import numpy as np

import divulge
from divulge.models import load
from records import FEATURES, members_and_others

MEMBERS, OTHERS = members_and_others()


def nearest(rows: Any) -> np.ndarray:
    """The loss of a model that knows its members: the distance to the nearest of them."""
    x, known = (np.column_stack([t[name] for name in FEATURES]) for t in (rows, MEMBERS))
    squares = (x**2).sum(1)[:, None] + (known**2).sum(1)[None, :] - 2.0 * x @ known.T
    return np.sqrt(np.maximum(squares, 0.0).min(axis=1))


if __name__ == "__main__":
    model = load("callable_model:nearest")
    result = divulge.membership(members=MEMBERS, nonmembers=OTHERS, model=model, features=FEATURES)
    print(result.verdict.sentence)
