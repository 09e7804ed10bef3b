"""Tables of docs/evidence that name their command hold what it printed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pages
import pytest

sys.path.insert(0, str(pages.ROOT / "docs/scripts"))
SPEC = importlib.util.spec_from_file_location("reprint", pages.ROOT / "docs/scripts/reprint.py")
assert SPEC is not None
assert SPEC.loader is not None
reprint = importlib.util.module_from_spec(SPEC)
sys.modules["reprint"] = reprint
SPEC.loader.exec_module(reprint)
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?")


def numbers(text: str) -> list[str]:
    """Numbers as they are written, without commas of thousands, stars and signs of a plus."""
    plain = text.replace("*", " ").replace("+-", " ")
    return [n.replace(",", "").lstrip("+") for n in NUMBER.findall(plain)]


def tables(text: str) -> list[tuple[str, str]]:
    """Commands of a page, and the rows of the table (or the block of code) made of their output."""
    found = []
    for mark in reprint.MARK.finditer(text):
        if mark["table"]:
            continue
        lines = text[mark.end() :].lstrip("\n").splitlines()
        if lines and lines[0].startswith("```"):
            end = lines.index("```", 1)
            found.append((mark["command"], "\n".join(lines[1:end])))
            continue
        rows = []
        for line in lines:
            if not line.startswith("|"):
                break
            rows.append(line)
        found.append(
            (mark["command"], "\n".join(rows[2:]))
        )  # without the heading and the line below it
    return found


def strangers(table: str, printed: str) -> list[str]:
    known = set(numbers(printed))
    return [n for n in numbers(table) if n not in known]


PAGES = [p for p in sorted(reprint.EVIDENCE.glob("*.md")) if reprint.MARK.search(p.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_holds_what_was_printed(page):
    for command, table in tables(page.read_text()):
        kept = reprint.Printed(command)
        assert kept.path.is_file(), f"{command} was never printed: python docs/scripts/reprint.py"
        assert table, f"no table follows the mark of {command} in {page.name}"
        assert not strangers(table, kept.path.read_text()), f"{page.name}, {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_pasted_table_is_the_one_that_was_printed(page):
    text = page.read_text()
    assert reprint.pasted(text) == text, "python docs/scripts/reprint.py --paste"


def test_nothing_is_kept_that_no_page_names():
    named = {path for each in reprint.commands([]) for path in (each.path, each.beside)}
    assert set(reprint.KEPT.glob("*")) <= named


def test_every_command_names_a_script_and_stale_ones_are_told(capsys):
    found = reprint.commands([])
    assert found
    assert all(each.script.is_file() for each in found)
    standings = {each.command: each.standing() for each in found}
    with capsys.disabled():
        for standing in ("stale", "never printed"):
            count = [*standings.values()].count(standing)
            if count:
                print(f"\n{count} outputs are {standing}: `make reprint` prints them.")


def test_a_number_that_was_not_printed_is_seen():
    printed = "│ a │ 0.330 │ 1,200 │ -2.5% │"
    assert strangers("| a | **0.330** | 1200 | -2.5% |", printed) == []
    assert strangers("| a | 0.331 |", printed) == ["0.331"]
    assert strangers("| a | 2.5% | 33 |", printed) == ["2.5%", "33"]


def test_a_change_of_what_a_script_reaches_makes_it_stale(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    beside, script = tmp_path / "beside.py", tmp_path / "shown.py"
    beside.write_text("VALUE = 0.25\n")
    script.write_text("import beside\nprint(f'{beside.VALUE:.3f}')\n")
    each = reprint.Printed("python shown.py --never read")
    assert each.standing() == "never printed"
    each.print_again()
    kept = each.path.read_text()
    assert kept.startswith("# python shown.py --never read\n# code: ")
    assert kept.endswith("\n0.250\n")
    assert each.standing() == "holds"
    script.write_text("import beside  # a comment is no code\nprint(f'{beside.VALUE:.3f}')\n")
    assert each.standing() == "holds"
    beside.write_text("VALUE = 0.5\n")
    assert each.standing() == "stale"


COUNTING = """
from divulge.bounds.recursion import mu_lower_bound
from divulge.bounds import counting
print(mu_lower_bound(100, 50, 45))
"""


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A script that was printed: it counts guesses, and has the other bound at hand."""
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    (tmp_path / "shown.py").write_text(COUNTING)
    each = reprint.Printed("python shown.py")
    each.print_again()
    assert each.standing() == "holds"
    return each


def test_what_a_command_ran_is_kept_beside_it(counted):
    symbols = reprint.ran.read(counted.beside.read_text())
    assert ("divulge.bounds.recursion", "mu_lower_bound") in symbols
    assert not any(module == "divulge.bounds.counting" for module, _ in symbols)
    assert reprint.ran.read(reprint.ran.written(symbols)) == symbols


