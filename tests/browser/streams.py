"""Drive the page of an evaluation over a stream, with made-up steps."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.streambench.made_evaluation import write_evaluation


def write_stream(folder: Path) -> Path:
    """Write the page of an evaluation of nine methods; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    out, _ = write_evaluation(folder)
    return out / "index.html"


def open_walk(page: Page) -> None:
    """Narrow the steps to one method and its right answers, open one, and walk on by the keyboard."""
    page.select_option("#by-method", "self_stream_icl")
    page.select_option("#by-outcome", "right")
    page.click("#list a >> nth=8")
    page.wait_for_selector("#detail .retrieved a")
    page.keyboard.press("j")
    page.wait_for_selector("#detail .where:has-text('10 of ')")
    page.wait_for_selector("#detail .retrieved a")
    show_steps(page)


def open_run(page: Page) -> None:
    """Narrow the runs to one method, and open one."""
    page.select_option("#by-method", index=page.locator("#by-method option").count() - 1)
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .command")
    show_steps(page)


def show_steps(page: Page) -> None:
    """Bring the list and what is opened into the picture."""
    page.locator("#browse").evaluate("section => section.scrollIntoView({behavior: 'instant'})")
    page.locator("#detail").evaluate("detail => detail.scrollTop = 0")
    page.wait_for_timeout(300)


def open_item(page: Page) -> None:
    """Open the first item of a stream, and what its prompt shows."""
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .passage")
    page.click("#detail .passage >> nth=0")
    show_steps(page)


def open_step(page: Page) -> None:
    """Open the first step of the last method, which has the most to show, and walk on by the keyboard."""
    page.select_option("#by-method", index=page.locator("#by-method option").count() - 1)
    page.click("#list a >> nth=0")
    page.wait_for_selector("#detail .question")
    page.keyboard.press("j")
    page.wait_for_selector("#detail .where:has-text('2 of ')")
    show_steps(page)
