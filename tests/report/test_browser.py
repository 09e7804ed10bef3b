"""The report as a browser shows it, from disk, in headless Chromium."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from devtools import Browser, find
from sample import HOSTILE, hostile, pinned, sample

from divulge.report import html, wording
from divulge.report.presentation import presentation
from divulge.result import Result, floor_to

CHROMIUM = find()
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium found: install Debian's chromium or set DIVULGE_CHROMIUM"
)


RESULTS: dict[str, Result] = {
    "leak": sample("membership"),
    "attribute": sample("attribute"),
    "synthetic": sample("synthetic"),
    "hostile": hostile("membership"),
    "values": hostile("attribute"),
    "retraining": sample("retraining"),
    "leakage": sample("leakage"),
    "undecided": pinned("membership-far"),
    "ladder": sample("membership", "ladder"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    running = Browser(CHROMIUM)
    yield running
    running.close()


class Pages(dict[str, Path]):
    """Reports by name, each drawn when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __missing__(self, name: str) -> Path:
        self[name] = self.folder / f"{name}.html"
        html.write(RESULTS[name], self[name])
        return self[name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("reports"))


def complaints(browser: Browser) -> list[str]:
    """Exceptions, console warnings and errors, log entries, dialogs, violations, requests."""
    own = browser.evaluate("location.href")
    found = [str(e) for e in browser.seen("Runtime.exceptionThrown", "Log.entryAdded")]
    found += [str(e) for e in browser.seen("Page.javascriptDialogOpening")]
    found += [str(e["args"]) for e in browser.seen("Runtime.consoleAPICalled")]
    requests = browser.seen("Network.requestWillBeSent", "Network.webSocketCreated")
    found += [u for e in requests if (u := e.get("request", e)["url"]) != own]
    found += browser.evaluate("window.violations")
    return found + browser.evaluate("performance.getEntriesByType('resource').map(e => e.name)")


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        ("leak", 1280, False),
        pytest.param("leak", 390, True, marks=pytest.mark.slow),
        pytest.param("attribute", 1200, False, marks=pytest.mark.slow),
        pytest.param("attribute", 420, True, marks=pytest.mark.slow),
        pytest.param("hostile", 1280, True, marks=pytest.mark.slow),
        ("hostile", 390, False),
        pytest.param("values", 390, True, marks=pytest.mark.slow),
        ("synthetic", 400, False),
        ("leakage", 390, True),
        pytest.param("retraining", 1280, False, marks=pytest.mark.slow),
        ("retraining", 390, True),
        ("undecided", 390, False),
        pytest.param("ladder", 390, True, marks=pytest.mark.slow),
    ],
)
def test_loads_draws_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    browser.open(pages[name], width=width, dark=dark)
    assert complaints(browser) == []
    drawn = browser.evaluate(
        """[...document.querySelectorAll('.chart')].map(place => {
            const svg = place.querySelector('svg'), box = svg.getBoundingClientRect();
            return [place.id, box.width, box.height, box.right,
                    svg.querySelectorAll('.role-mark path, .role-mark line').length];
        })"""
    )
    held = RESULTS[name].diagnostics
    expected = [
        f"chart-{panel.name}"
        for section in presentation(RESULTS[name].game).sections
        for panel in section.panels
        if panel.draw(held) is not None
    ]
    assert [chart[0] for chart in drawn] == expected
    for _, wide, high, right, marks in drawn:
        assert wide > 250
        assert high > 100
        assert right <= width
        assert marks > 0
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_the_watch_would_notice(browser: Browser, pages: dict[str, Path]) -> None:
    """What the other tests count on: the policy stops a request and a script, and both are seen."""
    browser.open(pages["leak"])
    browser.evaluate("fetch('http://127.0.0.1:9/x').catch(() => 0)")
    browser.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'alert(1)';"
        " document.body.append(s); })()"
    )
    time.sleep(0.2)
    found = browser.evaluate("window.violations")
    assert any(v.startswith("connect-src") for v in found)
    assert any(v.startswith("script-src") for v in found)
    assert complaints(browser)
    assert not browser.seen("Page.javascriptDialogOpening")


