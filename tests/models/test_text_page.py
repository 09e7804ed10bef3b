"""The examples with language models in docs run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "text.md").read_text()
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/text.md", "exec"), {"__name__": "__main__"})
    members, generated = (float(line.split()[0]) for line in capsys.readouterr().out.splitlines())
    assert members < generated


@pytest.mark.slow
def test_the_line_up_of_hashes_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "lineup.md").read_text()
    (code,) = re.findall(r"```py\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/lineup.md", "exec"), {"__name__": "__main__"})
    assert "LEAK" in capsys.readouterr().out
