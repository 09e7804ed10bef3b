"""What may be shown of an address: never its query string, which often holds a key.

A fragment (``#...``) is left out with it. Addresses are cut wherever text is quoted: in errors, in
the command line that a result repeats, and in what a server says.
"""

from __future__ import annotations

import re

_INSIDE = re.compile(r"(https?:/+[^\s?#]*)[?#]\S*", re.IGNORECASE)
_WHOLE = re.compile(r"(https?:/+[^?#]*)([?#].*)", re.IGNORECASE | re.DOTALL)


def shown(word: str) -> str:
    """One word that may be, or end in, an address: everything from the query on is left out."""
    return _WHOLE.sub(r"\1", word)


def query(word: str) -> str:
    """What ``shown`` leaves out."""
    found = _WHOLE.search(word)
    return found[2] if found else ""


def without_queries(text: str) -> str:
    """A sentence with addresses in it, each without its query; it ends at the next blank."""
    return _INSIDE.sub(r"\1", text)
