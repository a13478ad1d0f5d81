import pytest
from playwright.sync_api import expect

from tasks.lineage.records import Graph
from tasks.lineage.result import LineageResult
from tasks.lineage.walk import Lineage
from tasks.reports.lineage_page import write_lineage
from tests.browser.watch import open_watched
from tests.grammar.sample import write_sample

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    root = tmp_path_factory.mktemp("walk")
    sample = write_sample(root, hostile=True)
    lineage = Lineage(root)
    node = lineage.trace_row("data/grammar/films/balanced.parquet", sample.questions[0].id)
    write_lineage(LineageResult(node.reference, (node,), tuple(lineage.gaps), Graph(())), root / "page.html")
    return sample, root / "page.html"


@pytest.fixture(params=["light", "dark"])
def page(browser, written, request):
    address = written[1].as_uri()
    with open_watched(browser, address, color_scheme=request.param) as page:
        page.goto(address)
        yield page


def wait_for_heading(page, words):
    # The browser reports the new address to the page only after the key press or click.
    page.wait_for_function(
        "words => document.querySelector('#detail h2').textContent.includes(words)", arg=words
    )


def test_it_is_walked_by_the_keys_alone_and_back_again(page, written):
    question = written[0].questions[0]
    page.focus("#tree [role=treeitem]")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    wait_for_heading(page, "back_check.parquet#")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    wait_for_heading(page, "second_reading.parquet#")
    page.go_back()
    wait_for_heading(page, "back_check.parquet#")
    page.click("#detail .way a >> nth=0")
    wait_for_heading(page, question.id)


def test_links_lead_on_to_a_call_and_what_was_said(page):
    page.click("#detail .links a >> nth=0")
    expect(page.locator("#detail .way li")).to_have_count(2)
    page.click("#detail .links a >> nth=0")
    expect(page.locator("#detail .way li")).to_have_count(3)
    page.click("#detail .links a >> text=/^[0-9a-f]{12}$/ >> nth=0")

    expect(page.locator("#detail .way li")).to_have_count(4)
    expect(page.locator("#detail")).to_contain_text("Write it.")


def test_hostile_texts_are_shown_and_not_run(page):
    assert "<img src=x onerror=alert(1)>" in page.inner_text("#detail")
    assert page.locator("img").count() == 0


def test_nothing_outside_can_be_asked(page):
    assert page.evaluate("document.querySelectorAll('[src], link[rel=stylesheet]').length") == 0
