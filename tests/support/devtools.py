"""A headless Chromium over its DevTools pipe: nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find() -> str | None:
    """The browser's path; ``DIVULGE_CHROMIUM`` goes before the usual names."""
    named = os.environ.get("DIVULGE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser, one page at a time; collects every event the page causes."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium.", ignore_cleanup_errors=True)
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        redirect = f'exec "$@" 3<&{read_commands} 4>&{write_answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", path, *FLAGS, f"--user-data-dir={self._profile.name}"],
            pass_fds=(read_commands, write_answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def call(self, method: str, timeout: float = 60.0, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that come meanwhile are kept."""
        number = self._send(method, params, self._session)
        end = time.monotonic() + timeout
        while True:
            answer = self._receive(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _send(self, method: str, params: dict[str, Any], session: str | None) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        return self._number

    def _receive(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("The browser does not answer.")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise RuntimeError("The browser has ended.")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":
                answer = {"accept": True}
                self._send("Page.handleJavaScriptDialog", answer, message["sessionId"])
        return message

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a file in a fresh page and wait until its charts say that they are drawn."""
        if self._session is not None:
            self._session = None
            self.call("Target.closeTarget", targetId=self._target)
        self._target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        # Violations of the page's policy are also kept by the page itself.
        listen = (
            "window.violations = []; document.addEventListener('securitypolicyviolation', "
            "e => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));"
        )
        self.call("Page.addScriptToEvaluateOnNewDocument", source=listen)
        self.call("Page.navigate", url=path.as_uri())
        end = time.monotonic() + 60
        while self.evaluate("document.documentElement?.dataset.ready || ''") != "yes":
            if time.monotonic() > end:
                raise TimeoutError("The charts were not drawn.")
            time.sleep(0.1)

    def evaluate(self, expression: str) -> Any:
        """The JSON value of a JavaScript expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def seen(self, *methods: str) -> list[dict[str, Any]]:
        """The parameters of the events of these kinds since the page was opened."""
        return [e["params"] for e in self.events if e["method"] in methods]

    def screenshot(self, path: Path) -> None:
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: Path) -> None:
        """The page as it would be printed on A4."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": False}
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", **paper)["data"]))
