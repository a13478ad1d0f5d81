"""Benchmark pages with 100,000 questions: seconds to show the front page and a dataset's page, and to search.

The installed Chromium is restarted for each page, with an empty cache; the pages are local files. First view:
the first paint with content. Rows: the time until the list of questions is complete.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

from tasks.grammar.publish.report import report
from tasks.reports.site import write_index
from tests.browser.watch import open_chromium
from tests.grammar.sample import write_sample

GROUPS = 25_000
"""Number of groups per SQL template; a group has two templates with two texts, so four questions."""
BOUND_S = 2.0
FOUND = "words => new URLSearchParams(location.search).get('find') === words"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def main() -> None:
    """Write the pages, and print the measurements. Exits with 1 if a first view takes too long."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        sample = write_sample(root, groups=GROUPS)
        out = root / "data/reports/grammar/films"
        begun = time.perf_counter()
        metrics = root / "data/metrics/grammar/films"
        report(**sample.inputs(), database=sample.entry, settings={}, out=out, metrics=metrics)
        written = time.perf_counter() - begun
        front = root / "data/reports/index.html"
        write_index([out], front)
        megabytes = sum(path.stat().st_size for path in out.iterdir()) / 1e6
        print(f"pages: {len(sample.questions):,} questions, written in {written:.1f} s, {megabytes:.1f} MB")
        firsts = [
            measure("front page", front, "h1"),
            measure("dataset's page", out / "index.html", "#list a"),
        ]
    if max(firsts) > BOUND_S:
        sys.exit(f"pages: a first view took {max(firsts):.2f} s, more than {BOUND_S:g}")


def measure(name: str, path: Path, shows: str) -> float:
    """Open a page in a new browser and print the measurements; return the seconds until its first view."""
    with open_chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto("about:blank")
        begun = time.perf_counter()
        page.goto(path.as_uri(), wait_until="commit")
        page.wait_for_selector(shows)
        rows = time.perf_counter() - begun
        page.wait_for_function(f"() => ({PAINTED}) > 0")
        first = page.evaluate(PAINTED) / 1000
        print(
            f"pages: {name}: first view {first:.2f} s (bound {BOUND_S:g}), rows {rows:.2f} s{search(page)}",
            flush=True,
        )
    return float(first)


def search(page: Page) -> str:
    """Search the page's list, if any, twice; return the times. The first search loads all texts."""
    if not page.locator("#find").count():
        return ""
    told = []
    for words in ("film 24999", "runtime of film 123"):
        begun = time.perf_counter()
        page.fill("#find", words)
        page.wait_for_function(FOUND, arg=words)
        told.append(f"{time.perf_counter() - begun:.2f} s")
    return f", first search {told[0]}, next {told[1]}"


if __name__ == "__main__":
    main()
