"""Run the notebooks of docs/notebooks and keep what they print in them: ``make notebooks``.

    python docs/scripts/notebooks.py [NAME ...]

They are committed as they ran, so that GitHub and the site show them without running anything.
What differs from run to run (the bar that shows progress, times, identifiers) is left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def executed(path: Path, folder: Path) -> Any:
    """The notebook, run from its first cell in a fresh kernel whose files lie in the folder."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    # A kernel of this Python, whatever is installed for Jupyter elsewhere.
    os.environ |= {"DIVULGE_PROGRESS": "0", "OMP_NUM_THREADS": "1"}
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(book, timeout=600, kernel_name="python3", resources=where)
    client.coalesce_streams = True  # however often it was flushed
    client.execute()
    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(book.cells):
        cell.id = f"{path.stem}-{number}"
        cell.metadata = {key: cell.metadata[key] for key in ("alt",) if key in cell.metadata}
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("text/plain", None) if richer(output) else None
            output.pop("metadata", None) if output.output_type == "stream" else None
    return book


def richer(output: Any) -> bool:
    """Whether there is more to show than plain text, which may name a place in memory."""
    return any(form != "text/plain" for form in output.get("data", {}))


def main(names: list[str]) -> None:
    """Run those named, or all."""
    import tempfile

    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            with tempfile.TemporaryDirectory() as folder:
                book = executed(path, Path(folder))
            path.write_text(nbformat.writes(book) + "\n")
            print(f"{path.name}: {len(book.cells)} cells")


if __name__ == "__main__":
    main(sys.argv[1:])
