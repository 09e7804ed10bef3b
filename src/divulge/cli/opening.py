"""How a command names a model: its place, what may be loaded, and ``--with`` for all the rest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli import options
from divulge.errors import InputError
from divulge.text import masking
from divulge.text.visible import one_line

if TYPE_CHECKING:
    from divulge.models.source import Source

PLACE = "a file, a folder, an address (http) or module:name."
Place = Annotated[str, options.model("--model", help=f"The target: {PLACE}")]
MaybePlace = Annotated[str | None, options.model("--model", help=f"The target: {PLACE}")]
With = Annotated[
    list[str] | None,
    options.model(
        "--with",
        metavar="NAME=VALUE",
        help="How a model is opened, such as outputs=logits or api=kserve; repeatable.",
    ),
]

KEEP = "To cache them, pass --cache-key NAME, and change NAME whenever the model changes."
_FIELDS = ("kind", "classes", "outputs", "class_name", "class_arguments", "device", "truncate")


def source(
    where: str,
    trust: Sequence[str] | None,
    allow_pickle: bool,
    given: Sequence[str] | None,
    cache_key: str | None = None,
) -> Source:
    """The model that a command line names."""
    from divulge.models.source import Source

    own: dict[str, Any] = {}
    further: dict[str, Any] = {}
    known: dict[str, Callable[[str], Any]] = {**dict.fromkeys(_FIELDS, str), **_endpoint_options()}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise InputError(
                f"--with is NAME=VALUE, where NAME is one of {', '.join(known)}. Found "
                f"{masking.shown(name)!r}."
            )
        if name == "classes":
            own[name] = tuple(word.strip() for word in value.split(",") if word.strip())
        elif name == "truncate":
            own[name] = _truth(name, value)
        elif name in _FIELDS:
            own[name] = value
        else:
            further[name] = _number(name, value, known[name])
    return Source(
        where,
        trust=tuple(trust or ()),
        allow_pickle=allow_pickle,
        cache_key=cache_key,
        options=further,
        **own,
    )


def kept(cache: Path | None, sources: Sequence[Source]) -> Path | None:
    """The folder for the answers of these models; none, and a note, where nothing names them."""
    from divulge.models.identity import unnamed

    for source in sources if cache is not None else ():
        why = unnamed(source)
        if why is not None:
            source.open()  # what is wrong with a model is said alone
            typer.echo(one_line(f"Its answers are not cached: {why} {KEEP}"), err=True)
            return None
    return cache


def _endpoint_options() -> dict[str, Callable[[str], Any]]:
    """What an endpoint can be told, by the annotations of the function that opens it."""
    from divulge.models.endpoints import open_endpoint

    found: dict[str, Callable[[str], Any]] = {}
    for name, parameter in inspect.signature(open_endpoint).parameters.items():
        kind = str(parameter.annotation).removesuffix(" | None")
        if name != "url" and name not in _FIELDS:
            found[name] = {"float": float, "int": int, "bool": bool}.get(kind, str)
    return found


def _number(name: str, value: str, kind: Callable[[str], Any]) -> Any:
    if kind is bool:
        return _truth(name, value)
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"--with {name} must be a number. Found {value!r}.") from None


def _truth(name: str, value: str) -> bool:
    if value.lower() not in ("yes", "no", "true", "false"):
        raise InputError(f"--with {name} is yes or no. Found {value!r}.")
    return value.lower() in ("yes", "true")
