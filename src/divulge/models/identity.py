"""What names the answers of a model in a kept piece: its content, or what the user vouches for.

A file is named by its bytes, code by its source and by what it answers about the first records, an
estimator of scikit-learn by its parameters. A server and any other object have no content that
could be looked at: their answers are kept only under a name that the user gives, the cache key, to
be changed whenever the model is.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from importlib import import_module
from typing import Any

from divulge.errors import InputError
from divulge.models import callables, code
from divulge.models.source import Source

CODE = ("callable", "pickle", "safetensors")
"""Kinds whose answers come from code beside the file, or from code alone."""


def unnamed(model: Any, cache_key: str | None = None) -> str | None:
    """Why nothing names a model's answers, as a sentence; None where something does."""
    if cache_key is not None or getattr(model, "cache_key", None) is not None:
        return None
    if isinstance(model, Source):
        if model.recognised == "endpoint":
            return f"What {model.shown} serves may change while its address stays the same."
        if _source_of_code(model) is None:
            return (
                f"The source code of {model.class_name or model.where} was not found, so changes "
                "to it cannot be noticed."
            )
        return None
    if _is_scikit_learn(model):
        return None
    return f"The answers of a {type(model).__name__} cannot be identified by its content."


def identity(model: Any, cache_key: str | None = None) -> str:
    """What names a model in a kept piece; InputError where nothing does."""
    why = unnamed(model, cache_key)
    if why is not None:
        raise InputError(
            f"{why} So it is not cached: pass a cache key, and change it whenever the model "
            "changes, or pass no cache folder."
        )
    if isinstance(model, Source):
        keyed = model if cache_key is None else replace(model, cache_key=cache_key)
        how = {k: v for k, v in asdict(keyed).items() if k not in ("where", "trust")}
        found = [keyed.fingerprint() or keyed.where, _source_of_code(keyed), how]
        return json.dumps(found, sort_keys=True, default=str)
    own = cache_key if cache_key is not None else getattr(model, "cache_key", None)
    if own is not None:
        return json.dumps([type(model).__qualname__, own])
    return str(content(model))


def content(model: Any) -> str | None:
    """What names an object of scikit-learn's own classes, whose code is known: its parameters."""
    if not _is_scikit_learn(model):
        return None
    import joblib

    try:
        return str(joblib.hash(model))
    except Exception as error:  # the parameters may be any objects
        raise InputError(
            f"The parameters of {type(model).__name__} cannot be hashed, so nothing identifies "
            f"its answers: {type(error).__name__}. Pass a cache key, or no cache folder."
        ) from error


def _is_scikit_learn(model: Any) -> bool:
    return type(model).__module__.startswith("sklearn.")


def by_answers(model: Any, cache_key: str | None = None) -> bool:
    """Whether the first answers are part of the name: there is code, and nobody vouches for it."""
    if cache_key is not None or getattr(model, "cache_key", None) is not None:
        return False
    return not isinstance(model, Source) or model.recognised in CODE or bool(model.trust)


def _source_of_code(model: Source) -> str | None:
    """The digest of the source that answers; an empty text where the file says it all."""
    named = model.where if model.recognised == "callable" else model.class_name
    if named is None:
        return ""
    found = callables.named(named)
    module = import_module(named.partition(":")[0])
    own, elsewhere = code.remembered(module), code.owner(found)
    if own is None or elsewhere in (None, module.__name__):
        return own
    further = code.remembered(import_module(str(elsewhere)))
    return None if further is None else f"{own} {further}"
