"""Clicks through the page of an assessment, for browser tests."""

from __future__ import annotations

from playwright.sync_api import Page


def open_answer(page: Page) -> None:
    """Open the first wrong answer, its retrieved documents, and a sibling."""
    page.select_option("#by-judgement", "Incorrect")
    if not page.locator("#list a").count():
        page.select_option("#by-judgement", "")
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .question")
    if page.locator("#detail .passage").count():
        page.click("#detail .passage >> nth=0")
    page.click("#detail .siblings a >> nth=0")
    page.wait_for_selector("#detail .verdicts")
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)
