"""The pages of the repository: their fenced blocks, their words in quotes, headings and links.

Notebooks are pages too, of their words: their code is looked at by ``test_notebooks.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))
DOCS = [*sorted((ROOT / "docs").rglob("*.md")), *NOTEBOOKS]
PAGES = [ROOT / "README.md", *DOCS]
ALL = [*sorted(ROOT.glob("*.md")), *DOCS]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, by page and line."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str, pages: list[Path] = PAGES) -> list[Block]:
    """The blocks in these languages, or all."""
    return [b for page in pages for b in _blocks(page) if not languages or b.language in languages]


def read(page: Path) -> str:
    """The text of a page; of a notebook, what stands between its code."""
    text = page.read_text()
    if page.suffix != ".ipynb":
        return text
    words = [c for c in json.loads(text)["cells"] if c["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in words)


def _blocks(page: Path) -> Iterator[Block]:
    text = read(page)
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, found[2], found[3])


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return FENCE.sub("", read(page))


def quoted(page: Path) -> set[str]:
    """What stands in backticks, on one line each."""
    return {" ".join(q.split()) for q in re.findall(r"`([^`]+)`", prose(page))}


def anchors(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    seen: dict[str, int] = {}
    out = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")
        again = seen.get(slug, 0)
        seen[slug] = again + 1
        out.add(f"{slug}-{again}" if again else slug)
    return out


def links(page: Path) -> list[tuple[str, str]]:
    """Target and anchor of every link and picture that stays in the repository."""
    text = re.sub(r"`[^`]+`", "`", prose(page))
    found = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text)
    return [(t, a) for t, a in found if "://" not in t and not t.startswith("mailto:")]
