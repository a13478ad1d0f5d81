"""The Rich console on which commands print tables and styled lines."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from tasks.lines import clean_lines


class CleanConsole(Console):
    """Writes texts without control characters: names and texts in them come from models, files and plugs."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text, a table's cell too, of what was printed."""
        return super().render_str(clean_lines(text), **options)
