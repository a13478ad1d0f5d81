"""Open pages in Chromium and record errors, external requests and accessibility violations."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, sync_playwright

from tasks.errors import BadInput

ELSEWHERE = "elsewhere.example"
"""A host name that Chromium resolves to this machine, like a name whose owner points it here."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1",
]
MISSING_ICONS = ("/favicon", "/ico/")
"""Paths of icons that Prefect 3.8's pages request but its server lacks."""


@dataclass
class Complaints:
    """Console errors, uncaught errors and requests to anywhere but `home`, as lines."""

    home: str
    lines: list[str] = field(default_factory=list)

    def hear(self, page: Page) -> None:
        """Start recording the events of a page."""
        page.on("console", self._hear_console)
        page.on("pageerror", lambda error: self.lines.append(f"uncaught: {error}"))
        page.on("request", lambda request: self._hear_request(request.url))
        page.on("websocket", lambda socket: self._hear_request(socket.url.replace("ws", "http", 1)))

    def hear_dialog(self, dialog: Dialog) -> None:
        self.lines.append(dialog.message)
        dialog.dismiss()

    def _hear_console(self, message: ConsoleMessage) -> None:
        where = message.location.get("url", "")
        known = where.startswith("http") and urlsplit(where).path.startswith(MISSING_ICONS)
        if message.type == "error" and not (known and "404" in message.text):
            self.lines.append(f"console error: {message.text} ({where})")

    def _hear_request(self, url: str) -> None:
        if not url.startswith((self.home, "data:", "blob:")):
            self.lines.append(f"asks outside: {url}")


def find_violations(page: Page) -> list[str]:
    """Return the axe rules that a page violates in its current state, each with its first element."""
    # axe would read styles by script, which browsers forbid for local files.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    return [
        f"{result['id']}: {result['help']} ({len(result['nodes'])} times, {result['nodes'][0]['html'][:200]})"
        for result in found
    ]


@contextmanager
def open_watched(browser: Browser, home: str, **options: Any) -> Iterator[Page]:
    """Open a page; at the end, assert no errors, no requests except to `home`, and no dialog."""
    context = browser.new_context(**options)
    page, complaints = context.new_page(), Complaints(home)
    complaints.hear(page)
    page.on("dialog", complaints.hear_dialog)
    yield page
    context.close()
    assert complaints.lines == []


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start the installed Chromium. Raises BadInput if there is none."""
    path = find_chromium()
    if path is None:
        raise BadInput("chromium", "is not on this machine", hint="apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def find_chromium() -> str | None:
    """Find Chromium, or Chrome, on the PATH."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
