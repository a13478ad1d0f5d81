"""Click through the pages of the long-form flow as a reader would."""

from __future__ import annotations

from playwright.sync_api import Page


def open_interaction(page: Page) -> None:
    """Open what an agent that queries did, a call behind it, and what another did with the same question."""
    page.select_option("#by-agent", "iterative")
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .peers")
    page.click("#detail .call >> nth=0")
    page.wait_for_selector("#detail .call[open] pre")
    page.click("#detail .siblings a:has-text('sequential')")
    page.wait_for_selector("#detail .query[open] pre")
    _show_detail(page)


def open_claim(page: Page) -> None:
    """Open a question, and the query of its first claim with the rows that bear it out."""
    page.click("#list a >> nth=0")
    page.click("#detail .claim:has(.result) summary >> nth=0")
    page.wait_for_selector("#detail .claim[open] .result")
    _show_detail(page)


def _show_detail(page: Page) -> None:
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)
