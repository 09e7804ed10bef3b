"""From records that hold a drawn value to line-ups.

A line-up is a value, the records that hold it, and K - 1 further draws; version j of a record is
the record with draw j in the value's place. Given the set of K candidates, each is the true one
with probability 1 / K: of a uniform recipe they are drawn without replacement, all line-ups of
values that identify their records disjoint, as numbers given out without replacement ask for; of
the user's own recipe they are drawn independently, and line-ups that are not distinct are void, by
their sets alone. Void is also a line-up of which a candidate, the true one or another, stands in
the rest of its own text: to leave out only those of the others would point at them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.attacks.observe import Question
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.drawn.recipes import LEVEL, Recipe
from divulge.errors import InputError, require
from divulge.models import hub
from divulge.text.visible import one_line
from divulge.types import Index

CANDIDATES = 32
_ROOM = 2
"""Values identify their records where there are this many times as many as all line-ups hold."""
_BY_CHANCE = 0.01
"""Most draws that may stand in a text by chance, as a share, before the true ones are doubted."""
_FEW, _LONG = 20, 12
_GAP = "\0"


@dataclass(frozen=True)
class DrawnLineups:
    """Line-ups, and the records in which their versions are shown."""

    records: Any = field(repr=False)
    """The columns that a model is shown, as an arrow table."""
    asked: Question
    """Which columns a model is shown, of no model yet; with a text, the value is a part of it."""
    column: str
    """Where the value stands."""
    rows: tuple[Index, ...] = field(repr=False)
    """The records in which each line-up is shown."""
    candidates: tuple[tuple[str, ...], ...] = field(repr=False)
    """Of each line-up; the first is the true value."""
    copies: npt.NDArray[np.int64] = field(repr=False)
    """In how many records each true value stands, shown or not."""
    void: int
    """Line-ups left out because their candidates were not distinct from everything else."""
    assumptions: tuple[str, ...]
    doubts: tuple[str, ...]
    """Why the values may not have been drawn as stated: a bound rests on it."""
    cautions: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows)


def line_ups(
    data: Any,
    recipe: Recipe,
    rng: np.random.Generator,
    *,
    value: str | None = None,
    text: str | None = None,
    unit: str | None = None,
    features: Sequence[str] = (),
    label: str | None = None,
    candidates: int = CANDIDATES,
) -> DrawnLineups:
    """Line-ups of ``candidates`` values each, for a table of training records.

    With ``text`` the value is a part of that column: the one in the column ``value``, or the only
    one of the recipe's form; without it that column itself was drawn. Texts without a value may
    hold copies. Records of one ``unit`` share a draw; by default those that share a value do, where
    chance would hardly repeat one, and else every record has its own.
    """
    require(candidates >= 2, f"A line-up needs at least 2 candidates. Found {candidates!r}.")
    require(text is not None or value is not None, "Name the column of texts, or of values.")
    frame, column = tables.read(data), text or str(value)
    tables.require_columns(
        frame, [c for c in (value, text, unit, label) if c is not None], "the data"
    )
    texts = None if text is None else hub.texts(frame.select(text), "a line-up")
    values = _values(frame, recipe, value, texts)
    known = {v for v in values if v is not None}
    require(len(known) > 0, "No record holds a value.")
    sizes = [s for s in (recipe.of(v).size for v in known) if s is not None]
    count = min([candidates, *sizes])
    # Where chance would hardly repeat a value, records that share one share a draw.
    named = bool(sizes) and min(sizes) >= _ROOM * len(known) * count
    units = None if unit is None else frame[unit].to_list()
    if not sizes and units is None:
        _require_different(values, recipe)
    truths, groups, held = _grouped(values, texts, units, named)
    disjoint = named and unit is None
    sets = _candidates(recipe, truths, count, known if disjoint else set(), rng)
    names = tables.expand(frame, list(features), "the data")
    every = [c for c in frame.columns if c != unit] if text is None and not names else names
    shown = list(dict.fromkeys([column, *every, *([] if label is None else [label])]))
    _require_alone(frame, [c for c in shown if c != column], values, text is None)
    sound, by_chance = _sound(sets, groups, texts, disjoint=disjoint)
    kept = [k for k, good in enumerate(sound) if good]
    require(
        2 * len(kept) >= len(groups),
        f"{len(groups) - len(kept)} of {len(groups)} line-ups are void: {recipe.text} draws the "
        f"same values too often, or draws stand in the texts. Lower the candidates from {count}.",
    )
    few = f"{recipe.text} allows {count} candidates, not {candidates}"
    return DrawnLineups(
        records=frame.select(*shown).to_arrow(),
        asked=Question(None, tuple(names), label, text),
        column=column,
        rows=tuple(np.array(groups[k], dtype=np.intp) for k in kept),
        candidates=tuple(sets[k] for k in kept),
        copies=np.array([held[k] for k in kept], dtype=np.int64),
        void=len(groups) - len(kept),
        assumptions=_assumptions(recipe, text is not None, unit, named),
        doubts=_doubts(recipe, truths, by_chance, not named and unit is None),
        cautions=(*[few] * (count < candidates), *_balanced(recipe, truths)),
    )


def _require_different(values: Sequence[str | None], recipe: Recipe) -> None:
    """InputError where values of a law that is not known repeat: by design, or by chance?

    To count equal values as one draw where chance repeats them would thin out the popular ones
    among the true values alone.
    """
    twice = next((v for v, n in Counter(values).items() if v is not None and n > 1), None)
    if twice is not None:
        rows = [row for row, v in enumerate(values) if v == twice][:2]
        raise InputError(
            f"Rows {rows[0]} and {rows[1]} hold the same value, {one_line(twice)[:40]!r}. Whether "
            f"that is one draw in both or two equal ones of {recipe.text} cannot be told: name the "
            "column of the unit that a draw was made for."
        )


def _words(frame: Frame, column: str) -> list[str | None]:
    """The cells of a column as text."""
    try:
        return list(frame[column].to_arrow().cast(pa.string()).to_pylist())
    except (pa.ArrowException, TypeError):
        raise InputError(f"Column {column!r} must hold one word or number per record.") from None


def _values(
    frame: Frame, recipe: Recipe, column: str | None, texts: list[str] | None
) -> list[str | None]:
    """The value of each record, of the stated form and in its text; errors name the row."""
    if column is None:
        assert texts is not None
        return [_found(recipe, row, text) for row, text in enumerate(texts)]
    values = _words(frame, column)
    for row, value in enumerate(values):
        if value is None:
            require(texts is not None, f"Column {column!r} has no value in row {row}.")
            continue
        why = recipe.check(value)
        require(
            why is None,
            f"Column {column!r} has a value in row {row} that {recipe.text} cannot draw: {why}. "
            f"Found {one_line(value)[:80]!r}.",
        )
        if texts is not None:
            _spelled(row, value, texts[row])
    return values


def _spelled(row: int, value: str, text: str) -> None:
    """InputError unless a value stands in its text, and in no other spelling beside it."""
    require(value in text, f"The text in row {row} does not hold its value {one_line(value)!r}.")
    rest, small = text.replace(value, _GAP).lower(), value.lower()
    bare = re.sub(r"[\W_]", "", small)
    other = small in rest or (len(bare) >= _LONG and bare in rest)
    require(not other, f"The text in row {row} holds its value in another spelling as well.")


def _found(recipe: Recipe, row: int, text: str) -> str:
    """The only value of the recipe's form in a text."""
    form, name = recipe.pattern, "name the column of values"
    require(form is not None, f"Values of {recipe.text} cannot be found in a text: {name}.")
    matches = {m for m in re.findall(str(form), text) if recipe.check(m) is None}
    found = f"The text in row {row} must hold one value of {recipe.text}, not {len(matches)}"
    require(len(matches) == 1, f"{found}: {name}.")
    value = str(matches.pop())
    _spelled(row, value, text)
    return value


