"""The picture of a report that README shows: ``python docs/scripts/screenshot.py [REPORT]``.

Without a report it makes that of ``divulge demo``. It needs Chromium, and drives it as the tests of
the report do.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "report.webp"
WIDTH, HEIGHT, LARGEST = 1100, 720, 150_000
sys.path.insert(0, str(ROOT / "tests" / "support"))


def picture(report: Path) -> bytes:
    """The upper part of the page as a browser shows it."""
    import devtools

    path = devtools.find()
    if path is None:
        raise SystemExit("No Chromium found.")
    browser = devtools.Browser(path)
    try:
        browser.open(report, width=WIDTH, height=HEIGHT)
        shot = browser.call("Page.captureScreenshot", format="webp", quality=60)
    finally:
        browser.close()
    return base64.b64decode(shot["data"])


def main(given: list[str]) -> None:
    """Write the picture, which is kept small."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(given[0]).resolve() if given else Path(folder) / "report.html"
        if not given:
            words = [sys.executable, "-m", "divulge", "demo", "--report", str(report)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        data = picture(report)
    if len(data) > LARGEST:
        raise SystemExit(f"The picture has {len(data):,} bytes, more than {LARGEST:,}.")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(data)
    print(f"{PICTURE.relative_to(ROOT)}: {len(data):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
