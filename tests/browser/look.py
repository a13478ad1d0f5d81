"""`make look`: open the reports and Prefect's pages in Chromium, and save screenshots.

Fails on a console error, a request to another host, an accessibility finding of axe, or a screenshot that is
too large.
"""

from __future__ import annotations

import argparse
import base64
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from flows.commands.lineage import trace_target
from flows.run.prefect_server import read_auth, use_prefect
from flows.settings import find_project
from tasks.errors import BadInput, BenchloomError
from tasks.reports.lineage_page import write_lineage
from tasks.reports.page import ASSESSMENTS
from tasks.reports.record import RECORD
from tests.browser.assessments import open_answer
from tests.browser.compared import open_changed, write_compared
from tests.browser.longforms import open_claim, open_interaction
from tests.browser.reviewing import (
    ARTIFACT,
    list_let_in,
    list_lost,
    list_untold,
    make_project,
    review,
    serve_review,
)
from tests.browser.staged import run_ragcheck, stage_ragcheck, write_nights
from tests.browser.streams import open_item, open_run, open_step, open_walk, write_stream
from tests.browser.tables import open_evidence, open_tables, write_tables
from tests.browser.watch import Complaints, find_violations, open_chromium
from tests.flows.prefect_api import ask_prefect

LARGEST = 300_000
"""Maximum size of a screenshot in bytes; the screenshots are in the repository."""
LOOKS = {
    "light": ("light", 1280),
    "dark": ("dark", 1280),
    "narrow": ("light", 390),
    "narrow_dark": ("dark", 390),
}
BRIEFLY = {name: LOOKS[name] for name in ("light", "narrow_dark")}
"""Looks for tests: each colour scheme and each width once."""
Looks = Mapping[str, tuple[str, int]]
"""Name -> colour scheme and width in pixels."""
PATIENCE_MS = 60_000
SHOWN = "grammar-report@films"
"""Target to run for Prefect's pages, with so few stages that fresh stages are shown (`SHOWN_FRESH`)."""
SETTLING_MS = 4_000
"""Time to wait for the animation of Prefect's graph to end."""


@dataclass(frozen=True)
class View:
    """A kind of page: its screenshot's name, the element that shows it has loaded, and a part to open."""

    name: str
    shows: str
    part: str = ""
    open: Callable[[Page], None] | None = None


def main() -> int:
    """Check all pages; return 0 if there is no problem."""
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
    """Check the site, pages made for this check, and Prefect; return the problems."""
    pictures = pictures or root / "docs" / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        made = make_pages(root, Path(scratch))
        with open_chromium() as browser:
            complaints = look_at_site(browser, root / "data" / "reports", pictures)
            for view, path in made:
                complaints += look_at_page(browser, view, path, pictures)
            complaints += look_at_review(browser, make_project(Path(scratch) / "reviewed"), pictures)
            if not no_prefect:
                with find_prefect(root, prefect) as url:
                    complaints += look_at_prefect(browser, root, url, pictures)
    sizes = {path.name: path.stat().st_size for path in sorted(pictures.glob("*.png"))}
    print("\n".join(f"{name}: {size:,} bytes" for name, size in sizes.items()))
    return complaints + [
        f"{name}: {size:,} bytes are too many" for name, size in sizes.items() if size > LARGEST
    ]


def make_pages(root: Path, folder: Path) -> list[tuple[View, Path]]:
    """Make the pages that are not reports, such as a figure's lineage and scripted nightly runs."""
    lineage, nights, compared = (folder / f"{name}.html" for name in ("lineage", "nights", "compared"))
    reports = sorted((root / "data" / "reports").glob("grammar/*/report.json"))
    figures = [report for report in reports if find_kind(report) is REPORT]
    if not figures:
        raise BadInput(root / "data" / "reports", "holds no report", hint="benchloom report")
    target = f"{figures[0].relative_to(root).as_posix()}#/figures/0"
    write_lineage(trace_target(target, None, root, every=False), lineage)
    write_nights(nights)
    write_compared(compared)
    with stage_ragcheck(folder) as project:
        pages = run_ragcheck(project)
    return [
        (LINEAGE, lineage),
        (NIGHTS, nights),
        (COMPARISON, compared),
        (CORRECTNESS, pages / "trial-correctness" / "index.html"),
        (CONTINUITY, pages / "trial-continuity" / "index.html"),
        (TABLES, write_tables(folder / "tables")),
        (STREAM, write_stream(folder / "stream")),
    ]


