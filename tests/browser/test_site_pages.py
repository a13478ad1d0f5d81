"""Tests of features of all pages: links to views, sorted and exported tables, links from figures to rows."""

import csv
import json
import re

import pytest
from playwright.sync_api import expect

from tasks.artifacts.contracts import ContractFinding
from tasks.reports.contract_stage import write_contracts
from tasks.reports.graph_page import GraphEntry, GraphStage, write_graph
from tasks.reports.page import ASSESSMENTS, Page, SampleQuestion, SystemFigure
from tasks.reports.record import RECORD, write_record
from tasks.reports.site import write_index
from tests.browser.test_pages import write_site
from tests.browser.watch import Complaints, find_violations
from tests.grammar.sample import HOSTILE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return write_site(tmp_path_factory.mktemp("site"), groups=30)


@pytest.fixture
def fresh(browser):
    contexts = []

    def open_page(**options):
        contexts.append(browser.new_context(**options))
        return contexts[-1].new_page()

    yield open_page
    for context in contexts:
        context.close()


def list_rows(page):
    return page.locator("#list a").evaluate_all("links => links.map(each => each.firstChild.data)")


def test_a_link_with_filters_shows_the_same_rows_in_a_fresh_browser(fresh, site):
    _, out = site
    page = fresh()
    page.goto((out / "index.html").as_uri())
    page.select_option("#by-criterion", "short")
    page.select_option("#by-order", "down")
    page.fill("#find", "film 1")
    expect(page.locator("#found")).to_have_text(re.compile(r"^[1-9]\d of 120 questions"))
    page.wait_for_function("() => location.search.includes('find=')")
    page.click("#after")
    page.click("#list a >> nth=0")
    seen, chosen = list_rows(page), page.inner_text("#detail .question")

    other = fresh()
    other.goto(page.url)

    assert (
        list_rows(other)
        == seen
        == sorted(
            seen,
            reverse=True,
            key=lambda text: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)],
        )
    )
    assert other.inner_text("#detail .question") == chosen
    assert other.input_value("#find") == "film 1"
    assert other.inner_text("#page").startswith("page 2 of ")


def test_a_section_s_link_and_back_keep_the_filters(fresh, site):
    _, out = site
    page = fresh()
    page.goto((out / "index.html").as_uri())
    page.select_option("#by-criterion", "short")
    page.click(".sections a >> text=Yields")
    assert page.url.endswith("?criterion=short#yields")
    page.go_back()
    assert page.input_value("#by-criterion") == "short"


def test_every_page_leads_home(fresh, site):
    _, out = site
    page = fresh()
    page.goto((out / "index.html").as_uri())
    page.click("a.home")
    assert page.url == (out.parents[1] / "index.html").as_uri()


def test_a_question_and_a_figure_name_the_command_that_walks_back(fresh, site):
    sample, out = site
    page = fresh()
    wanted = sample.questions[3]
    page.goto((out / "index.html").as_uri() + f"#question={wanted.id}")
    command = page.inner_text("#detail .command code")
    assert re.fullmatch(rf"benchloom lineage data/\S+/(un)?balanced\.parquet --row {wanted.id}", command)

    page.click(".top .figure >> nth=0")
    figure = json.loads((out / RECORD).read_text())["figures"][0]
    assert page.inner_text(".top .figure >> nth=0") == f"{figure['value']:,}"
    assert (
        page.inner_text("dialog code")
        == "benchloom lineage 'data/reports/grammar/films/report.json#/figures/0'"
    )