@pytest.mark.parametrize(
    ("changed", "standing"),
    [
        (("divulge.bounds.recursion", "mu_lower_bound"), "stale"),  # it ran
        (("divulge.bounds.compiled", "normal_cdf"), "stale"),  # a compiled loop calls it
        (("divulge.bounds.checks", "check_counts"), "stale"),
        (("divulge.bounds.recursion", "epsilon_lower_bound"), "holds"),  # it did not
        (("divulge.bounds.counting", "binomial_tail"), "holds"),
    ],
)
def test_only_a_change_of_what_it_ran_makes_it_stale(counted, monkeypatch, changed, standing):
    before = reprint.ran.uses._hashed
    before(*changed)  # it is there
    told = lambda *symbol: "another" if symbol == changed else before(*symbol)  # noqa: E731
    monkeypatch.setattr(reprint.ran.uses, "_hashed", told)
    assert counted.standing() == standing


def test_what_is_gone_since_makes_it_stale(counted):
    lines = counted.beside.read_text()
    counted.beside.write_text(lines + "divulge.bounds.gone: away\n")
    assert counted.standing() == "stale"
    counted.beside.write_text(lines.replace("mu_lower_bound", "mu_upper_bound"))
    assert counted.standing() == "stale"


def test_what_only_shows_does_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    (tmp_path / "shown.py").write_text("import divulge\nprint(divulge.membership)\n")
    each = reprint.Printed("python shown.py")
    each.print_again()
    modules = {module for module, _ in reprint.ran.read(each.beside.read_text())}
    assert "divulge" not in modules
    assert not any(module.startswith("divulge.report") for module in modules)
    assert each.standing() == "holds"


def test_code_that_changes_under_a_command_is_not_taken_for_what_ran(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    (tmp_path / "shown.py").write_text("open(__file__, 'a').write('# more\\n')\n")
    each = reprint.Printed("python shown.py")
    with pytest.raises(subprocess.CalledProcessError):
        each.print_again()
    assert each.standing() == "never printed"


def test_a_change_of_a_file_that_a_script_names_makes_it_stale(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/games.jsonl").write_text("1\n")
    (tmp_path / "shown.py").write_text("print(open('data/games.jsonl').read())\n")
    each = reprint.Printed("python shown.py")
    each.print_again()
    assert each.standing() == "holds"
    (tmp_path / "data/games.jsonl").write_text("2\n")
    assert each.standing() == "stale"


def test_a_script_that_starts_the_command_reaches_all_of_it(tmp_path):
    script = tmp_path / "typed.py"
    script.write_text("import sys\nwords = [sys.executable, '-m', 'divulge', 'membership']\n")
    assert ("divulge.games.membership", "membership") in reprint.named(script)
    script.write_text("words = ['-m', 'another']\n")
    assert reprint.named(script) == []


def test_a_command_that_fails_leaves_what_there_was(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    (tmp_path / "fails.py").write_text("print(1)\nraise SystemExit(2)\n")
    each = reprint.Printed("python fails.py")
    with pytest.raises(subprocess.CalledProcessError):
        each.print_again()
    assert not each.path.exists()


DRAWN = """
a title
┏━━━━┳━━━━━━━┓
┃    ┃ in    ┃
┃ n  ┃ all   ┃
┡━━━━╇━━━━━━━┩
│ 10 │ 0.330 │
├────┼───────┤
│  2 │       │
└────┴───────┘
| a | b |
|---|--:|
| 1 | 2.50 |
the end
"""
PAGE = """Words

<!-- printed: python shown.py --rows 2 | table 1 -->
| old | table |
|---|---|
| 1 | 2 |

<!-- printed: python shown.py --rows 2 | table 2 -->

After
"""


def test_tables_are_pasted_as_they_were_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "KEPT", tmp_path)
    assert reprint.pasted(PAGE) == PAGE  # nothing was printed yet
    reprint.Printed("python shown.py --rows 2").path.write_text(DRAWN)
    found = reprint.pasted(PAGE)
    assert "table 1 -->\n| n | in all |\n|---|---|\n| 10 | 0.330 |\n| 2 |  |\n\n<!--" in found
    assert found.endswith("table 2 -->\n| a | b |\n|---|---|\n| 1 | 2.50 |\n\nAfter\n")
    assert "old" not in found
    assert reprint.pasted(found) == found


def test_commands_run_until_the_time_is_up(tmp_path, monkeypatch):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    for name in "ab":
        (tmp_path / f"{name}.py").write_text("print(1)\n")
    both = [reprint.Printed(f"python {name}.py") for name in "ab"]
    reprint.run(both, jobs=2, minutes=0.0)
    assert [each.standing() for each in both] == ["never printed"] * 2
    reprint.run(both, jobs=2, minutes=None)
    assert [each.standing() for each in both] == ["holds"] * 2
    assert both[0].seconds() < 5.0


def test_one_that_fails_does_not_keep_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reprint, "ROOT", tmp_path)
    monkeypatch.setattr(reprint, "KEPT", tmp_path / "printed")
    (tmp_path / "a.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "b.py").write_text("print(1)\n")
    both = [reprint.Printed(f"python {name}.py") for name in "ab"]
    assert not reprint.run(both, jobs=1, minutes=None)
    assert [each.standing() for each in both] == ["never printed", "holds"]
    assert "python a.py: ended with 3" in capsys.readouterr().out
