"""How a value was drawn by design, so that others can be drawn in the same way.

A recipe is written as a word: ``hex:32`` (``HEX:32`` in capitals), ``digits:6``, ``uuid4``,
``date:2020-01-01..2024-12-31``, ``choice:file.txt`` (a value per line), ``permutation:,`` (the
order of a list with that separator) or ``module:function``, the user's own ``(rng, count)`` that
returns as many texts. All but the last are uniform over ``size`` values.

That the true values were drawn so is what the game assumes. What can be seen of it is tested: the
form of every value, and how often its features occur, at a level of one in a million.
"""

from __future__ import annotations

import itertools
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from divulge.drawn import listed
from divulge.errors import InputError, require
from divulge.models import callables
from divulge.models.base import Failed, foreign
from divulge.text.visible import one_line

LEVEL = 1e-6
"""Features that are less likely than this, all together, make the draw doubtful."""
LONGEST = 1024
"""Characters of a value."""
_DIGITS, _HEX = "0123456789", "0123456789abcdef"
_MOST_MATCHED = 10_000
_PLACES = 16
_TRIES = 1000
_WORDS = "hex:32, digits:6, uuid4, date:2020-01-01..2024-12-31, choice:FILE, permutation:,"

Rng = np.random.Generator


class Feature(NamedTuple):
    """How many of so many values have something that a draw has with this chance."""

    what: str
    seen: int
    values: int
    chance: float


@dataclass(frozen=True)
class Recipe(ABC):
    """A distribution of texts."""

    text: str

    uniform = True
    """Whether all ``size`` values are equally likely."""

    @property
    def size(self) -> int | None:
        """How many values there are; None: not known."""
        return None

    @property
    def pattern(self) -> str | None:
        """A regular expression that finds a value in a text; None: it must be named."""
        return None

    @property
    def law(self) -> str:
        """What is assumed of the true values, in words."""
        return f"every value was drawn by {self.text}, independently of everything else"

    def of(self, value: str) -> Recipe:
        """The recipe by which this value was drawn: itself, unless it depends on the value."""
        return self

    @abstractmethod
    def check(self, value: str) -> str | None:
        """Why a value is not of this form; None where it is."""

    @abstractmethod
    def draw(self, count: int, rng: Rng) -> list[str]:
        """Independent draws."""

    def every(self) -> Iterator[str]:
        """All values, where ``size`` is small."""
        raise NotImplementedError

    def distinct(self, count: int, rng: Rng, without: Collection[str]) -> list[str]:
        """``count`` values drawn without replacement among those that are not in ``without``."""
        size = self.size
        if size is not None and size <= 4 * (count + len(without)):
            left = [v for v in self.every() if v not in without]
            require(len(left) >= count, f"{self.text} has too few values: {size}.")
            return [left[k] for k in rng.choice(len(left), count, replace=False)]
        found: dict[str, None] = {}
        for _ in range(_TRIES):
            more = self.draw(max(count - len(found), 1), rng)
            found |= dict.fromkeys(v for v in more if v not in without)
            if len(found) >= count:
                return list(found)[:count]
        raise InputError(f"{self.text} draws too few different values: fewer than {count}.")

    @abstractmethod
    def features(self, values: Sequence[str]) -> Iterator[Feature]:
        """What can be counted in different values of this form."""

    def suspicious(self, values: Sequence[str]) -> str | None:
        """Why the values do not look drawn so, by binomial tails; None where they do."""
        from scipy.stats import binom

        # Equal values count once where there are so many that a second one is a copy.
        once = self.size is None or self.size > len(values) ** 2
        seen = list(self.features(list(dict.fromkeys(values)) if once else list(values)))
        if not seen:
            return None
        count, of, chance = (np.array(column) for column in list(zip(*seen, strict=True))[1:])
        tails = np.minimum(binom.cdf(count, of, chance), binom.sf(count - 1, of, chance))
        worst = int(np.argmin(tails))
        if 2.0 * tails[worst] * len(seen) >= LEVEL:
            return None
        found = seen[worst]
        return (
            f"{found.what} in {found.seen} of {found.values} values, where draws by {self.text} "
            f"would have it in about {found.values * found.chance:.4g}"
        )


def _luhn(value: str) -> bool:
    digits = [int(d) for d in reversed(value)]
    doubled = [sum(divmod(2 * d, 10)) for d in digits[1::2]]
    return (sum(digits[0::2]) + sum(doubled)) % 10 == 0


