"""scikit-learn models from files: skops by default, pickle only where the user says so.

skops stores a model without pickle and names every type outside its own list of trusted ones;
such a type is loaded only if the user has named it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from divulge.errors import InputError, MissingExtra

PICKLES = (".pkl", ".pickle", ".joblib")


def load(
    path: str | os.PathLike[str], *, trust: Sequence[str] = (), allow_pickle: bool = False
) -> Any:
    """A fitted model from a file; InputError that says what is missing."""
    place = Path(path)
    if not place.exists():
        raise InputError(f"There is no file {place}.")
    kind = place.suffix.lower()
    if kind == ".skops":
        return _skops(place, trust)
    if kind in PICKLES:
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
    raise InputError(f"Cannot load {place}: a model file ends in .skops (or .pkl, .joblib).")


def _skops(place: Path, trust: Sequence[str]) -> Any:
    try:
        from skops import io
    except ModuleNotFoundError:
        raise MissingExtra("skops", "models") from None
    try:
        unknown = [t for t in io.get_untrusted_types(file=place) if t not in trust]
        if unknown:
            listed = " ".join(f"--trust {t}" for t in unknown)
            raise InputError(
                f"{place} holds types that skops does not know to be harmless: "
                f"{', '.join(unknown)}. If you know them, pass {listed}."
            )
        return io.load(place, trusted=list(trust))
    except InputError:
        raise
    except Exception as error:  # a damaged archive can fail in many ways
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error
