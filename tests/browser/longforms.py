"""Clicks through the pages of the longform flow, for browser tests."""

from __future__ import annotations

from playwright.sync_api import Page


def open_interaction(page: Page) -> None:
    """Open an interaction of a querying agent, one of its calls, and another agent's on the same question."""
    page.select_option("#by-agent", "iterative")
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .peers")
    page.click("#detail .call >> nth=0")
    page.wait_for_selector("#detail .call[open] pre")
    page.click("#detail .siblings a:has-text('sequential')")
    page.wait_for_selector("#detail .query[open] pre")
    _show_detail(page)


def open_claim(page: Page) -> None:
    """Open a question, and the query of its first claim with the supporting rows."""
    page.click("#list a >> nth=0")
    page.click("#detail .claim:has(.result) summary >> nth=0")
    page.wait_for_selector("#detail .claim[open] .result")
    _show_detail(page)


def _show_detail(page: Page) -> None:
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)