def look_at_site(browser: Browser, site: Path, pictures: Path, looks: Looks = LOOKS) -> list[str]:
    """Open the front page and every report; take screenshots of one page of each kind.

    The sample's last assessment is of the weak system, whose page has the most content.
    """
    pages = sorted(site.glob("*/*/index.html"))
    if not pages or not (site / "index.html").is_file():
        raise BadInput(site, "holds no report", hint="benchloom report")
    complaints = look_at_page(browser, FRONT, site / "index.html", pictures, looks)
    others = [
        (GRAPH, site / "graph.html"),
        *((CONTRACTS, path) for path in sorted(site.parent.glob(CHECKED))),
    ]
    for place, (view, path) in enumerate(others):
        if path.is_file():
            complaints += look_at_page(browser, view, path, pictures if place < 2 else None, looks)
    kinds = {path: find_kind(path) for path in pages}
    pictured = {view: path for path, view in reversed(kinds.items())}
    pictured |= {view: path for path, view in kinds.items() if view is ASSESSMENT}
    for path, view in kinds.items():
        complaints += look_at_page(browser, view, path, pictures if pictured[view] == path else None, looks)
    return complaints


def find_kind(page: Path) -> View:
    """Return the kind of a report's page, from its record's flow and its folder."""
    record = json.loads((page.parent / RECORD).read_text())
    if record["flow"] == "grammar":
        return ASSESSMENT if record["part"] == ASSESSMENTS.part else REPORT
    return FOLDERS[page.parents[1].name]


def look_at_page(
    browser: Browser, view: View, path: Path, pictures: Path | None, looks: Looks = LOOKS
) -> list[str]:
    """Open a page in each look and click through it; return the problems."""
    complaints = Complaints(path.parent.resolve().as_uri())
    for name, (scheme, width) in looks.items():
        page = new_page(browser, complaints, scheme, width)
        page.goto(path.resolve().as_uri())
        page.wait_for_selector(view.shows)
        complaints.lines += [f"{path}: {overflow}" for overflow in find_overflow(page)]
        if pictures:
            page.screenshot(
                path=pictures / (f"{view.name}.png" if name == "light" else f"{view.name}_{name}.png")
            )
        if view.open:
            view.open(page)
            complaints.lines += [f"{path}: {overflow}" for overflow in find_overflow(page)]
        # axe checks one page of a kind in every look, and other pages of this kind only in the first look.
        if pictures or name == "light":
            complaints.lines += [f"{path}, {name}: {violation}" for violation in find_violations(page)]
        if view.open and pictures:
            page.screenshot(path=pictures / f"{view.part}_{name}.png")
        page.context.close()
    return complaints.lines


def find_overflow(page: Page) -> list[str]:
    """Return a problem if a page is wider than its window, since the whole page would scroll sideways."""
    wide, there = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return [f"is {wide} pixels wide in a window of {there}"] if wide > there else []


def open_question(page: Page) -> None:
    """Open an artifact, a question, one of its calls, and a sibling."""
    page.click("[data-artifact=back_check]")
    page.wait_for_selector("details.artifact[open]")
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .question")
    page.click("#detail .siblings a >> nth=0")
    page.wait_for_selector("#detail .call")
    page.click("#detail .call >> nth=0")
    page.wait_for_selector("#detail .call[open] pre")
    show_detail(page)


def open_graded(page: Page) -> None:
    """Open an answer and the contexts of its judge."""
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .note .tag")
    page.click("#detail .passage >> nth=0")
    show_detail(page)


def open_conversation(page: Page) -> None:
    """Open a conversation with more than one turn."""
    page.select_option("#by-system", "good")
    page.click("#list a:has(.tag:nth-child(5)) >> nth=0")
    page.wait_for_selector("#detail .turn >> nth=1")
    show_detail(page)


def open_source(page: Page) -> None:
    """Follow the lineage from a figure to a row, and to the row's sources."""
    for _ in range(2):
        before = page.inner_text("#detail h2")
        page.click("#detail .links a >> nth=0")
        page.wait_for_function(
            "before => document.querySelector('#detail h2').textContent !== before", arg=before
        )


def open_contract(page: Page) -> None:
    """Open the contract of the first artifact."""
    page.click("#contracts-list summary >> nth=0")
    page.wait_for_selector("#contracts-list table")


def show_detail(page: Page) -> None:
    """Scroll to the browser of rows for the screenshot."""
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(500)


