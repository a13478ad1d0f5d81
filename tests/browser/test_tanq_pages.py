"""Tests of the table viewer in Chromium: cells, evidence, systems, chains, no errors in any look."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.look import BRIEFLY, TABLES, look_at_page
from tests.browser.tables import open_tables, write_tables
from tests.browser.watch import open_watched
from tests.longform.test_page import EVIL

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    window = {"width": 1280, "height": 860}
    with open_watched(browser, path.parent.as_uri(), viewport=window) as opened:
        opened.goto(path.as_uri())
        opened.click("#list a >> nth=0")
        yield opened


@pytest.mark.drill
def test_every_look_is_quiet_and_fits(browser: Browser, path: Path, tmp_path: Path) -> None:
    assert look_at_page(browser, TABLES, path, tmp_path, looks=BRIEFLY) == []


def test_a_click_shows_the_evidence_with_its_words_marked(page: Page) -> None:
    page.click("#detail .predicted button:has-text('28,000')")
    assert page.inner_text("#detail .evidence h3").lower() == "evidence (1)"
    assert page.locator("#detail .predicted button[aria-pressed]").count() == 1
    page.click("#detail section[aria-label=Answer] button:has-text('Port Ruvay')")
    assert page.inner_text("#detail .evidence mark") == "PORT RUVAY"  # as written in the article
    assert "revision 7" in page.inner_text("#detail .evidence summary")
    assert EVIL in page.inner_text("#detail .evidence .reply")


def test_the_keyboard_does_as_a_click(page: Page) -> None:
    open_tables(page)
    assert "Skarholm · population: 5300" in page.inner_text("#detail .evidence")


def test_a_system_is_chosen_and_stays_chosen(page: Page) -> None:
    page.select_option("#system", label="open · agent")
    assert page.locator("#detail .predicted .wrong").count() == 0
    page.click("#detail .passage:has-text('Steps of the agent') summary")
    assert "WikiSearch(islands)" in page.inner_text("#detail .passage[open]")
    page.click("#list a >> nth=1")
    page.wait_for_selector("#detail :text('No reply: not asked: no room')")
    assert page.eval_on_selector("#system", "select => select.selectedOptions[0].text") == "open · agent"


def test_states_are_told_in_words_too(page: Page) -> None:
    wrong = page.locator("#detail .predicted td.wrong").first
    assert wrong.get_attribute("title") == "differs from the answer"
    assert "(differs from the answer)" in (wrong.text_content() or "")


def test_questions_are_found_by_what_went_wrong(page: Page) -> None:
    page.select_option("#by-failure", "filter ignored")
    assert page.locator("#list a").count() == 1
    page.select_option("#by-failure", "not a table")
    assert page.locator("#list a").count() == 1
    page.select_option("#by-skill", "filter number")
    assert page.locator("#list a").count() == 0
