"""Tables from NumPy's own files (``.npy``): a matrix, or an array with named fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import InputError


def table(path: Path) -> Any:
    """The array as a data set of pyarrow; columns ``x_0``, ``x_1``, ... where none are named."""
    import pyarrow as pa
    import pyarrow.dataset

    try:
        found = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"Cannot read {path} as an array of numbers or texts: {error}") from None
    if found.dtype.names:
        columns = {name: found[name].ravel() for name in found.dtype.names}
    elif found.ndim == 2:
        columns = {f"x_{j}": found[:, j] for j in range(found.shape[1])}
    elif found.ndim == 1:
        columns = {"x_0": found}
    else:
        raise InputError(f"{path} must hold a row per record. Found {found.ndim} dimensions.")
    return pyarrow.dataset.dataset(pa.table({k: pa.array(v) for k, v in columns.items()}))
