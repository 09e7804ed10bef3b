"""Where a model is, and how it is opened: one description for every kind.

A ``Source`` holds words and numbers only, so it can be sent to other processes, each of which opens
the model once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from divulge.data import budgets, tables
from divulge.errors import InputError, require
from divulge.models import callables, outputs
from divulge.models.base import Model
from divulge.models.estimator import adapt
from divulge.text import masking

SUFFIXES = {
    ".skops": "skops",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
    ".ubj": "xgboost",
    ".txt": "lightgbm",
    ".cbm": "catboost",
    ".onnx": "onnx",
    ".pt2": "export",
    ".safetensors": "safetensors",
}
REFUSED = (".pt", ".pth", ".ckpt", ".bin", ".ptl", ".model", ".deprecated", ".h5", ".keras")


@dataclass(frozen=True)
class Source:
    """A model's place and all that is needed to open it."""

    where: str
    """A file, a directory, an address (http, https), or ``module:name``."""
    kind: str | None = None
    """One of ``KINDS``; None: recognised from ``where``."""
    trust: tuple[str, ...] = ()
    allow_pickle: bool = False
    classes: tuple[Any, ...] | None = None
    """What the columns of the probabilities stand for, where the model does not say."""
    outputs: str | None = None
    """``probabilities`` or ``logits``; None: what is usual for the kind."""
    class_name: str | None = None
    """``module:Class`` that safetensors weights belong to."""
    class_arguments: str = "{}"
    """Its keyword arguments, as JSON."""
    device: str = "cpu"
    truncate: bool = False
    """Whether texts longer than the model reads are cut off."""
    cache_key: str | None = None
    """What names its answers where they are kept, beside its content if it has any."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of an endpoint: ``api``, ``key_variable``, ``rate``, ..."""

    def __repr__(self) -> str:
        return f"Source({self.shown!r}, kind={self.kind!r})"

    @property
    def shown(self) -> str:
        """The place as it may be shown: an address without its query, which may hold a key."""
        return masking.shown(self.where)

    @property
    def recognised(self) -> str:
        """The kind, said or recognised; InputError that lists the kinds."""
        if self.kind is not None:
            require(
                self.kind in KINDS,
                f"Unknown kind of model {self.kind!r}. Choose from {', '.join(KINDS)}.",
            )
            return self.kind
        return recognise(self.where)

    def raw(self) -> Any:
        """The estimator itself from skops, pickle and ``module:name``; a Model otherwise."""
        if self.outputs is not None:
            outputs.check(self.outputs)
        kind = self.recognised
        if kind not in ("endpoint", "callable"):
            _require_place(Path(self.shown), folder=kind == "hub")
        return KINDS[kind](self)

    def open(self) -> Model:
        """The model, loaded once per process as long as its file stays the same."""
        # A module that was loaded anew holds another object under the same name.
        named = self.raw() if self.recognised == "callable" else None
        stamps = [id(named), _stamps(Path(self.where))]
        key = json.dumps([asdict(self), stamps], sort_keys=True, default=repr)
        if key not in _OPENED:
            model = adapt(self.raw() if named is None else named, Path(self.shown).name)
            if self.classes is not None:
                model = _with_classes(model, self.classes)
            _OPENED[key] = model
        return _OPENED[key]

    def fingerprint(self) -> str | None:
        """SHA-256 of the file's or the directory's content; None for code and for a server."""
        place = Path(self.where)
        if self.recognised in ("endpoint", "callable"):
            return None
        _require_place(place, folder=place.is_dir())
        if place.is_file():
            return tables.file_sha256(place)
        digest = hashlib.sha256()
        for path in sorted(p for p in place.rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(place)}\0{tables.file_sha256(path)}\n".encode())
        return digest.hexdigest()

    def described(self) -> dict[str, str]:
        """What a result says of the model: its name, and the digest of its file if it has one."""
        content = self.fingerprint()
        return {"name": self.shown if content is None else Path(self.where).name} | (
            {} if content is None else {"sha256": content}
        )


