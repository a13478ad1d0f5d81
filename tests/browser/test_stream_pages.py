"""Tests of a stream's page in Chromium: filters, keyboard, address, prompts, no errors in any look."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.look import BRIEFLY, OVERVIEW, STREAM, look_at_page
from tests.browser.streams import write_stream
from tests.browser.watch import open_watched
from tests.streambench.made_evaluation import EVIL
from tests.streambench.made_overview import make_evaluations, write_overview

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stream(tmp_path_factory.mktemp("stream"))


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    window = {"width": 1280, "height": 860}
    with open_watched(browser, path.parent.as_uri(), viewport=window) as opened:
        opened.goto(path.as_uri())
        yield opened


@pytest.mark.drill
def test_every_look_is_quiet_and_fits(browser: Browser, path: Path, tmp_path: Path) -> None:
    assert look_at_page(browser, STREAM, path, tmp_path, looks=BRIEFLY) == []


def test_a_step_shows_what_was_retrieved_asked_answered_and_told(page: Page) -> None:
    page.select_option("#by-method", "self_stream_icl")
    page.select_option("#by-seed", "42")
    page.select_option("#by-outcome", "right")
    page.click("#list a >> nth=15")
    expect(page.locator("#detail .retrieved li")).to_have_count(2)
    assert EVIL in page.inner_text("#detail .call[open] pre >> nth=0")
    assert page.locator("#detail h3").all_inner_texts()[1:5] == [
        "RETRIEVED EXAMPLES (2)", "PROMPT AND REPLY (1)", "ANSWER", "FEEDBACK",
    ]  # fmt: skip
    expect(page.locator("#detail .trace a")).to_have_count(40)
    expect(page.locator("#detail .trace [aria-current]")).to_have_class("right")
    expect(page.locator("#detail summary:has-text('The same item in other runs (27)')")).to_have_count(1)
    shown = page.inner_text("#detail .retrieved a >> nth=0")
    page.click("#detail .retrieved a >> nth=0")
    expect(page.locator("#detail .question")).to_have_text(shown)


def test_the_keyboard_walks_the_steps_that_are_listed(page: Page) -> None:
    page.select_option("#by-method", "mem_prompt")
    page.select_option("#by-outcome", "failed")
    page.keyboard.press("Escape")
    page.locator("body").press("j")
    total = int(page.inner_text("#found").split()[0])
    expect(page.locator("#detail .where")).to_have_text(f"1 of {total} listed")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#detail .where")).to_have_text(f"2 of {total} listed")
    assert "No answer: the model did not answer" in page.inner_text("#detail")
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect(page.locator("#detail .where")).to_have_text(f"1 of {total} listed")
    for _ in range(total + 1):
        page.keyboard.press("j")
    expect(page.locator("#detail .where")).to_have_text(f"{total} of {total} listed")
    expect(page.locator("#detail [data-walk='1']")).to_be_disabled()


def test_the_address_holds_step_and_filters(page: Page, browser: Browser) -> None:
    page.select_option("#by-method", "mam_stream_icl")
    page.select_option("#by-outcome", "wrong")
    page.fill("#find", "flights")
    expect(page.locator("#found")).not_to_contain_text("1,120 of")
    expect(page).to_have_url(re.compile("find=flights"))
    page.click("#list a >> nth=1")
    expect(page.locator("#detail .where")).to_contain_text("2 of ")
    other = browser.new_page()
    other.goto(page.url)
    for name in ("#found", "#detail .where", "#detail .question"):
        assert other.inner_text(name) == page.inner_text(name)
    assert other.input_value("#by-method") == "mam_stream_icl"
    assert other.input_value("#find") == "flights"
    other.close()
    page.keyboard.press("j")
    expect(page.locator("#detail .where")).to_contain_text("3 of ")
    page.go_back()
    expect(page.locator("#detail .where")).to_contain_text("2 of ")


def test_a_link_to_no_step_says_so(page: Page) -> None:
    page.goto(page.url + "#step=feed")
    assert "no step feed here" in page.inner_text("#detail")


@pytest.mark.drill
def test_an_overview_is_quiet_and_its_runs_lead_to_their_evaluations(
    browser: Browser, tmp_path: Path
) -> None:
    out, _ = write_overview(tmp_path / "project", make_evaluations())
    assert look_at_page(browser, OVERVIEW, out / "index.html", tmp_path, looks=BRIEFLY) == []
    page = browser.new_page()
    page.goto((out / "index.html").as_uri())
    page.select_option("#by-dataset", "ddxplus")
    page.select_option("#by-method", "MAM-StreamICL")
    expect(page.locator("#found")).to_contain_text("1 of 63 runs")
    page.click("#list a")
    expect(page.locator("#detail a")).to_have_attribute("href", "../../streambench/diagnoses/index.html")
    expect(page.locator("#detail .command code")).to_contain_text(
        "benchloom lineage data/streambench/patients/diagnoses/scores.parquet --row"
    )
    page.click("#table-means td >> nth=0 >> button")
    expect(page.locator("#lineage code")).to_contain_text("report.json#/tables/0/lines/0/cells/0")
    page.close()