def test_numbers_equal_the_json(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["leak"])
    data = json.loads(RESULTS["leak"].dumps())
    closed = browser.evaluate(
        """[...document.querySelectorAll('details')].map(more => {
            const closed = !more.open; more.open = true; return closed })"""
    )
    assert all(closed)  # other bounds than the headline ones are shown on request
    shown = browser.evaluate(
        """[...document.querySelectorAll('table.cards tbody tr')]
            .filter(row => row.querySelector('[data-label="at least"]')).map(row =>
            [row.querySelector('bdi'), ...row.querySelectorAll('[data-label]')]
                .map(cell => cell.innerText))"""
    )
    assert shown == [
        [
            b["parameter"],
            "none" if b["delta"] is None else f"{b['delta']:g}",
            f"{floor_to(b['value'], 3):.3f}",
            f"{100 * b['confidence']:g}%",
            b["method"],
            b["correction"],
            b["standing"],
            b["theorem"],
        ]
        for b in sorted(
            data["bounds"], key=lambda b: (not b["headline"], b["parameter"] != "epsilon")
        )
    ]
    headline = browser.evaluate("document.querySelector('.headline .value').innerText")
    stated = [b for b in data["bounds"] if b["headline"] and b["parameter"] == "epsilon"]
    assert headline == f"≥ {floor_to(stated[0]['value'], 3):.3f}"


def test_hostile_names_are_seen_as_text(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    text = " ".join(browser.evaluate("document.body.innerText").split())
    for name in HOSTILE:
        assert " ".join(wording.visible(name).split()) in text
    axis = browser.evaluate(
        "[...document.querySelectorAll('#chart-balance .role-axis-label text')]"
        ".map(t => t.textContent)"
    )
    assert any(t.startswith("<script>alert(1)") for t in axis)
    assert HOSTILE[6] in axis
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.scripts.length") == 2
    assert complaints(browser) == []


TOLD = {
    "hostile": {
        "balance": [HOSTILE[0], "before", "after"],
        "roc": ["curve", "proven", "true-positive rate"],
        "overlap-before": ["group", "members", "records"],
        "wealth": ["trial", "wealth"],
        "sensitivity": ["gamma", "epsilon"],
        "bootstrap": ["resamples"],
    },
    "values": {
        "calibration": ["model", "predicted", "observed", "records"],
        "log-loss": ["model", "log-loss"],
        "tau": ["bound on", "tau", "at least"],
        "replays-mu": ["draws"],
    },
}
"""Words that hovering over a mark of a chart shows, by page."""


@pytest.mark.parametrize("name", ["hostile", pytest.param("values", marks=pytest.mark.slow)])
def test_hovering_tells(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name])
    for chart, words in TOLD[name].items():
        text = hovered(browser, chart)
        assert all(word in text for word in words), (chart, text)
        assert "undefined" not in text
    assert complaints(browser) == []


def hovered(browser: Browser, chart: str) -> str:
    """What is shown over a mark of a chart, after nothing was shown."""
    shown = "document.querySelector('#vg-tooltip-element.visible')?.innerText || ''"
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    assert until(lambda: not browser.evaluate(shown))
    x, y = browser.evaluate(
        f"""(() => {{
            const place = document.getElementById('chart-{chart}');
            place.scrollIntoView({{block: 'center'}});
            const marks = [...place.querySelectorAll('.mark-symbol.role-mark path')];
            const bars = [...place.querySelectorAll('.mark-rect.role-mark path')];
            const mark = marks.length ? marks[{0 if chart == "balance" else 60} % marks.length]
                : bars[Math.floor(bars.length / {4 if chart.startswith("overlap") else 2})];
            const box = mark.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
    )
    for step in (4, 0):
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
    until(lambda: browser.evaluate(shown))
    return browser.evaluate(shown)


def until(true: Callable[[], Any], seconds: float = 5.0) -> bool:
    """Whether it became true in so many seconds."""
    end = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(found)


def luminance(colour: str) -> float:
    parts = [float(p) / 255 for p in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("medium", [pytest.param("light", marks=pytest.mark.slow), "dark", "print"])
def test_text_stands_out(browser: Browser, pages: dict[str, Path], medium: str) -> None:
    """Contrast of at least 4.5 to 1, in charts too; paper is white whatever the screen was."""
    browser.open(pages["leak"], dark=medium != "light")
    if medium == "print":
        scheme = {"name": "prefers-color-scheme", "value": "dark"}
        browser.call("Emulation.setEmulatedMedia", media="print", features=[scheme])
    paper, *inks = browser.evaluate(
        """(() => {
            const style = (selector) => getComputedStyle(document.querySelector(selector));
            return [style('body').backgroundColor, style('body').color, style('figcaption').color,
                    style('summary').color, style('.role-axis-label text').fill,
                    style('.role-axis-title text').fill, style('.role-legend-label text').fill,
                    style('#chart-wealth .mark-line path').stroke];
        })()"""
    )
    assert (luminance(paper) < 0.1) == (medium == "dark")
    for ink in inks:
        low, high = sorted((luminance(paper), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (paper, ink)


def test_prints(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    browser.open(pages["leak"])
    browser.pdf(tmp_path / "report.pdf")
    data = (tmp_path / "report.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert len(data) > 20_000
    assert browser.evaluate("document.querySelectorAll('details[open]').length") == 0