FRONT = View("index", "h1")
GRAPH = View("graph", "#stages-table")
CONTRACTS = View("contracts", "#contracts-list .artifact", "contract", open_contract)
CHECKED = "*/*/contracts/index.html"
"""Pattern of contract pages, relative to the data folder."""
REPORT = View("report", "#list a", "question", open_question)
ASSESSMENT = View("assessment", "#list a", "answer", open_answer)
INTERACTIONS = View("longform", "#list a", "interaction", open_interaction)
QUESTION_SET = View("longform_set", "#list a", "claim", open_claim)
TABLE_SET = View("tanq_set", "#list a", "evidence", open_evidence)
PREDICTIONS = View("tanq", "#list a", "prediction", open_evidence)
STREAM_ITEMS = View("stream_set", "#list a", "item", open_item)
EVALUATION = View("streambench", "#list a", "sample_step", open_step)
OVERVIEW = View("stream_overview", "#list a", "run", open_run)
FOLDERS = {
    "longform": INTERACTIONS,
    "longform-sets": QUESTION_SET,
    "tanq": PREDICTIONS,
    "tanq-sets": TABLE_SET,
    "streambench-streams": STREAM_ITEMS,
    "streambench": EVALUATION,
    "streambench-overviews": OVERVIEW,
}
"""Folder of reports -> the kind of its pages."""
CORRECTNESS = View("correctness", "#list a", "graded", open_graded)
CONTINUITY = View("continuity", "#list a", "conversation", open_conversation)
TABLES = View("tables", "#list a", "table", open_tables)
STREAM = View("stream", "#list a", "step", open_walk)
LINEAGE = View("lineage", "#tree [role=treeitem]", "source", open_source)
NIGHTS = View("nights", ".plot .spot")
COMPARISON = View("comparison", "details.case", "changed", open_changed)


def look_at_review(browser: Browser, root: Path, pictures: Path) -> list[str]:
    """Review questions as two reviewers, each in a separate look; return problems and lost decisions."""
    with serve_review(ARTIFACT, root=root) as (url, server):
        complaints = Complaints(url)
        for reviewer, (look, name) in {"Anna": ("light", "review"), "Ben": ("dark", "review_dark")}.items():
            page = new_page(browser, complaints, *LOOKS[look])
            page.goto(url)
            review(page, reviewer)
            complaints.lines += [f"review: {overflow}" for overflow in find_overflow(page)]
            page.screenshot(path=pictures / f"{name}.png")
            page.context.close()
        let_in = list_let_in(browser, url)
        untold = list_untold(server)
    return complaints.lines + let_in + list_lost(root) + untold


def look_at_prefect(browser: Browser, root: Path, url: str, pictures: Path) -> list[str]:
    """Open Prefect's front page and its last flow run."""
    complaints = Complaints(url)
    page = new_page(browser, complaints, *LOOKS["dark"])
    token = base64.b64encode(read_auth(root).encode()).decode()
    page.add_init_script(f"localStorage.setItem('prefect-password', {token!r})")
    for name, path in (
        ("prefect_dashboard", "/dashboard"),
        ("prefect_run", f"/runs/flow-run/{find_run(root, url)}"),
    ):
        page.goto(url + path, wait_until="domcontentloaded", timeout=PATIENCE_MS)
        page.wait_for_load_state("networkidle", timeout=PATIENCE_MS)
        page.wait_for_timeout(SETTLING_MS)
        page.screenshot(path=pictures / f"{name}.png")
    return complaints.lines


@contextmanager
def find_prefect(root: Path, url: str | None) -> Iterator[str]:
    """Yield a server's URL: the given URL, or the project's own server after a run of one report."""
    if url:
        yield url.rstrip("/").removesuffix("/api")
        return
    with use_prefect(root, print) as found:
        if found is None:
            raise BenchloomError("there is no Prefect server to look at: wait for one, or use --no-prefect")
        benchloom = [sys.executable, "-c", "from flows.cli import main; main()"]
        subprocess.run([*benchloom, "run", "--replay", SHOWN], cwd=root, check=True)
        yield found.rstrip("/").removesuffix("/api")


def find_run(root: Path, url: str) -> str:
    """Find the last flow run. Raises BadInput if there is none."""
    runs = ask_prefect(root, f"{url}/api/flow_runs/filter", {"sort": "START_TIME_DESC", "limit": 1})
    if not runs:
        raise BadInput(url, "has no flow run to look at", hint="benchloom run")
    return str(runs[0]["id"])


def new_page(browser: Browser, complaints: Complaints, scheme: str, width: int) -> Page:
    """Open a new page in a light or dark scheme, `width` pixels wide."""
    scheme_name = "dark" if scheme == "dark" else "light"
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme_name)
    page = context.new_page()
    complaints.hear(page)
    return page


if __name__ == "__main__":
    sys.exit(main())
