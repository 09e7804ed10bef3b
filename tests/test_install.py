"""`make demo` and `make test` install by uv from where pip would, and by pip where uv cannot."""

from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "install.py"
SETTINGS = """:env:.find-links='/wheels'
global.cert='/certificates'
global.extra-index-url='https://a.example/simple https://b.example/simple'
global.find-links='/other wheels'
install.index-url='https://mirror.example/simple'
"""


class Runs:
    """Commands in place of their running: what was asked for, and whether uv can."""

    def __init__(self, uv: int) -> None:
        self.uv, self.words = uv, []

    def __call__(self, words, **_):
        self.words.append(words[2:])
        code = self.uv if words[2] == "uv" else 0
        return subprocess.CompletedProcess(words, code, stdout=SETTINGS)


def test_pip_s_settings_are_handed_on(monkeypatch):
    spec = importlib.util.spec_from_file_location("install", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(subprocess, "run", Runs(0))
    words = module.where()
    assert words[:2] == ["--index-strategy", "unsafe-best-match"]
    pairs = set(zip(words[2::2], words[3::2], strict=True))
    assert pairs == {
        ("--find-links", "/wheels"),
        ("--index", "https://a.example/simple"),
        ("--index", "https://b.example/simple"),
        ("--default-index", "https://mirror.example/simple"),
    }


@pytest.mark.parametrize("uv", [0, 1])
def test_pip_goes_on_where_uv_ends(monkeypatch, capsys, uv):
    runs = Runs(uv)
    monkeypatch.setattr(subprocess, "run", runs)
    monkeypatch.setattr(sys, "argv", ["install.py", "--editable", "."])
    if uv:
        with pytest.raises(SystemExit) as stop:
            runpy.run_path(str(PATH), run_name="__main__")
        assert stop.value.code == 0
        assert "pip tries" in capsys.readouterr().err
    else:
        runpy.run_path(str(PATH), run_name="__main__")
    assert runs.words[-1][0] == ("pip" if uv else "uv")
    assert runs.words[-1][-2:] == ["--editable", "."]
