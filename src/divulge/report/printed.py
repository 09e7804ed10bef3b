"""A page as PDF, printed by a Chromium on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from divulge.data.writing import write_bytes
from divulge.errors import InputError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VARIABLE = "DIVULGE_CHROMIUM"
_SECONDS = 120


def browser() -> str:
    """The browser that prints; InputError if there is none."""
    named = os.environ.get(VARIABLE)
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise InputError(
            "A PDF is printed by Chromium, and none was found. Install it, name it in the "
            f"environment variable {VARIABLE}, or write HTML and print that."
        )
    return found


def write(page: str, path: Path) -> None:
    """Print an HTML page, whole or not at all; its charts are drawn first."""
    program = browser()
    with tempfile.TemporaryDirectory(prefix="divulge-pdf.", ignore_cleanup_errors=True) as folder:
        source, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, "utf-8")
        words = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
            "--virtual-time-budget=20000",
            f"--print-to-pdf={printed}",
            source.as_uri(),
        ]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.insert(1, "--no-sandbox")  # Chromium refuses to run as root with one
        try:
            done = subprocess.run(  # noqa: S603  (the user's own browser, our own file)
                words, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{program} did not print the page: {error}") from error
        if done.returncode or not printed.is_file():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            last = said[-1] if said else f"exit code {done.returncode}"
            raise InputError(f"{program} did not print the page: {last}")
        write_bytes(path, printed.read_bytes())
