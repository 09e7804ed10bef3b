"""One way to hand over a model: a ``Source``, a fitted object, a function, or a place as text.

Every function that takes a model takes it through here: games, attacks and ``divulge.score``.
"""

from __future__ import annotations

import os
from typing import Any

from divulge.errors import InputError
from divulge.models.base import Model
from divulge.models.estimator import adapt
from divulge.models.identity import content
from divulge.models.source import Source


def handed(model: Any) -> Any:
    """A file, a folder, an address or ``module:name`` as a Source; anything else as it is."""
    return Source(os.fspath(model)) if isinstance(model, str | os.PathLike) else model


def open_model(model: Any, name: str) -> Model:
    """A model that can be asked; a Source is opened, once per process."""
    found = handed(model)
    return adapt(found.open() if isinstance(found, Source) else found, name)


def estimator(model: Any) -> Any:
    """The object behind a model, of which another of its kind can be made, where there is one."""
    found = handed(model)
    return found.raw() if isinstance(found, Source) else found


def described(model: Any) -> dict[str, str]:
    """What a result says of a model: kind, name, and what tells its content where it has any.

    The name of an address is the address without its query, which may hold a key.
    """
    found = handed(model)
    if isinstance(found, Source):
        return {"kind": found.recognised, **found.described()}
    named = found if hasattr(found, "__qualname__") else type(found)
    about = {
        "kind": "function" if named is found else "object",
        "name": f"{named.__module__}.{named.__qualname__}",
    }
    try:
        told = content(found)
    except InputError:
        return about
    return about if told is None else {**about, "fingerprint": told}
