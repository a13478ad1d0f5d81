"""The Rich console that commands use to print tables and styled lines."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from tasks.lines import clean_lines


class CleanConsole(Console):
    """A console that removes control characters, because printed texts may come from models and plug-ins."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a printed text, including a table cell, to Rich text without control characters."""
        return super().render_str(clean_lines(text), **options)