_OPENED: dict[str, Model] = {}


def _require_place(place: Path, *, folder: bool) -> None:
    """InputError unless there is a file, or a folder of files that no link leads out of."""
    if folder and place.is_dir():
        budgets.require_folder(place)
    else:
        budgets.require_file(place)


def _stamps(place: Path) -> list[tuple[str, int, int]]:
    """What changes when a file, or a file in a directory, is written again."""
    if not place.exists():
        return []
    found = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    return [(str(p.resolve()), p.stat().st_size, p.stat().st_mtime_ns) for p in found]


def _with_classes(model: Model, classes: tuple[Any, ...]) -> Model:
    if "classes" not in getattr(model, "__dataclass_fields__", {}):
        raise InputError(f"{model.name} names its own classes: leave out yours.")
    named: Model = replace(model, classes=classes)  # type: ignore[type-var]
    return named


def recognise(where: str) -> str:
    """The kind of a place, by address, directory, suffix or content."""
    if where.startswith(("http://", "https://")):
        return "endpoint"
    place = Path(where)
    suffix = place.suffix.lower()
    if place.is_dir():
        return "hub"
    if suffix == ".json":
        return _json_kind(place)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if callables.is_address(where) and not place.exists():
        return "callable"
    require(place.exists(), f"There is no file {masking.shown(where)}.")
    if suffix in REFUSED:
        raise InputError(
            f"{masking.shown(where)} is in a form that can run any code on this machine when it "
            "is loaded, or that its own library no longer supports. Save a network with "
            "torch.export (.pt2) or as safetensors, an XGBoost model as .ubj, a Keras model as "
            "ONNX."
        )
    raise InputError(
        f"Cannot tell what kind of model {masking.shown(where)} is. Known formats are "
        f"{', '.join(SUFFIXES)}, .json, directories of Hugging Face, http(s) addresses and "
        f"module:name; or name its kind: one of {', '.join(KINDS)}."
    )


def _json_kind(place: Path) -> str:
    """XGBoost's and CatBoost's JSON are told apart by their first keys."""
    budgets.require_file(place)
    try:
        found = json.loads(place.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(f"Cannot load {place}: it is not JSON: {error}.") from error
    keys = set(found) if isinstance(found, dict) else set()
    if "learner" in keys:
        return "xgboost"
    if "model_info" in keys:
        return "catboost"
    raise InputError(f"Cannot load {place}: it is neither XGBoost's JSON nor CatBoost's.")


def _opener(module: str, function: str, *fields: str) -> Callable[[Source], Any]:
    """What opens a file through a function of a module, given these fields of the source."""

    def opened(source: Source) -> Any:
        given = {f: getattr(source, f) for f in fields if getattr(source, f) is not None}
        opener = getattr(import_module(f"divulge.models.{module}"), function)
        return opener(Path(source.where), **given)

    return opened


def _callable(source: Source) -> Any:
    return callables.named(source.where)


def _endpoint(source: Source) -> Any:
    said = {"outputs": source.outputs, "classes": source.classes}
    given = {**source.options, **{k: v for k, v in said.items() if v is not None}}
    return import_module("divulge.models.endpoints").open_endpoint(source.where, **given)


KINDS: dict[str, Callable[[Source], Any]] = {
    "skops": _opener("files", "load_skops", "trust"),
    "pickle": _opener("files", "load_pickle", "allow_pickle"),
    "xgboost": _opener("xgboost", "load"),
    "lightgbm": _opener("lightgbm", "load"),
    "catboost": _opener("catboost", "load"),
    "onnx": _opener("onnx", "load", "outputs"),
    "export": _opener("networks", "load_exported", "outputs", "device"),
    "safetensors": _opener(
        "networks", "load_weights", "class_name", "class_arguments", "outputs", "device"
    ),
    "hub": _opener("hub", "load", "truncate", "device"),
    "callable": _callable,
    "endpoint": _endpoint,
}
"""What opens each kind of model."""