def _grouped(
    values: list[str | None], texts: list[str] | None, units: list[Any] | None, named: bool
) -> tuple[list[str], list[list[int]], list[int]]:
    """The value of each line-up, the rows that show it, and the number that hold it.

    A text with several values that name their records counts for each, and shows none: a line-up
    must not reveal the value of another.
    """
    groups: dict[Any, list[int]] = defaultdict(list)
    by = units or (values if named else range(len(values)))
    for row, (value, key) in enumerate(zip(values, by, strict=True)):
        if value is not None:
            groups[key].append(row)
            first = groups[key][0]
            same = values[first] == value
            require(same, f"Rows {first} and {row} are one unit, but hold different values.")
    truths = [str(values[rows[0]]) for rows in groups.values()]
    shown = list(groups.values())
    if units is not None or not named or texts is None:
        return truths, shown, [len(rows) for rows in shown]
    place = {v.lower(): k for k, v in enumerate(truths)}
    lengths = sorted({len(v) for v in place})
    shown, held = [[] for _ in truths], [0] * len(truths)
    for row, low in enumerate(text.lower() for text in texts):
        windows = {low[a : a + n] for n in lengths for a in range(len(low) - n + 1)}
        found = [place[word] for word in windows & place.keys()]
        for k in found:
            held[k] += 1
            shown[k] += [row] if len(found) == 1 and truths[k] in texts[row] else []
    kept = [k for k, rows in enumerate(shown) if rows]
    require(len(kept) > 0, "Every text holds several values: a line-up would show those of others.")
    return [truths[k] for k in kept], [shown[k] for k in kept], [held[k] for k in kept]


