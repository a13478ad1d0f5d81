"""Table 1: the question set (section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.longform.build.classify import KINDS
from tasks.reports.figure_cells import FigureTable, Line, count_cell


def describe_set(statistics: Mapping[str, Any]) -> FigureTable:
    """Make Table 1 of what `statistics.json` holds (section 2)."""
    kinds = statistics["by_kind"]
    given = statistics["databases"]
    databases: Mapping[str, Any] = {name: _tell_whole(value) for name, value in given.items()}
    n, tables = statistics["items"], databases["all_tables"]
    items = Selection("items")
    of_kind = {kind: Selection("items", {"kind": kind}) for kind in KINDS}
    made = Selection("construct", {}, {"id": items})
    count, words, middle = "count", "mean words of the reference", "median of what its script makes"
    rows = [
        ("questions", n, n, "questions", Derivation(count, (items,))),
        *(
            (f"questions, {kind}", kinds[kind]["items"], n, "questions", Derivation(count, (of_kind[kind],)))
            for kind in KINDS
        ),
        (
            "reference answer, mean words",
            statistics["answer_words"],
            n,
            "questions",
            Derivation(words, (items,)),
        ),
        *(
            (
                f"reference answer, mean words, {kind}",
                kinds[kind]["answer_words"],
                kinds[kind]["items"],
                "questions",
                Derivation(words, (of_kind[kind],)),
            )
            for kind in KINDS
        ),
        ("tables per database, median", databases["tables"], n, "databases", Derivation(middle, (made,))),
        (
            "columns per table, median",
            databases["columns_per_table"],
            tables,
            "tables",
            Derivation(middle, (made,)),
        ),
        (
            "rows per table, median",
            databases["rows_per_table"],
            tables,
            "tables",
            Derivation(middle, (made,)),
        ),
    ]
    lines = tuple(
        Line((label,), (count_cell(value, over, of, basis=basis),)) for label, value, over, of, basis in rows
    )
    return FigureTable("1", "The question set", ("measure",), ("value",), lines)


def _tell_whole(median: float | None) -> float | None:
    """Make a median that is a whole number one: it is a number of things, and shown as such."""
    return int(median) if median is not None and median == int(median) else median
