"""One mechanism for every record of a result: its type hints say what its JSON may hold.

``Record`` derives ``to_json`` and ``from_json`` from the fields of a dataclass; ``read`` checks a
value against a type hint and names the place of what is wrong; ``schema_of`` states the same hint
as JSON Schema. A number may be refined by ``Annotated[float, Within(...)]``. Keys that a record
does not know are those of a later version and are let through, unread.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from dataclasses import Field as DataclassField
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    NoReturn,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from divulge.errors import InputError

_SLACK = 1e-9
"""By so much a share may miss its range, as sums of floating-point numbers do."""


@dataclass(frozen=True)
class Within:
    """The range of a number, and how it is said."""

    rule: str
    minimum: float = -math.inf
    maximum: float = math.inf
    above: float = -math.inf
    """Larger than this, and below smaller than that."""
    below: float = math.inf

    def fits(self, value: float) -> bool:
        """Whether a finite number lies in the range."""
        return self.minimum <= value <= self.maximum and self.above < value < self.below

    def schema(self) -> dict[str, Any]:
        """The range in the words of JSON Schema."""
        ends = {
            "minimum": self.minimum,
            "maximum": self.maximum,
            "exclusiveMinimum": self.above,
            "exclusiveMaximum": self.below,
        }
        return {name: value for name, value in ends.items() if math.isfinite(value)}


@dataclass(frozen=True)
class OneOf:
    """A text that is one of a few."""

    words: tuple[str, ...]

    @property
    def rule(self) -> str:
        """How it is said."""
        return "one of " + ", ".join(self.words)

    def fits(self, value: str) -> bool:
        """Whether it is one of them."""
        return value in self.words

    def schema(self) -> dict[str, Any]:
        """The choice in the words of JSON Schema."""
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class AtMost:
    """The longest list, and what its entries are called."""

    length: int
    what: str


Number = float | None
"""A finite number; null where it is not known or not finite."""
Share = Annotated[float, Within("a number in [0, 1]", -_SLACK, 1.0 + _SLACK)]
NonNegative = Annotated[float, Within("a finite number of at least 0", 0.0)]
Count = Annotated[int, Within("a whole number of at least 0", 0)]
Series = tuple[Number, ...]
Shares = tuple[Share | None, ...]
Counts = tuple[Count, ...]


@dataclass(frozen=True)
class Field:
    """A value and its place in the document."""

    value: Any
    place: str = ""

    def wrong(self, rule: str) -> NoReturn:
        """InputError with the place, the rule and what was found."""
        found = repr(self.value)
        shown = found if len(found) <= 60 else found[:59] + "…"
        raise InputError(f"Not a divulge result: {self.place} must be {rule}. Found {shown}.")

    def mapping(self) -> Mapping[str, Any]:
        """An object whose keys are text."""
        if not isinstance(self.value, Mapping) or not all(isinstance(k, str) for k in self.value):
            self.wrong("an object")
        return self.value

    def at(self, key: str) -> Field:
        """What stands under a key that must be there."""
        place = f"{self.place}.{key}" if self.place else key
        if key not in self.mapping():
            raise InputError(f"Not a divulge result: {place} is missing.")
        return Field(self.value[key], place)

    def items(self) -> list[Field]:
        """The entries of a list."""
        if not isinstance(self.value, list | tuple):
            self.wrong("a list")
        return [Field(v, f"{self.place}[{i}]") for i, v in enumerate(self.value)]


@dataclass(frozen=True, kw_only=True)
class Record:
    """Base of every record: frozen, plain, and as strict on load as its type hints are.

    A field without a default must be there. One with a default is left out of the JSON where it
    has that value. A field ``other`` holds what stands under keys that are not fields; in a
    dictionary whose keys have types, it is the form of every other key.
    """

    _always: ClassVar[tuple[str, ...]] = ()
    """Fields that are written even where they have their default."""

    def __post_init__(self) -> None:
        for own in fields(self):
            object.__setattr__(self, own.name, frozen(getattr(self, own.name)))

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, numbers and texts; what is unknown is null."""
        out: dict[str, Any] = {}
        for own in fields(self):
            value = getattr(self, own.name)
            if own.name == "other":
                out |= {k: v for k, v in plain(value).items() if k not in out}
            elif own.name in self._always or _required(own) or value != own.default:
                out[own.name] = plain(value)
        return out

    @classmethod
    def from_json(cls, data: Any, place: str = "") -> Self:
        """The inverse of to_json; InputError if a type or a range is wrong."""
        return cls.read(Field(data, place))

    @classmethod
    def read(cls, field: Field) -> Self:
        """From a place in a document."""
        record: Any = cls
        given, hints = field.mapping(), hints_of(record)
        known = {own.name: own for own in fields(cls) if own.name != "other"}
        values = {
            name: read(hints[name], field.at(name))
            for name, own in known.items()
            if name in given or _required(own)
        }
        if "other" in hints:
            values["other"] = {k: v for k, v in given.items() if k not in known}
        return cls(**values)


