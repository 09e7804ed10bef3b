"""Who sees a bar: a notebook, whoever asks for one, and nobody who says no."""

from __future__ import annotations

import sys
import types

import pytest

import divulge
from divulge.work import watching

DATA = {"member": [True, False] * 30, "loss": [0.0, 1.0] * 30}


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, picture):
        self.shown.append(picture)


@pytest.fixture
def kernel(monkeypatch):
    """A process that looks like the kernel of a notebook, and what its cell shows."""
    shown = []

    def display(picture, display_id=False):
        shown.append(picture)
        return Handle(shown)

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.delenv(watching.VARIABLE, raising=False)
    return shown


def test_a_notebook_shows_the_stages(kernel, capsys):
    divulge.membership(DATA)
    pictures = [picture._repr_html_() for picture in kernel]
    assert any("<progress" in picture for picture in pictures)
    assert "done in" in pictures[-1]
    assert "<" not in repr(kernel[0])
    assert capsys.readouterr().err == ""


def test_it_is_switched_off(kernel, monkeypatch):
    divulge.membership(DATA, progress=False)
    divulge.membership(DATA, progress=lambda stage, done, total: None)
    monkeypatch.setenv(watching.VARIABLE, "0")
    divulge.membership(DATA)
    assert kernel == []


def test_a_script_shows_it_if_asked(capsys, monkeypatch):
    monkeypatch.delenv(watching.VARIABLE, raising=False)
    divulge.membership(DATA)
    assert capsys.readouterr().err == ""
    divulge.membership(DATA, progress=True)
    assert "done" in capsys.readouterr().err
    monkeypatch.setenv(watching.VARIABLE, "1")
    divulge.membership(DATA)
    assert "done" in capsys.readouterr().err


def test_a_call_within_a_call_has_no_bar_of_its_own():
    seen = []

    @watching.watched("outer")
    def outer(*, progress=None):
        seen.append(watching.wanted(None))
        seen.append(watching.wanted(True))

    outer(progress=True)
    assert seen == [False, False]
    assert watching.wanted(True)


def test_names_from_outside_are_escaped(kernel):
    from divulge.report import progress

    with progress.stages() as advance:
        advance("<script>alert(1)</script>", 1, 3)
        advance("a remark & more", 0, 0)
    text = "".join(picture._repr_html_() for picture in kernel)
    assert "<script>" not in text
    assert "a remark &amp; more" in text
