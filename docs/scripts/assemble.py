"""Lay out the pages of the site: ``python docs/scripts/assemble.py [FOLDER]`` (default build/docs).

Pages are written for GitHub and read there as they stand. The site differs in five things: pages of
the root come along, links to other files of the repository become plain words, the schema is
written out, a list that follows a line of text begins a paragraph of its own, and a notebook, which
is committed with what it printed, becomes a page.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
ASSETS = (".css", ".svg", ".webp", ".png")
SCHEMA = ROOT / "src" / "divulge" / "result" / "result.schema.json"
MARK = "<!-- the schema, written out by docs/scripts/assemble.py -->"
LINK = re.compile(r"(?<!!)\[([^\]\n]*(?:\n[^\]\n]+)?)\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
LIST = re.compile(r"([-*]|\d+\.) ")


def places() -> dict[Path, str]:
    """Every page of the repository that the site has, and where it lies there."""
    pages = {page: page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md"))}
    books = sorted(DOCS.rglob("*.ipynb"))
    pages |= {book: book.relative_to(DOCS).with_suffix(".md").as_posix() for book in books}
    pages |= {ROOT / name: f"project/{name.lower()}" for name in PROJECT}
    pages[ROOT / "README.md"] = "index.md"  # to link to: the site has a first page of its own
    return pages


def linked(text: str, page: Path, place: str, pages: dict[Path, str]) -> str:
    """The text with links as they are on the site."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        aim = (page.parent / target).resolve()
        if aim in pages:
            there = os.path.relpath(pages[aim], Path(place).parent)
            return f"[{words}]({there}{anchor if pages[aim] != 'index.md' else ''})"
        if aim.suffix in ASSETS and aim.is_relative_to(DOCS):
            return found[0]
        return words if words.startswith("`") else f"`{words}`"

    parts = FENCE.split(text)
    return "".join(part if k % 2 else LINK.sub(link, part) for k, part in enumerate(parts))


def spaced(text: str) -> str:
    """A blank line before a list that follows a line of text, as GitHub reads it."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if (
            not fenced
            and LIST.match(line)
            and before.strip()
            and not LIST.match(before)
            and not before.startswith((" ", "#", "|"))
        ):
            lines.append("")
        fenced ^= line.lstrip().startswith("```")
        lines.append(line)
    return "\n".join(lines)


def notebook(text: str) -> str:
    """A notebook as a page: words, code, and what the code printed or showed."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [shown(output, cell["metadata"]) for output in cell.get("outputs", ())]
    return "\n\n".join(parts) + "\n"


def shown(output: dict[str, Any], metadata: dict[str, Any]) -> str:
    """One output of a cell: a drawing before HTML, HTML before plain text."""
    data = {form: "".join(part) for form, part in output.get("data", {}).items()}
    if "image/png" in data:
        told, drawn = html.escape(metadata["alt"]), "".join(data["image/png"].split())
        return f'<p><img alt="{told}" src="data:image/png;base64,{drawn}" width="480"></p>'
    if "text/html" in data:
        own = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        lines = re.sub(r"<table[^>]*>", "<table>", own).splitlines()  # as other tables here
        return "\n".join(['<div class="output">', *filter(str.strip, lines), "</div>"])
    plain = data.get("text/plain") or "".join(output["text"])
    return f'<pre class="output">{html.escape(plain.rstrip())}</pre>'


def kind(node: dict[str, Any]) -> str:
    """The type of a property in a few words, with links to records."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in node:
        return " or ".join(kind(part) for part in node["anyOf"])
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        return ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    if node.get("type") == "array":
        return f"list of {kind(node.get('items', {}))}"
    if node.get("type") == "object":
        inner = node.get("additionalProperties")
        return f"object of {kind(inner)}" if isinstance(inner, dict) and inner else "object"
    said = node.get("type", "anything")
    said = " or ".join(said) if isinstance(said, list) else str(said)
    limits = [f"{sign} {node[key]:g}" for key, sign in LIMITS if key in node]
    return f"{said}, {', '.join(limits)}" if limits else said


LIMITS = (("minimum", "at least"), ("maximum", "at most"))


def record(title: str, node: dict[str, Any], level: str) -> Iterator[str]:
    """One record: a heading, its description, a row for every field."""
    yield from (f"{level} {title}", "")
    if node.get("description"):
        yield from (str(node["description"]), "")
    wanted = set(node.get("required", ()))
    if node.get("properties"):
        yield from ("| field | type | |", "|---|---|---|")
        for name, inner in node["properties"].items():
            words = str(inner.get("description", "")).replace("|", "\\|").replace("\n", " ")
            need = "always there" if name in wanted else ""
            yield f"| `{name}` | {kind(inner)} | {'. '.join(w for w in (need, words) if w)} |"
        yield ""


def schema() -> str:
    """The JSON Schema of a result as tables."""
    tree = json.loads(SCHEMA.read_text())
    lines = [*record("The result", tree, "##")]
    for name, node in sorted(tree["$defs"].items()):
        lines += record(name, node, "###")
    return "\n".join(lines)


def assemble(folder: Path) -> None:
    """Write every page and picture of the site into the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = places()
    for page, place in pages.items():
        if page.name == "README.md" and page.parent == ROOT:
            continue
        text = page.read_text()
        text = notebook(text) if page.suffix == ".ipynb" else text
        text = spaced(linked(text, page, place, pages))
        aim = folder / place
        aim.parent.mkdir(parents=True, exist_ok=True)
        aim.write_text(text.replace(MARK, schema()) if MARK in text else text)
    for asset in DOCS.rglob("*"):
        if asset.suffix in ASSETS:
            aim = folder / asset.relative_to(DOCS)
            aim.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(asset, aim)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs")