@dataclass(frozen=True)
class _Characters(Recipe):
    """At every place one of so many characters; a dash of a UUID is one of one."""

    places: tuple[str, ...] = field(repr=False)

    @property
    def size(self) -> int:
        return math.prod(map(len, self.places))

    @property
    def pattern(self) -> str:
        runs = ((p, len(list(some))) for p, some in itertools.groupby(self.places))
        form = "".join(f"[{p}]{{{length}}}" for p, length in runs)
        return rf"(?<![0-9A-Za-z]){form}(?![0-9A-Za-z])"

    def check(self, value: str) -> str | None:
        if len(value) != len(self.places):
            return f"it has {len(value)} characters instead of {len(self.places)}"
        for k, (character, allowed) in enumerate(zip(value, self.places, strict=True)):
            if character not in allowed:
                return f"{character!r} as character {k + 1} is not one of {allowed}"
        return None

    def draw(self, count: int, rng: Rng) -> list[str]:
        columns = [np.frombuffer(p.encode(), np.uint8) for p in self.places]
        drawn = np.column_stack([c[rng.integers(0, c.size, count)] for c in columns])
        return [row.tobytes().decode() for row in drawn]

    def every(self) -> Iterator[str]:
        return map("".join, itertools.product(*self.places))

    def features(self, values: Sequence[str]) -> Iterator[Feature]:
        for k, allowed in enumerate(self.places):
            counts = Counter(v[k] for v in values)
            for character in allowed if len(allowed) > 1 else "":
                what = f"{character!r} is character {k + 1}"
                yield Feature(what, counts[character], len(values), 1.0 / len(allowed))
        if self.places != (_DIGITS,) * len(self.places):
            return
        luhn = sum(map(_luhn, values))
        yield Feature("a check digit (Luhn) holds", luhn, len(values), 0.1)
        numbers = {int(v) for v in values}
        for divisor in (7, 9, 11, 97):
            counted = Counter(n % divisor for n in numbers)
            for rest in range(divisor) if self.size > 100 * divisor else ():
                chance = ((self.size - 1 - rest) // divisor + 1) / self.size
                what = f"{divisor} leaves the rest {rest}"
                yield Feature(what, counted[rest], len(numbers), chance)
        following = sum(n + 1 in numbers for n in numbers)
        if 20 * len(numbers) < self.size:
            near = len(numbers) / self.size
            yield Feature("the next number is a value too", following, len(numbers), near)


@dataclass(frozen=True)
class _Dates(Recipe):
    """Days from the first to the last, both included."""

    first: date
    last: date

    @property
    def size(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def pattern(self) -> str:
        return r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"

    def check(self, value: str) -> str | None:
        try:
            day = date.fromisoformat(value)
        except ValueError:
            day = date.max
        if value != day.isoformat():
            return "it is not a date written as 2024-12-31"
        outside = f"it is not between {self.first} and {self.last}"
        return None if self.first <= day <= self.last else outside

    def draw(self, count: int, rng: Rng) -> list[str]:
        days = rng.integers(0, self.size, count).tolist()
        return [(self.first + timedelta(days=k)).isoformat() for k in days]

    def every(self) -> Iterator[str]:
        return ((self.first + timedelta(days=k)).isoformat() for k in range(self.size))

    def features(self, values: Sequence[str]) -> Iterator[Feature]:
        whole, seen = (list(map(date.fromisoformat, days)) for days in (self.every(), values))
        parts = {"year": "%Y", "month": "%m", "day": "%d", "day of the week": "%u"}
        for name, form in parts.items():
            possible, counts = (Counter(d.strftime(form) for d in some) for some in (whole, seen))
            for part, days in possible.items():
                what = f"the {name} is {part}"
                yield Feature(what, counts[part], len(seen), days / len(whole))


@dataclass(frozen=True)
class _Choice(Recipe):
    """One of a list."""

    values: tuple[str, ...] = field(repr=False)
    _known: frozenset[str] = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def pattern(self) -> str | None:
        if self.size > _MOST_MATCHED:
            return None
        longest_first = sorted(self.values, key=len, reverse=True)
        return rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"

    def check(self, value: str) -> str | None:
        return None if value in self._known else f"it is not one of the {self.size} in the file"

    def draw(self, count: int, rng: Rng) -> list[str]:
        return [self.values[k] for k in rng.integers(0, self.size, count).tolist()]

    def every(self) -> Iterator[str]:
        return iter(self.values)

    def features(self, values: Sequence[str]) -> Iterator[Feature]:
        counts = Counter(values)
        for value in self.values:
            what = f"{one_line(value)[:40]!r} stands"
            yield Feature(what, counts[value], len(values), 1.0 / self.size)


@dataclass(frozen=True)
class _Permutation(Recipe):
    """The order of a list, given what is in it."""

    separator: str
    items: tuple[str, ...] = ()
    """In alphabetical order; empty: not yet known."""

    @property
    def size(self) -> int | None:
        if not self.items:
            return None
        repeated = math.prod(math.factorial(n) for n in Counter(self.items).values())
        return math.factorial(len(self.items)) // repeated

    def of(self, value: str) -> _Permutation:
        return _Permutation(self.text, self.separator, tuple(sorted(value.split(self.separator))))

    def check(self, value: str) -> str | None:
        items = value.split(self.separator)
        if self.items and tuple(sorted(items)) != self.items:
            return "it does not hold the same items"
        if len(set(items)) < 2:
            return f"it has only one order: no two different items between {self.separator!r}"
        return None

    def draw(self, count: int, rng: Rng) -> list[str]:
        orders = (rng.permutation(len(self.items)).tolist() for _ in range(count))
        return [self.separator.join(self.items[k] for k in order) for order in orders]

    def every(self) -> Iterator[str]:
        return iter(dict.fromkeys(map(self.separator.join, itertools.permutations(self.items))))

    def features(self, values: Sequence[str]) -> Iterator[Feature]:
        """The alphabetical rank of the items at either end, for lists of each length."""
        lists = sorted((v.split(self.separator) for v in values), key=len)
        for length, some in itertools.groupby(lists, key=len):
            plain = [items for items in some if len(set(items)) == length]
            for end, words in ((0, "first"), (-1, "last")):
                ranks = Counter(sorted(items).index(items[end]) for items in plain)
                for rank in range(length):
                    what = f"the {words} item is number {rank + 1} of {length} by the alphabet"
                    yield Feature(what, ranks[rank], len(plain), 1.0 / length)


@dataclass(frozen=True)
class _Own(Recipe):
    """A function of the user's: ``(rng, count)`` to as many texts."""

    function: Callable[[Rng, int], Any] = field(repr=False)

    uniform = False

    def check(self, value: str) -> str | None:
        return None if value else "it is empty"

    def draw(self, count: int, rng: Rng) -> list[str]:
        try:
            found = foreign(lambda given: list(self.function(*given)), (rng, count))
        except Failed as failed:
            raise InputError(f"{self.text} failed: {failed}") from failed.__cause__
        sound = all(isinstance(v, str) and 0 < len(v) <= LONGEST for v in found)
        sound = sound and len(found) == count
        require(sound, f"{self.text} must return {count} texts of 1 to {LONGEST} characters.")
        return list(found)

    def features(self, values: Sequence[str]) -> Iterator[Feature]:
        """Lengths and characters that are more frequent than twice their share of many draws."""
        drawn = self.draw(max(10_000, 10 * len(values)), np.random.default_rng(0))

        def kinds(value: str) -> list[str]:
            at = [f"{c!r} is character {k + 1}" for k, c in enumerate(value[:_PLACES])]
            return [f"the length is {len(value)}", *at]

        seen, known = (Counter(k for v in some for k in kinds(v)) for some in (values, drawn))
        for what, count in seen.items():
            most = (2 * known[what] + 20) / len(drawn)
            if count > most * len(values):
                yield Feature(what, count, len(values), most)


def parse(text: str) -> Recipe:
    """The recipe that a word stands for; InputError that says how recipes are written."""
    kind, colon, rest = text.partition(":")
    if text in ("uuid4", "UUID4"):
        x, variant = (_HEX, "89ab") if text.islower() else (_HEX.upper(), "89AB")
        form = [x] * 8 + ["-"] + [x] * 4 + ["-", "4"] + [x] * 3 + ["-", variant] + [x] * 3
        return _Characters(text, (*form, "-", *[x] * 12))
    if kind in ("hex", "HEX", "digits"):
        length = int(rest) if re.fullmatch("[0-9]{1,4}", rest) else 0
        require(0 < length <= LONGEST, f"{kind}: needs a length of 1 to {LONGEST}: {kind}:8.")
        letters = {"hex": _HEX, "HEX": _HEX.upper(), "digits": _DIGITS}[kind]
        return _Characters(text, (letters,) * length)
    if kind == "date":
        try:
            days = _Dates(text, *map(date.fromisoformat, rest.split("..")))
            require(days.size >= 2, "too few days")
            return days
        except (TypeError, ValueError):
            dates = "date:2020-01-01..2024-12-31"
            raise InputError(f"A draw of two days or more is {dates}, not {text!r}.") from None
    if kind == "choice":
        return _choice(text, Path(rest))
    if kind == "permutation" and colon:
        require(0 < len(rest) <= LONGEST, "After permutation: comes the separator of the items.")
        return _Permutation(text, rest)
    if callables.is_address(text):
        found = callables.named(text)
        require(callable(found), f"{text} is not a function of (rng, count).")
        return _Own(text, found)
    raise InputError(f"Write a draw as {_WORDS} or module:function, not {one_line(text)[:80]!r}.")


def one_of(text: str, values: Sequence[str]) -> Recipe:
    """A uniform draw among these values; ``text`` is how it is named."""
    return _Choice(text, tuple(values), frozenset(values))


def _choice(text: str, path: Path) -> _Choice:
    lines = listed.lines(path)
    for number, line in enumerate(lines, 1):
        fits = bool(line.strip()) and len(line) <= LONGEST
        require(fits, f"Line {number} of {path} is empty or longer than {LONGEST} characters.")
    twice = next((line for line, count in Counter(lines).items() if count > 1), "")
    require(not twice, f"{path} holds {one_line(twice)[:40]!r} twice: values must differ.")
    require(len(lines) >= 2, f"{path} must hold at least two values, one per line.")
    return _Choice(text, tuple(lines), frozenset(lines))
