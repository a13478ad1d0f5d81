"""Clicks through the viewer of predicted tables with synthetic questions, for browser tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.tanq.test_evaluation_page import write_evaluation


def write_tables(folder: Path) -> Path:
    """Write the page of an evaluation of three systems; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    out, _ = write_evaluation(folder)
    return out / "index.html"


def open_tables(page: Page) -> None:
    """Open a question, the evidence of a predicted cell, then another system's table by the keyboard."""
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .predicted")
    page.click("#detail .predicted button >> nth=0")
    page.wait_for_selector("#detail .evidence mark")
    page.focus("#detail .sides section >> nth=0 >> button >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#detail .evidence mark:has-text('5.3 thousand')")
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)


def open_evidence(page: Page) -> None:
    """Open the first question, and the evidence of a cell of its answer with the words marked."""
    page.click("#list a >> nth=0")
    page.click("#detail .answer-table button >> nth=0")
    page.wait_for_selector("#detail .evidence mark")
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)
