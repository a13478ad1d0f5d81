"""Fixtures: one Chromium per test module, and an empty page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.watch import open_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()
