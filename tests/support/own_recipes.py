"""Draws of one's own, as a user would write them."""

from __future__ import annotations


def plates(rng, count):
    """Two letters and four digits, not all equally likely."""
    return [
        f"{'AB'[int(rng.random() < 0.3)]}X {int(n):04d}" for n in rng.integers(0, 10_000, count)
    ]


def short(rng, count):
    return ["1"]


def few(rng, count):
    return [str(n) for n in rng.integers(0, 9, count)]


def numbers(rng, count):
    return list(range(count))


def broken(rng, count):
    raise RuntimeError("no entropy left")


something = 3


def lengths(rows):
    """A model of texts: the number of different characters."""
    return [float(len(set(text))) for text in rows["text"].to_pylist()]