def _candidates(
    recipe: Recipe, truths: list[str], count: int, taken: set[str], rng: np.random.Generator
) -> list[tuple[str, ...]]:
    """The true value of every line-up, and draws beside it; disjoint, where values are taken."""
    further, used = len(truths) * (count - 1), set(taken)
    if not recipe.uniform or (taken and recipe.of(truths[0]) is recipe):
        drawn = recipe.distinct(further, rng, used) if recipe.uniform else recipe.draw(further, rng)
        cut = range(0, further, count - 1)
        return [(v, *drawn[a : a + count - 1]) for v, a in zip(truths, cut, strict=True)]
    found = []
    for value in truths:
        others = recipe.of(value).distinct(count - 1, rng, used if taken else {value})
        used.update(others)
        found.append((value, *others))
    return found


def _sound(
    sets: list[tuple[str, ...]], groups: list[list[int]], texts: list[str] | None, *, disjoint: bool
) -> tuple[list[bool], float]:
    """Which line-ups are not void, and the share of draws that stand in a text by chance."""
    uses = Counter(c for s in sets for c in s)
    sound = [len(set(s)) == len(s) and not (disjoint and any(uses[c] > 1 for c in s)) for s in sets]
    if texts is None:
        return sound, 0.0
    standing = 0
    told = [[texts[r].count(own[0]) for r in rows] for own, rows in zip(sets, groups, strict=True)]
    usual = Counter(n for some in told for n in some).most_common(1)[0][0]
    for k, (own, rows) in enumerate(zip(sets, groups, strict=True)):
        rest = _GAP.join(texts[r].replace(own[0], _GAP) for r in rows)
        here = sum(c in rest for c in own[1:])
        standing += here
        sound[k] = sound[k] and here == 0 and all(n == usual for n in told[k])
    return sound, standing / (len(sets) * (len(sets[0]) - 1))


def _require_alone(frame: Frame, shown: list[str], values: list[str | None], whole: bool) -> None:
    """InputError where a column that is shown beside the value's repeats it."""
    for name in shown:
        words = [] if frame[name].dtype.is_nested() else _words(frame, name)
        pairs = {(v, w) for v, w in zip(values, words, strict=False) if v is not None}
        equal = len(pairs) > 1 and all(v == w for v, w in pairs)
        same = equal if whole else any(len(v) > 3 and v in (w or "") for v, w in pairs)
        require(not same, f"Column {name!r} repeats the values: leave it out of what is shown.")


def _assumptions(recipe: Recipe, in_text: bool, unit: str | None, named: bool) -> tuple[str, ...]:
    salted = "a value that is a hash was salted: a hash of the record is not random"
    alone = "nothing else in a text repeats its value, or a part of it, or follows from it"
    whose = "every record's value was drawn on its own: none is a copy of another's"
    if unit is not None:
        whose = f"the records that share a value by design share their {unit}"
    elif named:
        whose = "all training records that hold a value are in the table"
    hashed = recipe.text.lower().startswith("hex")
    return (recipe.law, *[salted] * hashed, *[alone] * in_text, whose)


def _doubts(recipe: Recipe, truths: list[str], by_chance: float, apart: bool) -> tuple[str, ...]:
    standing = f"{by_chance:.1%} of fresh draws stand in the texts by chance, as true ones may"
    found = [recipe.suspicious(truths), standing if by_chance > _BY_CHANCE else None]
    if apart and recipe.size is not None:
        from scipy.stats import chi2, poisson

        counts, n, size = np.array(list(Counter(truths).values())), len(truths), recipe.size
        pairs, spread = (counts * (counts - 1)).sum() / 2, (counts**2).sum() * size / n - n
        chance = max(poisson.sf(pairs - 1, n * (n - 1) / 2 / size), chi2.sf(spread, size - 1))
        repeated = "values repeat too often for draws of their own: name the unit that shares them"
        found.append(repeated if chance < LEVEL else None)
    return tuple(why for why in found if why is not None)


def _balanced(recipe: Recipe, truths: list[str]) -> tuple[str, ...]:
    """Equal numbers of every value: fixed arm sizes, for which epsilon is to be halved."""
    counts, size = Counter(truths), recipe.size or 0
    few = len(counts) == size <= _FEW and len(truths) >= 2 * size
    if not few or max(counts.values()) - min(counts.values()) > 1:
        return ()
    return (
        f"all {size} values are equally frequent: if their numbers were fixed beforehand the draws "
        "are not independent, and epsilon is to be halved",
    )
