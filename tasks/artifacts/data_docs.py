"""Write Great Expectations' Data Docs reproducibly and safely.

Out of the box they contain times and random element ids, a tracking image, and unescaped values. Here the
same results give the same bytes, and values are escaped.
"""

from __future__ import annotations

import html
from itertools import count
from pathlib import Path
from typing import Any

from tasks.files import write_text

SHOWN = 20
"""Maximum number of broken rows on a page."""
PARTS = {
    "top_navbar.j2": '<nav class="navbar border-bottom"><a href="../index.html">All contracts</a></nav>',
    "cloud-footer.j2": "",
    "favicon.j2": "",
}
"""Replacements of templates: without the tracking image and the newsletter."""


class DataDocs:
    """Writes a page for each suite's results into a folder.

    As Great Expectations makes them, the pages load styles and scripts from the network.
    """

    def __init__(self, folder: Path) -> None:
        from great_expectations.render.renderer import ValidationResultsPageRenderer
        from great_expectations.render.view import DefaultJinjaPageView
        from jinja2 import ChoiceLoader, DictLoader

        self._folder = folder
        self._renderer = ValidationResultsPageRenderer()
        self._view = DefaultJinjaPageView()
        self._view.env.loader = ChoiceLoader([DictLoader(PARTS), self._view.env.loader])
        self._view.env.filters["generate_html_element_uuid"] = self._make_element_id
        self._numbers = count(1)

    def write(self, suite: str, result: Any) -> None:
        """Write a suite's page. The result's values are escaped and shortened in place."""
        for expectation_result in result.results:
            expectation_result.result = escape_values(expectation_result.result)
        result.meta = {"great_expectations_version": result.meta["great_expectations_version"]}
        self._numbers = count(1)
        page = self._view.render(self._renderer.render(result), show_how_to_buttons=False)
        write_text(self._folder / f"{suite}.html", page)

    def _make_element_id(self, prefix: str = "") -> str:
        return f"{prefix}{next(self._numbers)}"


def escape_values(value: object) -> object:
    """Escape all texts in a result for HTML, and shorten lists to SHOWN members."""
    if isinstance(value, str):
        return html.escape(value)
    if isinstance(value, dict):
        kept = {key: member for key, member in value.items() if key != "unexpected_index_query"}
        return {escape_values(key): escape_values(member) for key, member in kept.items()}
    if isinstance(value, (list, tuple)):
        return [escape_values(member) for member in value[:SHOWN]]
    return value
