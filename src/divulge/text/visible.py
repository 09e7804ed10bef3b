"""Text from outside as a person may see it: nothing invisible, nothing that steers a terminal.

Names, values and the words of other programs may hold escape sequences, carriage returns and
overrides of the writing direction. They are spelled out where text leaves the program.
"""

from __future__ import annotations

import re
import unicodedata

# Marks and overrides of writing direction; right-to-left letters need none of them.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029" + "".join(_TURNS) + "]")


def visible(text: str) -> str:
    """The text with what would be invisible, or would turn its direction, spelled out.

    White space (tab, line feed, carriage return) stays: it is for the caller to allow.
    """
    return "".join(f"⟨U+{ord(c):04X}⟩" if c in _TURNS or _unseen(c) else c for c in text)


def one_line(text: str) -> str:
    """The same with all white space as single spaces."""
    return visible(" ".join(text.split()))


def json_text(text: str) -> str:
    """JSON in which such characters are escapes; json.dumps leaves DEL, C1 and direction marks."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _unseen(character: str) -> bool:
    """Control characters but for white space, line and paragraph separators, lone surrogates."""
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cs", "Zl", "Zp") and character not in "\t\n\r"
