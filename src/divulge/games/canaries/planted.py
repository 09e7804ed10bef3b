"""Planted line-ups: canaries that each hold a secret, drawn by the plan among its candidates.

Every canary is trained on; what nobody but the plan knows is which of its K candidates it holds. A
template says how a canary reads, ``the code of {name} is {secret:digits:6}``: the word after
``secret:`` names the draw, and a further ``{secret}`` repeats the value. In a table one column of
a record is drawn instead.

The candidates are drawn first, without regard to which will be the secret; the secret is then the
one at a place that follows from the plan's seed as its coins do, by a SHA-256 of the seed, of what
is planted and of the canary's number. So each candidate is the secret with probability 1 / K given
all candidates of all canaries, independently over the canaries, whatever the recipe draws.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from divulge.drawn.recipes import Recipe
from divulge.errors import InputError, require

NAME = "name"
_FIELD = re.compile(r"\{(name|secret)(?::([^{}]+))?\}")
_GAP = "\0"
_ROOM = 2
"""Candidates of all canaries differ where there are this many times as many values."""
_TAG = 8


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

    def require_alone(self, name: str, candidates: Sequence[str]) -> None:
        """InputError where a candidate, secret or not, stands in the rest of its text too."""
        rest = self.filled(_GAP, name)
        if any(c in rest for c in candidates):
            raise InputError(
                f"A value that {self.recipe} draws stands in the rest of a canary's text too: "
                "lengthen the secret, or give other names."
            )


@dataclass(frozen=True)
class Planted:
    """The candidates of every canary, and which of them it holds: only the plan may know."""

    candidates: tuple[tuple[str, ...], ...] = field(repr=False)
    """Of each canary, in alphabetical order, so that their order does not tell the secret."""
    places: tuple[int, ...] = field(repr=False)
    """Which candidate is the secret."""

    def __len__(self) -> int:
        return len(self.places)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What every canary holds."""
        return tuple(own[k] for own, k in zip(self.candidates, self.places, strict=True))


def plant(recipe: Recipe, count: int, candidates: int, key: bytes) -> Planted:
    """So many canaries with so many candidates each, or as many as the recipe has values.

    ``key`` is a secret of the plan; equal keys plant the same.
    """
    require(count >= 1, "Plant at least one canary.")
    require(candidates >= 2, f"A line-up needs at least 2 candidates. Found {candidates!r}.")
    if recipe.text.startswith("permutation"):
        raise InputError("An order cannot be planted: there is no list yet. Name another draw.")
    size, rng = recipe.size, generator(key, "candidates")
    each = candidates if size is None else min(candidates, size)
    if size is None or size >= _ROOM * count * each:
        values = recipe.distinct(count * each, rng, ())
        drawn = [values[k * each : (k + 1) * each] for k in range(count)]
    else:
        drawn = [recipe.distinct(each, rng, ()) for _ in range(count)]
    return Planted(tuple(tuple(sorted(own)) for own in drawn), places(key, count, each))


def generator(key: bytes, purpose: str) -> np.random.Generator:
    """Random numbers of a plan: what is seen of them does not tell the key."""
    digest = hashlib.sha256(key + purpose.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def places(key: bytes, count: int, candidates: int) -> tuple[int, ...]:
    """Which candidate is the secret: uniform to within 2**-192, as 256 bits are reduced."""
    digests = (
        hashlib.sha256(key + b"secret" + k.to_bytes(8, "big")).digest() for k in range(count)
    )
    return tuple(int.from_bytes(d, "big") % candidates for d in digests)


def version_ids(key: bytes, count: int, candidates: int) -> tuple[str, ...]:
    """A name for every candidate of every canary, in order, that no other plan gives."""
    tag = hashlib.sha256(key + b"versions").hexdigest()[:_TAG]
    return tuple(f"{tag}-{k}-{j}" for k in range(count) for j in range(candidates))
