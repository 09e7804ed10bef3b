"""How is a model asked? Files from strangers are loaded by formats that cannot run code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from divulge.models.base import Answers, Model
from divulge.models.estimator import adapt
from divulge.models.source import Source

__all__ = ["Answers", "Model", "Source", "adapt", "load"]


def load(
    where: str | os.PathLike[str],
    *,
    trust: Sequence[str] = (),
    allow_pickle: bool = False,
    kind: str | None = None,
    **further: Any,
) -> Any:
    """A model from a file, a directory, an address or ``module:name``.

    The estimator itself from skops and pickle, anything from ``module:name``, a Model otherwise.
    ``further`` are the other fields of ``Source``.
    """
    source = Source(os.fspath(where), kind, tuple(trust), allow_pickle, **further)
    return source.raw()
