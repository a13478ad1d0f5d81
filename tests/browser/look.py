"""`make look`: drive the report and Prefect's pages in Chromium, and take their pictures.

Fails on a console error, on a request to anywhere outside, and on a picture that is too big.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from flows.prefect_server import use_prefect
from flows.settings import find_project
from tasks.errors import BadInput, BenchloomError
from tests.browser.assessments import open_answer
from tests.browser.watch import Complaints, open_chromium

LARGEST = 300_000
"""Bytes of a picture: they are in the repository."""
LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "narrow": ("light", 420)}
PATIENCE_MS = 60_000
SETTLING_MS = 4_000
"""Prefect's graph moves for a while before it lies still."""


def main() -> int:
    """Look at everything; 0 where all was well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--prefect", help="a running server's address; the project's own is started otherwise"
    )
    parser.add_argument("--no-prefect", action="store_true", help="look at the report alone")
    parser.add_argument("--pictures", type=Path, help="where pictures go (docs/pictures)")
    chosen = parser.parse_args()
    try:
        complaints = look(find_project(), chosen.pictures, chosen.prefect, chosen.no_prefect)
    except BenchloomError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    for line in complaints:
        print(line, file=sys.stderr)
    return 1 if complaints else 0


def look(root: Path, pictures: Path | None, prefect: str | None, no_prefect: bool) -> list[str]:
    """Look at the site and at Prefect; return what is wrong."""
    pictures = pictures or root / "docs" / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    with open_chromium() as browser:
        complaints = look_at_site(browser, root / "data" / "reports", pictures)
        if not no_prefect:
            with find_prefect(root, prefect) as url:
                complaints += look_at_prefect(browser, url, pictures)
    sizes = {path.name: path.stat().st_size for path in sorted(pictures.glob("*.png"))}
    print("\n".join(f"{name}: {size:,} bytes" for name, size in sizes.items()))
    return complaints + [
        f"{name}: {size:,} bytes are too many" for name, size in sizes.items() if size > LARGEST
    ]


def look_at_site(browser: Browser, site: Path, pictures: Path) -> list[str]:
    """Open the front page and every report; take pictures of the first of each kind."""
    pages = sorted(site.glob("*/*/index.html"))
    if not pages or not (site / "index.html").is_file():
        raise BadInput(site, "holds no report", hint="benchloom report")
    complaints = Complaints(site.resolve().as_uri())
    page = new_page(browser, complaints, *LOOKS["light"])
    page.goto((site / "index.html").as_uri())
    page.screenshot(path=pictures / "index.png")
    for path in pages:
        for look_name, (scheme, width) in LOOKS.items():
            page = new_page(browser, complaints, scheme, width)
            page.goto(path.resolve().as_uri())
            page.wait_for_selector("#list a")
            kind, part, open_part = find_kind(path)
            first = path == next(each for each in pages if find_kind(each)[0] == kind)
            if first:
                name = f"{kind}.png" if look_name == "light" else f"{kind}_{look_name}.png"
                page.screenshot(path=pictures / name)
            open_part(page)
            if first:
                page.screenshot(path=pictures / f"{part}_{look_name}.png")
            page.context.close()
    return complaints.lines


def find_kind(page: Path) -> tuple[str, str, Callable[[Page], None]]:
    """Tell what a page is: its name in pictures, that of the part which is opened, and how it is opened."""
    if (page.parent / "assessment.js").is_file():
        return "assessment", "answer", open_answer
    return "report", "question", open_question


def open_question(page: Page) -> None:
    """Click through: an artifact, a question, a call behind it, a sibling."""
    page.click("[data-artifact=back_check]")
    page.wait_for_selector("details.artifact[open]")
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .question")
    page.click("#detail .siblings a >> nth=0")
    page.wait_for_selector("#detail .call")
    page.click("#detail .call >> nth=0")
    page.wait_for_selector("#detail .call[open] pre")
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(500)


def look_at_prefect(browser: Browser, url: str, pictures: Path) -> list[str]:
    """Open Prefect's front page and its last flow run."""
    complaints = Complaints(url)
    page = new_page(browser, complaints, *LOOKS["dark"])
    for name, path in (
        ("prefect_dashboard", "/dashboard"),
        ("prefect_run", f"/runs/flow-run/{find_run(url)}"),
    ):
        page.goto(url + path, wait_until="domcontentloaded", timeout=PATIENCE_MS)
        page.wait_for_load_state("networkidle", timeout=PATIENCE_MS)
        page.wait_for_timeout(SETTLING_MS)
        page.screenshot(path=pictures / f"{name}.png")
    return complaints.lines


@contextmanager
def find_prefect(root: Path, url: str | None) -> Iterator[str]:
    """Give a server's address: the one named, or the project's own after a run of everything."""
    if url:
        yield url.rstrip("/").removesuffix("/api")
        return
    with use_prefect(root, print) as found:
        benchloom = [sys.executable, "-c", "from flows.cli import main; main()"]
        subprocess.run([*benchloom, "run", "--replay"], cwd=root, check=True)
        yield found.rstrip("/").removesuffix("/api")


def find_run(url: str) -> str:
    """Find the last flow run. Raises BadInput where there is none."""
    request = urllib.request.Request(
        f"{url}/api/flow_runs/filter",
        data=json.dumps({"sort": "START_TIME_DESC", "limit": 1}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        runs = json.load(reply)
    if not runs:
        raise BadInput(url, "has no flow run to look at", hint="benchloom run")
    return str(runs[0]["id"])


def new_page(browser: Browser, complaints: Complaints, scheme: str, width: int) -> Page:
    """Open a page of its own in light or dark, `width` pixels wide."""
    scheme_name = "dark" if scheme == "dark" else "light"
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme_name)
    page = context.new_page()
    complaints.hear(page)
    return page


if __name__ == "__main__":
    sys.exit(main())
