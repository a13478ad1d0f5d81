"""Great Expectations' own pages over its results, made fit to be kept.

As they come they carry times and random marks, a picture that tells its makers of every look at it, and
the checked values as markup. Here the same results give the same bytes, and values are text.
"""

from __future__ import annotations

import html
from itertools import count
from pathlib import Path
from typing import Any

from tasks.files import write_text

SHOWN = 20
"""How many broken rows a page tells of."""
PARTS = {
    "top_navbar.j2": '<nav class="navbar border-bottom"><a href="../index.html">All contracts</a></nav>',
    "cloud-footer.j2": "",
    "favicon.j2": "",
}
"""What stands in place of their templates: the bar with the picture, and the newsletter."""


class DataDocs:
    """Writes a page for each suite's results into a folder.

    Styles and scripts of the pages come from the network, as Great Expectations makes them.
    """

    def __init__(self, folder: Path) -> None:
        from great_expectations.render.renderer import ValidationResultsPageRenderer
        from great_expectations.render.view import DefaultJinjaPageView
        from jinja2 import ChoiceLoader, DictLoader

        self._folder = folder
        self._renderer = ValidationResultsPageRenderer()
        self._view = DefaultJinjaPageView()
        self._view.env.loader = ChoiceLoader([DictLoader(PARTS), self._view.env.loader])
        self._view.env.filters["generate_html_element_uuid"] = self._mark
        self._marks = count(1)

    def write(self, suite: str, result: Any) -> None:
        """Write a suite's page; its results' values are escaped and cut in place."""
        for expectation_result in result.results:
            expectation_result.result = escape_values(expectation_result.result)
        result.meta = {"great_expectations_version": result.meta["great_expectations_version"]}
        self._marks = count(1)
        page = self._view.render(self._renderer.render(result), show_how_to_buttons=False)
        write_text(self._folder / f"{suite}.html", page)

    def _mark(self, prefix: str = "") -> str:
        return f"{prefix}{next(self._marks)}"


def escape_values(value: Any) -> Any:
    """Escape every text in a result: their tables show it as markup. Long lists are cut."""
    if isinstance(value, str):
        return html.escape(value)
    if isinstance(value, dict):
        kept = {key: member for key, member in value.items() if key != "unexpected_index_query"}
        return {escape_values(key): escape_values(member) for key, member in kept.items()}
    if isinstance(value, (list, tuple)):
        return [escape_values(member) for member in value[:SHOWN]]
    return value
