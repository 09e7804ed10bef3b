"""The coin flips of a canary plan: a secret seed, the data's digest, and SHA-256.

Whoever knows the seed knows the truths of the game, so the seed comes from the operating system
unless it is given. The digest of the data's content goes in as well, whatever their order and
format: two data sets never share their coins, even under one seed. A coin is a SHA-256 of both and
of its place, so that it can be checked in any language and says nothing about the next one.
"""

from __future__ import annotations

import hashlib
import secrets

from divulge.errors import require

RULE = "sha256 of seed, data and place"
"""What a plan says of its coins; older plans say nothing."""
SEED_BITS, COIN_BITS = 63, 64
"""A seed fits a signed 64-bit number, for whoever reads the plan."""


def secret_seed() -> int:
    """A seed that nobody can guess."""
    return secrets.randbits(SEED_BITS)


def mix(seed: int, data_sha256: str) -> bytes:
    """The key of everything that a plan draws: a SHA-256 of the seed and of the data's digest."""
    require(seed >= 0, f"The seed must be at least 0. Found {seed}.")
    return hashlib.sha256(f"divulge canary plan\n{seed}\n{data_sha256}".encode()).digest()


def flip(key: bytes, count: int, probability: float) -> tuple[bool, ...]:
    """``count`` independent coins, each true with this probability (to within 2**-64)."""
    limit = probability * 2.0**COIN_BITS
    digests = (hashlib.sha256(key + k.to_bytes(8, "big")).digest() for k in range(count))
    return tuple(int.from_bytes(d[: COIN_BITS // 8], "big") < limit for d in digests)
