from __future__ import annotations

import pytest

from tasks.sources.wikipedia import api, wikitext
from tasks.sources.wikipedia.pages import PageText, read_page


class OwnReader:
    """Reads pages in this process; another test checks that a child process ends."""

    def read(self, text: str, title: str) -> PageText:
        return read_page(text, title)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikitext, "PageReader", OwnReader)
    monkeypatch.setattr(api, "PageReader", OwnReader)
