"""scikit-learn models from files: skops by default, pickle only where the user says so.

skops stores a model without pickle and names every type outside its own list of trusted ones;
such a type is loaded only if the user has named it. Before anything is built, the archive must be
whole and no array in it may claim to be larger than it is.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import InputError
from divulge.models import archives
from divulge.models.rehearsal import library

PICKLES = (".pkl", ".pickle", ".joblib")


def load_skops(place: Path, trust: Sequence[str] = ()) -> Any:
    """A fitted estimator; InputError that lists all types that nobody vouches for."""
    skops = library("skops.io", "models")
    files = archives.contents(place)
    try:
        for name, data in files.items():
            _check_array(name, data)
        whole = archives.packed(files).getvalue()
        unknown = [t for t in skops.get_untrusted_types(data=whole) if t not in trust]
        if unknown:
            listed = " ".join(f"--trust {t}" for t in unknown)
            raise InputError(
                f"{place} holds types that skops does not know to be harmless: "
                f"{', '.join(unknown)}. If you know them, pass {listed}."
            )
        return skops.loads(whole, trusted=list(trust))
    except InputError:
        raise
    except Exception as error:  # a damaged archive can fail in many ways
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error


def load_pickle(place: Path, allow_pickle: bool = False) -> Any:
    """Whatever a pickle holds; InputError unless the user allows it to run code."""
    if not allow_pickle:
        raise InputError(
            f"{place} is a pickle, which can run any code on this machine when it is loaded. "
            "Save the model with skops, or pass --allow-pickle if you trust whoever made it."
        )
    import joblib

    try:
        return joblib.load(place)
    except Exception as error:  # anything can be raised by a pickle
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error


def _check_array(name: str, data: bytes) -> None:
    """ValueError if an array's header claims more than there is; sparse ones are archives."""
    if data[:4] == b"PK\x03\x04":
        for inner, content in archives.contents(io.BytesIO(data), name).items():
            _check_array(inner, content)
    if data[:6] != b"\x93NUMPY":
        return
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"{name} has an unknown form of array")
    shape, _, kind = read(stream)
    if prod(shape) * kind.itemsize != len(data) - stream.tell():
        raise ValueError(f"{name} claims to be an array of another size than it is")
