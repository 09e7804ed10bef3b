"""Planted line-ups: canaries that each hold a secret, drawn by the plan among its candidates.

Every canary is trained on; what nobody but the plan knows is which of its K candidates it holds. A
template says how a canary reads, ``the code of {name} is {secret:digits:6}``: the word after
``secret:`` names the draw, and a further ``{secret}`` repeats the value. All candidates are
distinct, those of different canaries too, and which of a canary's is the secret follows from the
plan's seed as its coins do: a SHA-256 of the seed, of what is planted and of the canary's place.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from divulge.errors import InputError, require
from divulge.games.canaries import coins

Draw = Callable[[int, np.random.Generator], Sequence[str]]
"""So many independent draws from the distribution that the template names."""

NAME = "name"
_FIELD = re.compile(r"\{(name|secret)(?::([^{}]+))?\}")
_TRIES = 1000


@dataclass(frozen=True)
class Template:
    """How a canary reads: what stands before, between and after its fields."""

    text: str
    recipe: str
    """The word that names the draw."""

    @classmethod
    def parse(cls, text: str) -> Template:
        """InputError that says what a template must hold."""
        drawn = [m[2] for m in _FIELD.finditer(text) if m[1] == "secret" and m[2]]
        example = "'the code of {name} is {secret:digits:6}'"
        require(
            len(drawn) == 1,
            f"A template names the draw of its secret once, as in {example}. Found {text!r}.",
        )
        named = any(m[1] == NAME and m[2] for m in _FIELD.finditer(text))
        require(
            not named and not re.search("[{}]", _FIELD.sub("", text)),
            f"A template has the fields {{name}} and {{secret:...}} only, as in {example}.",
        )
        return cls(text, drawn[0])

    @property
    def named(self) -> bool:
        """Whether canaries have names."""
        return any(m[1] == NAME for m in _FIELD.finditer(self.text))

    def filled(self, secret: str, name: str = "") -> str:
        """A canary with this secret."""
        return _FIELD.sub(lambda m: name if m[1] == NAME else secret, self.text)


@dataclass(frozen=True)
class Planted:
    """Canaries to train on, and the secrets that only the plan may know."""

    texts: tuple[str, ...] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    candidates: tuple[tuple[str, ...], ...] = field(repr=False)
    """Of each canary, in alphabetical order, so that their order does not tell the secret."""
    seed: int = field(repr=False)

    def __len__(self) -> int:
        return len(self.texts)


def plant(
    template: str, names: Sequence[str] | int, draw: Draw, *, candidates: int, seed: int | None
) -> Planted:
    """Canaries by a template, for these names or for so many; equal input plants the same.

    ``draw`` draws by ``Template.parse(template).recipe``. The seed is a secret of the plan; with
    None the operating system draws it.
    """
    form = Template.parse(template)
    called = [""] * names if isinstance(names, int) else list(names)
    require(len(called) > 0, "Plant at least one canary.")
    require(candidates >= 2, f"A line-up needs at least 2 candidates. Found {candidates!r}.")
    if isinstance(names, int):
        require(
            not form.named, "The template has the field {name}: give the names of the canaries."
        )
    else:
        require(form.named, "There are names, but the template has no field {name}.")
        require(len(set(called)) == len(called), "Every canary needs a name of its own.")
    used = coins.secret_seed() if seed is None else seed
    what = json.dumps([template, called, candidates])
    key = coins.mix(used, hashlib.sha256(what.encode()).hexdigest())
    rng = np.random.default_rng(int.from_bytes(key, "big"))
    values = _distinct(draw, len(called) * candidates, rng, form.recipe)
    sets = [
        tuple(sorted(values[k * candidates : (k + 1) * candidates])) for k in range(len(called))
    ]
    secrets = tuple(own[_place(key, k, candidates)] for k, own in enumerate(sets))
    texts = tuple(form.filled(s, name) for s, name in zip(secrets, called, strict=True))
    for k, (text, secret) in enumerate(zip(texts, secrets, strict=True)):
        slots = sum(m[1] == "secret" for m in _FIELD.finditer(template))
        require(
            text.count(secret) == slots,
            f"The secret of canary {k} stands in the rest of its text too: lengthen the secret.",
        )
    return Planted(texts, secrets, tuple(sets), used)


def versions(planted: Planted, template: str, names: Sequence[str] | int) -> list[list[str]]:
    """Every canary with each of its candidates, in their order: the texts to be scored."""
    form = Template.parse(template)
    called = [""] * names if isinstance(names, int) else list(names)
    pairs = zip(planted.candidates, called, strict=True)
    return [[form.filled(c, name) for c in own] for own, name in pairs]


def _place(key: bytes, canary: int, candidates: int) -> int:
    """Which candidate is the secret: uniform to within 2**-192, as 256 bits are reduced."""
    digest = hashlib.sha256(key + b"secret" + canary.to_bytes(8, "big")).digest()
    return int.from_bytes(digest, "big") % candidates


def _distinct(draw: Draw, count: int, rng: np.random.Generator, recipe: str) -> list[str]:
    found: dict[str, None] = {}
    for _ in range(_TRIES):
        found |= dict.fromkeys(draw(count - len(found), rng))
        if len(found) >= count:
            return list(found)
    raise InputError(f"{recipe} has too few values: the line-ups need {count} different ones.")
