"""Implement `benchloom evaluate tanq`: score your own system on a dataset, with the baselines' metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks.artifacts.rows import Origin, make_id
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.own_evaluation import Evaluation, Measured, OwnRows, warn_few
from tasks.reports.printed import Printed, PrintedColumn, Rows
from tasks.reports.tables import Cell, mean_cell
from tasks.scoring.items import BadItem, Record
from tasks.systems.evaluation import KEY, SYSTEM, EvaluationOptions, ReadSection
from tasks.systems.own_items import (
    LINES,
    MOST_TEXT,
    ItemDataset,
    ItemReader,
    ItemSource,
    check_choice,
    take_text,
)
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, ItemProof, TanqItem
from tasks.tanq.graph.seed_question import KINDS
from tasks.tanq.labels import FailureKind, Support
from tasks.tanq.score.scores import PredictionScore
from tasks.tanq.solve.system_predictions import SystemTables
from tasks.tanq.solve.table_text import write_table_text

MOST_CELLS = 20_000
"""Maximum number of cells in an answer table."""
RULES = ("released", "paper")
FIGURES = ("precision", "recall", "f1")
GIVEN = Selection("predictions", {"failed": ""})


def _check(item: TanqItem) -> TanqItem:
    if not item.question.strip() or not item.columns or not any(row.filter_pass for row in item.rows):
        raise BadItem("lacks a question, a column or a row")
    return item


def _make_item(record: Record, source: ItemSource) -> TanqItem:
    """Convert a record to an item; only the question and the answer table are required."""
    question = take_text(record, "question")
    table = _read_table(record.get("answer_table"))
    kind = check_choice("kind", take_text(record, "kind", default=KINDS[0]), KINDS)
    given = record.get("proofs") or []
    if not isinstance(given, list):
        raise BadItem("proofs is not a list")
    proofs = tuple(_read_proof(proof, place) for place, proof in enumerate(given))
    text = write_table_text([[", ".join(cell) for cell in row] for row in table])
    return TanqItem(
        id=take_text(record, "id", default="") or make_id("own table", question, text),
        kind=kind,
        shape="",
        init_qid="",
        init_question="",
        ext_question="",
        ext_question_rephrased="",
        ext_question_cleaned="",
        question=question,
        noun="",
        relations=tuple(name for (name, *_) in table[0][1:]),
        extended_types=(),
        skills=(),
        columns=tuple(FinalColumn(header, header, "text", "") for (header, *_) in table[0][1:]),
        rows=tuple(_make_row(row) for row in table[1:]),
        answer_table=text,
        intermediates=(),
        things=(),
        instance_type=(),
        init_answer_proof=(),
        proofs=proofs,
        source=LINES,
        origin=(Origin("file", LINES),),
    )


def _make_row(row: Sequence[tuple[str, ...]]) -> FinalRow:
    name = ", ".join(row[0])
    return FinalRow(name, name, True, tuple(FinalCell(values, ()) for values in row[1:]))


def _read_table(table: object) -> list[list[tuple[str, ...]]]:
    """Parse a table: text with one line `a|b` per row, or a list of rows.

    A cell in a list is a string, a number, null, or a list of strings, numbers and nulls. Raises BadItem if
    the table is not valid.
    """
    if isinstance(table, str):
        table = [line.split("|") for line in table.strip("\n").split("\n")]
    if not isinstance(table, list) or not all(isinstance(row, list) for row in table) or len(table) < 2:
        raise BadItem(
            "answer_table is not a table: expected lines of `a|b`, or a list of rows with the header first"
        )
    if sum(map(len, table)) > MOST_CELLS:
        raise BadItem(f"answer_table has more than {MOST_CELLS:,} cells")
    rows = [[_read_cell(cell) for cell in row] for row in table]
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows) or not all(row[0] for row in rows):
        raise BadItem("answer_table needs at least two columns, rows of equal length, and a name in each row")
    if any(len(header) != 1 for header in rows[0]):
        raise BadItem("answer_table has a header cell that is not a single string")
    return rows


def _read_cell(cell: object) -> tuple[str, ...]:
    values = cell if isinstance(cell, list) else [cell]
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise BadItem("answer_table has a cell that is not text, a number, null or a list of these")
        # A bar within a cell would begin a new cell in the table's text.
        text = "" if value is None else " ".join(str(value).replace("\0", "").replace("|", " ").split())
        if len(text) > MOST_TEXT:
            raise BadItem(f"answer_table has a cell of more than {MOST_TEXT:,} characters")
        found += [text] if text else []
    return tuple(found)


def _read_proof(proof: object, place: int) -> ItemProof:
    if not isinstance(proof, dict):
        raise BadItem("proofs has an entry that is not an object with `article` and `text`")
    article, text = take_text(proof, "article"), take_text(proof, "text")
    section = take_text(proof, "section", default="")
    return ItemProof(
        id=make_id("own proof", place, article, text),
        fact="",
        entity="",
        relation="",
        value="",
        article=article,
        revision=None,
        section=section,
        parent="",
        position=place,
        kind="text",
        headers=(),
        row="",
        text=text,
        eval_result=Support.SUPPORTED,
    )


def measure(rows: OwnRows, options: EvaluationOptions, read: ReadSection) -> Measured:
    """Compute the figures of an evaluation from the rows of its stages."""
    predictions = rows["predictions"]
    scores = {score.id: score for score in rows["scores"]}
    kinds = {item.id: item.kind for item in rows["items"]}
    given = [scores[prediction.id] for prediction in predictions if not prediction.failed]
    lost = [prediction for prediction in predictions if prediction.failed]
    asked = {kinds[prediction.item] for prediction in predictions}
    failures = {failure for score in given for failure in score.failures}
    reasons = tuple(sorted({prediction.failed for prediction in lost}))
    warning = (
        f"{len(lost)} of {len(predictions)} questions have no answer. The means below leave out these "
        "questions."
    )
    figures = {
        "warnings": [*warn_few(len(predictions)), *([warning] if lost else [])],
        "counts": {
            "items": Derivation("count", (Selection("predictions"),)),
            "scored": Derivation("count", (GIVEN,)),
            "failed": Derivation("count", (Selection("predictions", {"failed": reasons}),)),
            "no_table": count_failure(FailureKind.NOT_A_TABLE),
        },
        "rms": measure_rms(given, len(lost)),
        "kinds": {
            kind: measure_rms(
                [score for score in given if kinds[score.item] == kind],
                sum(kinds[prediction.item] == kind for prediction in lost),
                kind,
            )
            for kind in KINDS
            if kind in asked
        },
        # The failure kinds of Table 11 that rules can detect.
        "failure_kinds": {failure: count_failure(failure) for failure in FailureKind if failure in failures},
    }
    return Measured(figures, [f"item {row.item}: no table: {row.failed}" for row in lost])


def measure_rms(scores: Sequence[PredictionScore], failed: int, kind: str = "") -> dict[str, dict[str, Cell]]:
    """Compute mean precision, recall and F1 (0 to 1) for both RMS variants, with confidence intervals.

    kind: the kind of questions to include; empty for all kinds.
    """
    through = {"id": GIVEN, **({"item": Selection("items", {"kind": kind})} if kind else {})}
    rows = (Selection("scores", {}, through),)
    return {
        rule: {
            figure: mean_cell(
                [getattr(score, f"{rule}_{figure}") for score in scores] + [None] * failed,
                "predictions",
                interval=True,
                derivation=Derivation("mean", rows, f"{rule}_{figure}"),
            )
            for figure in FIGURES
        }
        for rule in RULES
    }


def count_failure(kind: str) -> Derivation:
    """Return the derivation that counts the predictions with the given kind of failure."""
    return Derivation("count", (Selection("scores", {"failures": kind}, {"id": GIVEN}),))


def tell_failures(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a single line with each kind of failure and its number of predictions."""
    kinds = [f"{kind.replace('_', ' ')} {count}" for kind, count in figures["failure_kinds"].items()]
    yield f"failures: {', '.join(kinds) or 'none'}"


READER = ItemReader(_make_item, _check, TanqItem, page="docs/tanq.md")
EVALUATION = Evaluation(
    ItemDataset(
        TanqItem,
        stages=("tanq.system_predictions", "tanq.scores"),
        entries={"tanq.systems": {"set": KEY, "system": SYSTEM}, "tanq.evaluations": {"set": KEY}},
        reader=READER,
        identify=lambda item: (
            item.id,
            item.question,
            item.answer_table,
            [proof.id for proof in item.proofs],
        ),
        settings=("tanq.system_predictions", SystemTables),
        named=("tanq",),
    ),
    measure,
    (
        Printed(
            ("questions", "rule"),
            (Rows("/rms/*", ("all", "{0}")), Rows("/kinds/*/*", ("{0}", "{1}"))),
            (
                PrintedColumn("n", "f1/n"),
                PrintedColumn("without", "f1/failed"),
                PrintedColumn("precision", "precision", scale=100, digits=1),
                PrintedColumn("recall", "recall", scale=100, digits=1),
                PrintedColumn("F1", "f1", scale=100, digits=1),
            ),
            "{items} items, {scored} scored, {failed} failed, {no_table} without a table",
        ),
    ),
    tell_failures,
)
