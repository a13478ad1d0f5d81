"""Trace every figure of a record to a raw file, like `benchloom lineage`."""

import json
from pathlib import Path

from flows.commands.lineage import open_lineage, open_record
from tasks.lineage.bases import list_record_figures
from tasks.lineage.derivation import MEASURES
from tasks.lineage.nodes import walk_nodes

OPTIONS = ("/limit", "/turns")
"""Numbers of an evaluation's record that are user input."""


def assert_figures_lead_to(raw: str, folder: Path, root: Path, record: str = "figures.json") -> int:
    """Assert that every figure of a record traces to a raw file; return the number of recomputed figures."""
    figures = [
        figure
        for figure in list_record_figures(json.loads((folder / record).read_text()))
        if figure.pointer not in OPTIONS
    ]
    assert figures
    assert [figure.pointer for figure in figures if figure.derivation is None] == []
    again = 0
    path = (folder / record).relative_to(root) if folder.is_relative_to(root) else folder / record
    with open_record(path.as_posix(), root) as opened, open_lineage(*opened) as lineage:
        for figure in figures:
            node = lineage.trace_figure(path.as_posix(), figure.pointer)
            assert lineage.gaps == [], figure.pointer
            files = {
                listed_node.reference: listed_node.summary
                for listed_node in walk_nodes(node)
                if listed_node.kind == "file"
            }
            if not figure.derivation.rows:
                continue  # no such stage was run
            assert files[raw]["now"] == "same"
            assert files[raw]["md5"]
            computed = figure.derivation.measure in MEASURES and bool(figure.derivation.rows)
            assert (node.summary["again"] is not None) == (computed and figure.value is not None)
            again += computed
    return again