def test_a_table_sorts_in_the_address_and_is_taken_along(fresh, tmp_path):
    page = fresh(accept_downloads=True)
    page.goto(write_systems(tmp_path).as_uri())
    page.click("#measures > summary")
    page.click("#systems-table th >> nth=3 >> button")
    page.click("#systems-table th >> nth=3 >> button")
    shown = page.locator("#systems-table tbody .measured strong").all_inner_texts()
    assert shown == ["0.900", "0.500", "0.100"]

    other = fresh()
    other.goto(page.url)
    assert other.locator("#systems-table tbody .measured strong").all_inner_texts() == shown
    assert other.get_attribute("#systems-table th >> nth=3", "aria-sort") == "descending"

    with page.expect_download() as taken:
        page.click("#figures .take")
    rows = list(csv.DictReader(taken.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert [row["Value and 95% interval"] for row in rows] == shown
    assert (rows[0]["Value and 95% interval low"], rows[0]["Value and 95% interval high"]) == (
        "0.800",
        "0.950",
    )
    # A spreadsheet must not read a system's name as a formula.
    assert [row["System"] for row in rows] == ["good", "'=1+1", "weak"]


def test_filters_of_marked_rows_are_in_the_address(fresh, tmp_path):
    page = fresh()
    page.goto(write_systems(tmp_path).as_uri())
    page.click("#measures > summary")
    page.select_option("[data-narrows=systems-list] select[name=system]", "weak")
    other = fresh()
    other.goto(page.url)
    expect(other.locator("#systems-table tbody tr:visible")).to_have_count(1)
    assert other.inner_text("[data-count=systems-list]") == "1 of 3"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_pages_of_the_site_break_no_rule_of_axe_and_show_intervals(fresh, tmp_path, scheme, width):
    front = write_systems(tmp_path)
    page = fresh(viewport={"width": width, "height": 844}, color_scheme=scheme)
    complaints = Complaints(front.parents[1].as_uri())
    complaints.hear(page)
    for path in (front, write_stages(front.parent), write_findings(tmp_path)):
        page.goto(path.as_uri())
        for details in page.query_selector_all("details:not([open]) > summary"):
            details.click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert find_violations(page) == []
        assert page.locator("img").count() == 0
        if path == front:
            box = page.locator("#systems-table .between >> nth=0").bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["height"] < 30  # on one line
    assert complaints.lines == []


def write_systems(root):
    """Write a front page with one assessment of three systems."""
    reports = root / "data/reports"
    out = reports / "trial/one"
    out.mkdir(parents=True)
    systems = [
        SystemFigure(
            name, f"Films {HOSTILE}", "accuracy", "accuracy", value, interval, 20, "questions", 0, None
        )
        for name, value, interval in (
            ("weak", 0.1, (0.05, 0.2)), ("good", 0.9, (0.8, 0.95)), ("=1+1", 0.5, None),
        )
    ]  # fmt: skip
    page = Page(
        ASSESSMENTS, "trial", "one", f"Trial {HOSTILE}", "", warnings=[HOSTILE], systems=systems,
        samples=[SampleQuestion("question=1", HOSTILE, HOSTILE)],
    )  # fmt: skip
    write_record(out / RECORD, page, {})
    (out / "index.html").touch()
    write_index([out], reports / "index.html", history=root / "site.json", made="now")
    return reports / "index.html"


def write_stages(folder):
    """Write the page of a graph with a failed stage."""
    stage = GraphStage(
        "trial-one@films", "trial.one", "failed", HOSTILE, "data/trial/one.parquet", "../trial/one.parquet",
        20, 3, 1200, 0.5, "2026-01-02 03:04", 1.5, ["trial-none@films"], "benchloom run trial-one@films",
    )  # fmt: skip
    other = GraphStage(
        "trial-none@films",
        "trial.none",
        "fresh",
        "",
        "data/trial/none",
        "",
        None,
        0,
        None,
        None,
        "",
        None,
        [],
        "",
    )
    write_graph([GraphEntry("trial", "databases.films", [other, stage])], "now", folder / "graph.html")
    return folder / "graph.html"


def write_findings(root):
    """Write a page of contracts with one violation."""
    folder = root / "data/trial/contracts"
    folder.mkdir(parents=True)
    (folder.parent / "rows.parquet").touch()
    findings = [
        ContractFinding("fine.a", "fine", "a", "All is well.", "held", 3, 0, (), ()),
        ContractFinding("rows.a", "rows", "a", "All is well.", "held", 3, 0, (), ()),
        ContractFinding("rows.b", "rows", "b", "No row is odd.", "broken", 3, 1, (HOSTILE,), (HOSTILE,)),
    ]
    write_contracts("Contracts", findings, folder)
    return folder / "index.html"


def test_contracts_show_failures_first_with_the_command_of_a_broken_row(fresh, tmp_path):
    page = fresh()
    page.goto(write_findings(tmp_path).as_uri())
    names = page.locator("#contracts-list summary .mono").all_inner_texts()
    assert names == ["rows", "fine"]
    assert page.locator("#contracts-list details[open] tbody th").all_inner_texts() == ["b", "a"]
    command = page.inner_text("#contracts-list .command code")
    assert command.startswith("benchloom lineage data/trial/rows.parquet --row '</script><img src=x")


def test_the_graph_is_filtered_and_leads_to_artifacts(fresh, tmp_path):
    reports = tmp_path / "data/reports"
    reports.mkdir(parents=True)
    page = fresh()
    page.goto(write_stages(reports).as_uri() + "?stages-list.state=failed")
    rows = page.locator("#stages-table tbody tr:visible")
    expect(rows).to_have_count(1)
    assert "benchloom run trial-one@films" in rows.inner_text()
    assert rows.locator("a >> nth=0").get_attribute("href") == "../trial/one.parquet"
    assert "1 fresh 1 failed" in page.inner_text("#entries-table tbody tr")
