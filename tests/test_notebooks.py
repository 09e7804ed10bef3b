"""The notebooks of the site: committed as they ran, and they run again to the same words."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import re
from base64 import b64decode
from contextlib import redirect_stdout
from html import unescape

import pages
import pytest

pytest.importorskip("altair", reason="altair is in the extra report")
pytest.importorskip("pandas", reason="pandas is in the extra dev")
SPEC = importlib.util.spec_from_file_location("books", pages.ROOT / "docs/scripts/notebooks.py")
books = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(books)


def code(book):
    return [c for c in json.loads(book.read_text())["cells"] if c["cell_type"] == "code"]


def printed(cell):
    return "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")


def words(markup):
    """The words that a browser would show, whatever the table around them."""
    bare = re.sub(r"<style.*?</style>|<[^>]*>", " ", markup, flags=re.DOTALL)
    return unescape(bare).split()


def play(source, space, name):
    """What a cell prints, and the value of its last line."""
    *before, last = ast.parse(source).body
    with redirect_stdout(io.StringIO()) as said:
        if not isinstance(last, ast.Expr):
            exec(compile(source, name, "exec"), space)
            return said.getvalue(), None
        exec(compile(ast.Module(before, []), name, "exec"), space)
        value = eval(compile(ast.Expression(last.value), name, "eval"), space)
    return said.getvalue(), value


@pytest.fixture
def _own_renderer():
    import altair

    with altair.renderers.enable("default"):
        yield


@pytest.mark.parametrize("book", pages.NOTEBOOKS, ids=lambda p: p.stem)
def test_they_are_committed_as_they_ran(book):
    cells = code(book)
    assert [c["execution_count"] for c in cells] == list(range(1, len(cells) + 1))
    kinds = {o["output_type"] for c in cells for o in c["outputs"]}
    assert kinds <= {"stream", "execute_result"}
    assert not any(o.get("name") == "stderr" for c in cells for o in c["outputs"])
    assert book.stat().st_size < 100_000
    assert "site-packages" not in book.read_text()


@pytest.mark.usefixtures("_own_renderer")
@pytest.mark.parametrize(
    "book",
    [pytest.param(p, marks=[pytest.mark.slow] * (p.stem == "forest")) for p in pages.NOTEBOOKS],
    ids=lambda p: p.stem,
)
def test_they_say_the_same_again(book, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    for cell in code(book):
        said, value = play("".join(cell["source"]), space, book.name)
        assert said == printed(cell)
        shown = [o["data"] for o in cell["outputs"] if o["output_type"] == "execute_result"]
        for data in shown:
            if "text/html" in data:
                assert words(value._repr_html_()) == words("".join(data["text/html"]))
            else:
                assert value.to_dict()["description"]
                assert b64decode("".join(data["image/png"])).startswith(b"\x89PNG")
                assert cell["metadata"]["alt"]


@pytest.mark.slow
def test_a_kernel_prints_what_stands_there(tmp_path):
    pytest.importorskip("nbclient", reason="nbclient is in the extra notebooks")
    book = next(b for b in pages.NOTEBOOKS if b.stem == "result")
    again = books.executed(book, tmp_path)
    cells = [c for c in again.cells if c.cell_type == "code"]
    assert [printed(c) for c in cells] == [printed(c) for c in code(book)]
    assert (tmp_path / "report.html").exists()
