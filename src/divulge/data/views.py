"""A table under other names: columns renamed, and single elements of columns of lists.

``emb[33]`` is the element 33 of the lists in ``emb``, counted from 0; ``emb[3][5]`` one of lists of
lists. A column that bears such a name itself is that column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw

from divulge.errors import InputError, require

OPTION = "rename (--map)"
_ELEMENT = re.compile(r"(.+?)((?:\[\d+\])+)")


@dataclass(frozen=True)
class TableView:
    """A source of a table, and what its columns are to be called."""

    source: Any = field(repr=False)
    rename: Mapping[str, str] = field(default_factory=dict)
    elements: tuple[str, ...] = ()

    def shown(self, columns: Iterable[str]) -> dict[str, str]:
        """Every column's name, and where it comes from; InputError where two would have one."""
        own = list(columns)
        found = {self.rename.get(c, c): c for c in own}
        if len(found) < len(own):
            twice = next(c for c in own if found[self.rename.get(c, c)] != c)
            raise InputError(
                f"{OPTION}: the table already has a column {self.rename.get(twice, twice)!r}. "
                "Give that one another name too, or choose another."
            )
        for old, new in self.rename.items():
            if old not in own and base(old) in own:
                require(new not in found, f"{OPTION}: the table already has a column {new!r}.")
                found[new] = old
        for name in self.elements:
            if name not in found and base(name) in found:
                found[name] = found[base(name)] + name[len(base(name)) :]
        return found


def origin(source: Any) -> Any:
    """What a view is a view of; anything else is itself."""
    return source.source if isinstance(source, TableView) else source


def seen(frame: nw.DataFrame[Any], view: TableView) -> nw.DataFrame[Any]:
    """The columns of a table in memory by the names of a view, and the elements that it names."""
    shown = view.shown(frame.columns)
    own = [nw.col(old).alias(new) for new, old in shown.items() if old in frame.columns]
    found = frame.select(*own)
    for new, old in shown.items():
        if old not in frame.columns:
            values = element(frame[base(old)].to_arrow(), old, "the table")
            series = nw.new_series(new, values.to_pylist(), backend=frame.implementation)
            found = found.with_columns(series)
    return found


def is_element(name: str) -> bool:
    """Whether a name can be that of an element, such as ``emb[33]``."""
    return _ELEMENT.fullmatch(name) is not None


def base(name: str) -> str:
    """The column of lists that an element belongs to; any other name is its own."""
    match = _ELEMENT.fullmatch(name)
    return match[1] if match else name


def element_type(kind: Any, name: str) -> Any:
    """The type of an element of lists of this type; where they are none, that of the column."""
    for _ in re.findall(r"\[\d+\]", name[len(base(name)) :]):
        kind = getattr(kind, "value_type", kind)
    return kind


def element(column: Any, name: str, where: str) -> Any:
    """The Arrow column that a name stands for, taken from the column of its base."""
    import pyarrow as pa
    import pyarrow.compute as pc

    match = _ELEMENT.fullmatch(name)
    assert match is not None
    found = column
    for place in map(int, re.findall(r"\d+", match[2])):
        kind = found.type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not lists and not pa.types.is_fixed_size_list(kind):
            raise InputError(
                f"{name!r} is an element of a list, but {match[1]!r} of {where} holds {kind}."
            )
        shortest = pc.min(pc.list_value_length(found)).as_py()
        if shortest is not None and shortest <= place:
            raise InputError(
                f"{name!r} of {where}: a list in {match[1]!r} has {shortest} elements, which are "
                "counted from 0."
            )
        found = pc.list_element(found, place)
    return found
