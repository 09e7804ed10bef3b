"""What README and docs say exists: links, anchors, commands, options, scripts, targets."""

from __future__ import annotations

import json
import re
import tomllib

import pages
import pytest
import shell

import divulge

LANGUAGES = {"", "console", "json", "py", "python", "sh", "text", "toml"}


def name(page):
    return str(page.relative_to(pages.ROOT))


@pytest.mark.parametrize("page", pages.ALL, ids=name)
def test_links_lead_somewhere(page):
    for target, anchor in pages.links(page):
        aim = (page.parent / target).resolve() if target else page
        assert aim.exists(), target
        if anchor:
            assert anchor in pages.anchors(aim), f"{target}#{anchor}"


def test_every_block_is_of_a_kind_that_is_checked():
    odd = [b.name for b in pages.blocks() if b.language not in LANGUAGES]
    assert odd == []


@pytest.mark.parametrize("block", pages.blocks("", "sh"), ids=lambda b: b.name)
def test_shell_blocks_are_understood(block):
    for line in shell.lines(block.text):
        shell.check(line)


@pytest.mark.parametrize("block", pages.blocks("py"), ids=lambda b: b.name)
def test_python_that_is_not_run_here_is_python(block):
    compile(block.text, block.name, "exec")


@pytest.mark.parametrize("block", pages.blocks("json", "toml"), ids=lambda b: b.name)
def test_data_blocks_are_data(block):
    (json if block.language == "json" else tomllib).loads(block.text)


@pytest.mark.parametrize("page", pages.PAGES, ids=name)
def test_commands_in_sentences_are_understood(page):
    for words in sorted(pages.quoted(page)):
        if re.match(r"(divulge [a-z-]|python \S+\.py|make [a-z])", words):
            shell.check(words, whole=False)
        elif re.match(r"--\w", words):
            option = re.match(r"--[\w-]+", words)[0]
            assert option in shell.options(), words


@pytest.mark.parametrize("block", pages.blocks("text"), ids=lambda b: b.name)
def test_options_in_plain_blocks_exist(block):
    for option in re.findall(r"^(--[\w-]+)", block.text, re.MULTILINE):
        assert option in shell.options(), option


def entries(nav):
    """The pages of the navigation."""
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        nav = list(nav.values())
    return [page for part in nav for page in entries(part)]


def test_the_navigation_has_every_page_once():
    nav = tomllib.loads((pages.ROOT / "zensical.toml").read_text())["project"]["nav"]
    listed = entries(nav)
    here = {str(p.relative_to(pages.ROOT / "docs").with_suffix(".md")) for p in pages.DOCS}
    assert sorted(e for e in listed if not e.startswith("project/")) == sorted(here)
    assert all(
        (pages.ROOT / f"{e.removeprefix('project/').removesuffix('.md').upper()}.md").exists()
        for e in listed
        if e.startswith("project/")
    )


def test_the_reference_has_every_public_name():
    text = (pages.ROOT / "docs/reference.md").read_text()
    for public in set(divulge.__all__) - {"__version__"}:
        assert f"::: divulge.{public}\n" in text, public


def test_pictures_are_small_and_shown():
    shown = {
        (page.parent / target).resolve() for page in pages.PAGES for target, _ in pages.links(page)
    }
    for picture in (pages.ROOT / "docs/images").iterdir():
        assert picture.stat().st_size < 150_000, picture.name
        assert picture in shown, picture.name


@pytest.mark.parametrize("page", ["understand.md", "pitfalls.md"])
def test_numbers_stand_in_the_evidence(page):
    """With two digits or more after the point: cut off, never rounded up, from what was printed."""
    evidence = "".join(p.read_text() for p in (pages.ROOT / "docs/evidence").glob("*.md"))
    for number in re.findall(r"\d+\.\d{2,}(?![\d.])", (pages.ROOT / "docs" / page).read_text()):
        assert re.search(rf"(?<![\d.]){re.escape(number)}", evidence), number
