"""Which printed tables need not be printed again after a change that they never meet?

A digest calls an output stale if code changes that the command ran (``docs/scripts/ran.py``), also
where only a branch was added that it does not take. If such a branch can be taken only by who names
a word, as an option, an argument or a record with such a field, the outputs of scripts that never
name any of these are kept, under the present digest, if they held by the code of the revision
before. The output then says so.

    python tools/keep_printed.py --before HEAD~1 --unless propensity Pools [--write]
"""

from __future__ import annotations

import argparse
import ast
import datetime
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "scripts"))
CODE = ("src", "experiments", "benchmarks", "docs/scripts", "tests/support")


def held_at(revision: str) -> set[str]:
    """The commands whose present outputs hold by the code of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["git", "archive", revision, *CODE]
        archive = subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        shutil.copytree(ROOT / "docs" / "evidence", Path(folder) / "docs" / "evidence")
        done = subprocess.run(
            [sys.executable, "docs/scripts/reprint.py", "--list"],
            cwd=folder,
            env={"PYTHONPATH": f"{folder}/src"},
            check=False,
            capture_output=True,
            text=True,
        )
    lines = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    return {command for standing, command in lines if standing == "holds"}


def names(tree: ast.AST, word: str) -> bool:
    """Whether code names a word: an identifier, a part of a text, an argument that is not None."""
    texts = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == word:
            found = not (isinstance(node.value, ast.Constant) and node.value.value is None)
        elif isinstance(node, ast.Constant):
            found = word in str(node.value) and id(node) not in texts
        elif isinstance(node, ast.alias):
            found = word in (*node.name.split("."), node.asname)
        else:
            found = word in (getattr(node, "id", None), getattr(node, "attr", None))
        if found:
            return True
    return False


def _docstrings(tree: ast.AST) -> set[int]:
    """Texts that are statements of their own."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def main() -> None:
    """Tell, and with ``--write`` keep."""
    import reprint

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", required=True, help="the revision before the change")
    parser.add_argument("--unless", required=True, nargs="+", help="words that lead to it")
    parser.add_argument("--write", action="store_true", help="keep them")
    chosen = parser.parse_args()
    held = held_at(chosen.before)
    for each in reprint.commands([]):
        if each.standing() != "stale" or each.command not in held:
            continue
        trees = [ast.parse(path.read_text()) for path in reprint.scripts(each.script)]
        said = [w for w in chosen.unless if w in each.command or any(names(t, w) for t in trees)]
        print(f"{f'names {said[0]}' if said else 'kept':18} {each.command}")
        if chosen.write and not said:
            keep(each, chosen.before, chosen.unless)


def keep(each: object, revision: str, words: list[str]) -> None:
    """The same output under the present digest."""
    path, text = each.path, each.kept()  # type: ignore[attr-defined]
    head, _, rest = text.partition("\n\n")
    lines = [
        f"# code: {each.digest()}" if line.startswith("# code: ") else line  # type: ignore[attr-defined]
        for line in head.splitlines()
    ]
    told = f"# kept {datetime.date.today()} from {revision}: never names {', '.join(words)}"
    path.write_text("\n".join([*lines, told]) + "\n\n" + rest)


if __name__ == "__main__":
    main()