def _required(own: DataclassField[Any]) -> bool:
    return own.default is MISSING and own.default_factory is MISSING


@cache
def hints_of(cls: Any) -> dict[str, Any]:
    """The type hints of a record's fields, refinements included."""
    found = get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in found.items() if get_origin(hint) is not ClassVar}


def read(hint: Any, field: Field) -> Any:
    """The value of a field, checked against a type hint."""
    hint, refinements = _split(hint)
    value = field.value
    options = _options(hint)
    if options:
        return _read_one_of(options, field)
    if hint is Any:
        return value
    if is_typeddict(hint):
        hints = hints_of(hint)
        for key in field.mapping():
            read(hints.get(key, hints.get("other", Any)), field.at(key))
        return value
    if get_origin(hint) is tuple:
        for most in refinements:
            if len(field.items()) > most.length:
                field.wrong(f"a list of at most {most.length} {most.what}")
        return tuple(read(get_args(hint)[0], entry) for entry in field.items())
    if get_origin(hint) is Mapping:
        return {key: read(get_args(hint)[1], field.at(key)) for key in field.mapping()}
    if issubclass(hint, Record):
        return hint.read(field)
    sound = isinstance(value, (int, float) if hint is float else hint)
    if isinstance(value, bool) is not (hint is bool) or not sound:
        field.wrong(described(hint, refinements))
    if hint is float and not math.isfinite(value):
        field.wrong(described(hint, refinements))
    for refinement in refinements:
        if not refinement.fits(value):
            field.wrong(refinement.rule)
    return value


def _read_one_of(options: tuple[Any, ...], field: Field) -> Any:
    real = [option for option in options if option is not types.NoneType]
    nullable = len(real) < len(options)
    if field.value is None and nullable:
        return None
    inner = [_split(option) for option in real]
    if len(real) == 1 and inner[0][0] not in (float, int, str, bool):
        return read(real[0], field)
    for option in real:
        try:
            return read(option, field)
        except InputError:
            continue
    words = [described(*pair) for pair in inner] + ["null"] * nullable
    return field.wrong(" or ".join(words))


def described(hint: Any, refinements: tuple[Any, ...] = ()) -> str:
    """What a value must be, in words."""
    if refinements:
        return str(refinements[0].rule)
    words = {
        float: "a finite number",
        int: "a whole number",
        str: "a text",
        bool: "true or false",
    }
    return words.get(hint, "a list" if get_origin(hint) is tuple else "an object")


def _split(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A hint without its refinements, and these."""
    if get_origin(hint) is Annotated:
        inner, *refinements = get_args(hint)
        return inner, tuple(refinements)
    return hint, ()


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()


def schema_of(hint: Any, shared: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a type hint; the records it names are added to ``shared``."""
    hint, refinements = _split(hint)
    options = _options(hint)
    if options:
        parts = [schema_of(option, shared) for option in options]
        if parts[-1] == {"type": "null"} and len(parts) == 2 and parts[0].keys() & {"type"}:
            return parts[0] | {"type": [parts[0]["type"], "null"]}
        return {"anyOf": parts}
    if hint is Any:
        return {}
    if get_origin(hint) is tuple:
        listed: dict[str, Any] = {"type": "array", "items": schema_of(get_args(hint)[0], shared)}
        for most in refinements:
            listed["maxItems"] = most.length
        return listed
    if get_origin(hint) is Mapping:
        return {"type": "object", "additionalProperties": schema_of(get_args(hint)[1], shared)}
    if is_typeddict(hint) or issubclass(hint, Record):
        if hint.__name__ not in shared:
            shared[hint.__name__] = {}  # a record may hold itself
            shared[hint.__name__] = _object(hint, shared)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    names = {
        float: "number",
        int: "integer",
        str: "string",
        bool: "boolean",
        types.NoneType: "null",
    }
    out: dict[str, Any] = {"type": names[hint]}
    for refinement in refinements:
        out |= refinement.schema()
    return out


def _object(hint: Any, shared: dict[str, Any]) -> dict[str, Any]:
    """A record, or a dictionary whose known keys have types."""
    hints = {name: h for name, h in hints_of(hint).items() if name != "other"}
    out: dict[str, Any] = {"type": "object"}
    if hint.__doc__:
        out["description"] = " ".join(hint.__doc__.split())
    out["properties"] = {name: schema_of(inner, shared) for name, inner in hints.items()}
    if is_typeddict(hint):
        out["additionalProperties"] = schema_of(hints_of(hint).get("other", Any), shared)
    else:
        out["required"] = [own.name for own in fields(hint) if own.name in hints and _required(own)]
    return out


def frozen(value: Any) -> Any:
    """Plain and unchangeable: numpy's types as Python's, lists as tuples, no NaN, no infinity."""
    if isinstance(value, Record) or value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): frozen(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        return frozen(value.tolist())
    return tuple(frozen(v) for v in value) if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """Records, numpy's types, tuples and mappings as JSON has them; NaN and infinity as null."""
    if isinstance(value, Record):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
