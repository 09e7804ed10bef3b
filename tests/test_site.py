"""The site: what is laid out for it, and, where its generator is installed, that it builds."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("assemble", ROOT / "docs/scripts/assemble.py")
assemble = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(assemble)


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "build" / "docs"
    assemble.assemble(folder)
    return folder


def test_no_link_leaves_the_site(laid_out):
    for page in laid_out.rglob("*.md"):
        text = re.sub(r"`[^`]*`", "", assemble.FENCE.sub("", page.read_text()))
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target:
                aim = (page.parent / target).resolve()
                assert aim.is_relative_to(laid_out)
                assert aim.exists(), f"{page.name}: {target}"


def test_the_schema_is_written_out_whole(laid_out):
    page = (laid_out / "schema.md").read_text()
    tree = json.loads(assemble.SCHEMA.read_text())
    assert assemble.MARK not in page
    for name, node in tree["$defs"].items():
        assert f"### {name}\n" in page
        for field in node.get("properties", ()):
            assert f"| `{field}` |" in page, f"{name}.{field}"


def test_lists_and_links_are_those_of_the_site():
    assert assemble.spaced("as follows:\n- a\n- b") == "as follows:\n\n- a\n- b"
    assert assemble.spaced("```\nx\n- a\n```") == "```\nx\n- a\n```"
    pages = assemble.places()
    page = assemble.DOCS / "results.md"
    given = "[a](../ARCHITECTURE.md#x) [`b`](../pyproject.toml) [c](shift.md) [d](https://d.org)"
    assert assemble.linked(given, page, "results.md", pages) == (
        "[a](project/architecture.md#x) `b` [c](shift.md) [d](https://d.org)"
    )
    assert assemble.linked("```\n[b](../x.toml)\n```", page, "results.md", pages).count("](") == 1


@pytest.mark.slow
def test_the_site_builds_without_a_warning(laid_out):
    pytest.importorskip("zensical")
    root = laid_out.parents[1]
    (root / "zensical.toml").write_text((ROOT / "zensical.toml").read_text())
    (root / "src").symlink_to(ROOT / "src")
    words = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, env={**os.environ})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "divulge.membership" in (root / "site/reference/index.html").read_text()
