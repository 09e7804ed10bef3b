"""Texts as R's database holds them."""

from __future__ import annotations

import zlib

SENTENCE = "the sea was calm and a small ship went slowly to the north with no wind at all"


def packed(lines: list[str]) -> bytes:
    """One vector of strings as R's database holds it."""
    data = b"X\n\0\0\0\3\0\4\2\1\0\3\5\0\0\0\0\5UTF-8" + b"\0\0\0\x10" + len(lines).to_bytes(4)
    for line in lines:
        data += b"\0\4\0\t" + len(line).to_bytes(4) + line.encode()
    return len(data).to_bytes(4) + zlib.compress(data)
