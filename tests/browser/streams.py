"""Clicks through the page of a stream's evaluation with synthetic steps, for browser tests."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.streambench.made_evaluation import write_evaluation


def write_stream(folder: Path) -> Path:
    """Write the page of an evaluation of nine methods; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    out, _ = write_evaluation(folder)
    return out / "index.html"


def open_walk(page: Page) -> None:
    """Filter the steps by method and correct answers, open a step, and go to the next by the keyboard."""
    page.select_option("#by-method", "self_stream_icl")
    page.select_option("#by-outcome", "right")
    page.click("#list a >> nth=8")
    page.wait_for_selector("#detail .retrieved a")
    page.keyboard.press("j")
    page.wait_for_selector("#detail .where:has-text('10 of ')")
    page.wait_for_selector("#detail .retrieved a")
    show_steps(page)


def open_run(page: Page) -> None:
    """Filter the runs by method, and open a run."""
    page.select_option("#by-method", index=page.locator("#by-method option").count() - 1)
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .command")
    show_steps(page)


def show_steps(page: Page) -> None:
    """Scroll to the list and the opened step for the screenshot."""
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)


def open_item(page: Page) -> None:
    """Open the first item of a stream, and the content of its prompt."""
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .passage")
    page.click("#detail .passage >> nth=0")
    show_steps(page)


def open_step(page: Page) -> None:
    """Open the first step of the last method, which has the most content, and go on by the keyboard."""
    page.select_option("#by-method", index=page.locator("#by-method option").count() - 1)
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .question")
    page.keyboard.press("j")
    page.wait_for_selector("#detail .where:has-text('2 of ')")
    show_steps(page)
