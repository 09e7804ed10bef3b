"""A page as a browser would have it, without a browser."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "base", "input", "embed", "hr"}


class Page(HTMLParser):
    """Elements with their attributes and text, as a browser would have them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        texts: list[str] = []
        self.elements.append((tag, dict(attrs), texts))
        if tag not in VOID:
            self._open.append(texts)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for texts in self._open:
            texts.append(data)

    def texts(self, tag: str, **attributes: str) -> list[str]:
        return [
            " ".join("".join(texts).split())
            for name, found, texts in self.elements
            if name == tag and all(found.get(k) == v for k, v in attributes.items())
        ]
