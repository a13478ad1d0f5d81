"""Table 1: the question set (section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.longform.rows import KINDS
from tasks.reports.figure_cells import FigureTable, Line, count_cell


def describe_set(statistics: Mapping[str, Any]) -> FigureTable:
    """Make Table 1 of what `statistics.json` holds (section 2)."""
    kinds = statistics["by_kind"]
    given = statistics["databases"]
    databases: Mapping[str, Any] = {name: _tell_whole(value) for name, value in given.items()}
    n, tables = statistics["items"], databases["all_tables"]
    rows = [
        ("questions", count_cell(n, n, "questions")),
        *((f"questions, {kind}", count_cell(kinds[kind]["items"], n, "questions")) for kind in KINDS),
        ("reference answer, mean words", count_cell(statistics["answer_words"], n, "questions")),
        *(
            (
                f"reference answer, mean words, {kind}",
                count_cell(kinds[kind]["answer_words"], kinds[kind]["items"], "questions"),
            )
            for kind in KINDS
        ),
        ("tables per database, median", count_cell(databases["tables"], n, "databases")),
        ("columns per table, median", count_cell(databases["columns_per_table"], tables, "tables")),
        ("rows per table, median", count_cell(databases["rows_per_table"], tables, "tables")),
    ]
    lines = tuple(Line((label,), (cell,)) for label, cell in rows)
    return FigureTable("1", "The question set", ("measure",), ("value",), lines)


def _tell_whole(median: float | None) -> float | None:
    """Make a median that is a whole number one: it is a number of things, and shown as such."""
    return int(median) if median is not None and median == int(median) else median
