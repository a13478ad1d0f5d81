"""Make the tables and charts of the correctness page (Part I), and table cells for both parts' pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck import baselines
from tasks.ragcheck.contexts import BY_REFERENCE, RULES
from tasks.ragcheck.correlations import PEOPLE, MeasureCorrelation
from tasks.ragcheck.figures import Estimate
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.rule_comparison import RuleDifference
from tasks.reports.charts import Scale
from tasks.reports.declared import Measure, Slice, Table, Where
from tasks.reports.metrics import MetricGroup, choose_column
from tasks.reports.page import SystemFigure
from tasks.reports.parts import TableBlock
from tasks.reports.tables import Cell, FigureTable, leave_empty, read_systems

ALL = "all"
"""The label in a page's tables for figures over all datasets."""


def slice_by(name: str | tuple[str, ...], **columns: str) -> Slice[Any]:
    """Make a slice that selects the rows whose columns have the given values."""
    return Slice(name, lambda row: _has(row, columns), columns)


def list_lines(rows: Iterable[Any], *label: str, empty: str = "") -> list[Slice[Any]]:
    """Make one table line per row.

    label: the columns that form the line's label. empty: the text for an empty column.
    """
    return [slice_by(tuple(getattr(row, column) or empty for column in label), id=row.id) for row in rows]


def read_row(
    name: str, artifact: str, column: str, form: str = "", *, of: str = "", n: str = "n", **columns: str
) -> Measure[Any]:
    """Make a measure that finds a slice's first row with the values in `columns`, and reads its `column`.

    columns: column name -> value. of: the noun for the counted items. n: the column with their number.
    """

    def fill(rows: Sequence[Any], where: Where) -> Cell:
        row = next((row for row in rows if _has(row, columns)), None)
        return leave_empty("not measured", of) if row is None else read_cell(artifact, row, column, of, n)

    return Measure(name, fill, leave_empty, form)


def read_cell(artifact: str, row: Any, column: str, of: str = "", n: str = "n") -> Cell:
    """Make a cell from a column of an artifact's row: an estimate, or a plain number."""
    found = getattr(row, column)
    estimate = found if isinstance(found, Estimate) else Estimate(found, None, None)
    path = f"{column}.value" if isinstance(found, Estimate) else column
    why = estimate.why if estimate.value is not None else getattr(row, "note", "") or "not defined"
    count, failed = (getattr(row, n), getattr(row, "failed", 0)) if of else (0, 0)
    derivation = Derivation("mean", (Selection(artifact, {"id": row.id}),), path)
    return Cell(estimate.value, count, failed, estimate.interval, of, why, derivation)


def show_tables(
    shown: Mapping[str, FigureTable],
    recorded: Mapping[str, FigureTable],
    *,
    folded: bool = True,
    closed: Sequence[str] = (),
) -> TableBlock:
    """Make a block of tables in which each cell links to the recorded figure with the same derivation.

    folded, closed: see `TableBlock`.
    """
    places = {
        repr(cell.basis): f"/tables/{place}/lines/{number}/cells/{column}"
        for place, table in enumerate(recorded.values())
        for number, line in enumerate(table.lines)
        for column, cell in enumerate(line.cells)
    }
    pointers = {
        key: [[places.get(repr(cell.basis), "") for cell in line.cells] for line in table.lines]
        for key, table in shown.items()
    }
    return TableBlock(shown, folded, closed, pointers)


def _has(row: object, columns: Mapping[str, str]) -> bool:
    return all(getattr(row, column) == value for column, value in columns.items())


MEAN, PEARSON, SPEARMAN, ALPHA = (
    read_row(name, "correlations", name, form, of="answers", n=n)
    for name, form, n in (
        ("mean", "", "scored"),
        ("pearson", "scale:-1:1", "pairs"),
        ("spearman", "scale:-1:1", "pairs"),
        ("alpha", "", "pairs"),
    )
)
UNSURE, SKIPPED = (
    read_row(name, "correlations", column, "count")
    for name, column in (("not sure", "unsure"), ("skipped", "skipped"))
)
RULE_HEADS = ("system", "dataset", "judge", "figure")
RULES_DIFFER = read_row("difference", "rule_comparison", "estimate", of="answers")
BESIDE_RULES = tuple(
    read_row(name, "rule_comparison", column, form)
    for name, column, form in (
        ("p", "p_value", "p"),
        ("p (Holm)", "adjusted", "p"),
        ("conversations", "conversations", "count"),
    )
)


def tabulate_correctness(
    correlations: Sequence[MeasureCorrelation], rules: Sequence[RuleDifference]
) -> dict[str, FigureTable]:
    """Tabulate figure 2 and the differences between the rules, for the page's data file."""
    heads = ("system", "dataset", "measure", "judge")
    estimates = (MEAN, PEARSON, SPEARMAN, ALPHA)
    measured = Table("2", "Measures of correctness", heads, list_lines(correlations, *heads), estimates)
    differences = Table("", "E3 minus E2", RULE_HEADS, list_lines(rules, *RULE_HEADS), (RULES_DIFFER,))
    return {"measures": measured.fill(correlations), "rules": differences.fill(rules)}


def tabulate_rules(rules: Sequence[RuleDifference]) -> FigureTable:
    """Tabulate the differences between the rules with their p values, for the page."""
    lines = list_lines(rules, *RULE_HEADS, empty=ALL)
    return Table("", "", RULE_HEADS, lines, (RULES_DIFFER, *BESIDE_RULES)).fill(rules)


def tabulate_measures(
    correlations: Sequence[MeasureCorrelation], system: str, dataset: str, judges: Sequence[str]
) -> FigureTable:
    """Tabulate figure 2 for one system and dataset (empty: all datasets): people, baselines and judges."""
    order = [PEOPLE, *baselines.MEASURES, *RULES]
    rows = sorted(
        (row for row in correlations if (row.system, row.dataset) == (system, dataset)),
        key=lambda row: (order.index(row.measure), judges.index(row.judge) if row.judge else 0),
    )
    lines = [slice_by(name_measure(row.measure, row.judge), id=row.id) for row in rows]
    columns = (MEAN, UNSURE, SKIPPED, PEARSON, SPEARMAN, ALPHA)
    title = f"{system} on {dataset or 'all questions'}"
    return Table("", title, ("measure",), lines, columns).fill(rows)


def name_measure(measure: str, judge: str) -> str:
    """Return the name of a measure on the page, such as `E3: judge` or `word recall`."""
    if measure == PEOPLE:
        return f"{PEOPLE}: people"
    return f"{measure}: {judge}" if judge else measure.replace("_", " ")


def draw_means(measures: FigureTable) -> list[Scale]:
    """Draw the means of a table of measures: charts of grades (0 to 5) and of similarities (0 to 1)."""
    similar = {name_measure(measure, "") for measure in baselines.MEASURES}
    means = [(line.label[0], line.cells[0]) for line in measures.lines if line.cells[0].value is not None]
    grades = [(label, cell) for label, cell in means if label not in similar]
    similarities = [(label, cell) for label, cell in means if label in similar]
    return [
        Scale(f"Mean grade: {measures.title}", grades, top=TOP_SCORE),
        Scale(f"Mean similarity: {measures.title}", similarities),
    ]


def group_correctness(measures: FigureTable) -> list[MetricGroup]:
    """Choose the metrics for DVC: each measure's overall mean, and its correlation with people's ratings."""
    names = dict.fromkeys(measure for _, _, measure, _ in (line.label for line in measures.lines))
    means = [choose_column(name, measures, "mean", labels=(0, 3), where={1: "", 2: name}) for name in names]
    return [*means, choose_column("pearson", measures, "pearson", where={1: ""})]


def list_answer_systems(correlations: Sequence[MeasureCorrelation]) -> list[SystemFigure]:
    """List the mean grade of each system's answers, under rule E3 and over all datasets."""
    graded = [row for row in correlations if row.measure == BY_REFERENCE and not row.dataset]
    figures: list[SystemFigure] = []
    for judge in sorted({row.judge for row in graded}):
        lines = list_lines([row for row in graded if row.judge == judge], "system")
        figures += read_systems(
            Table("", "", ("system",), lines, (MEAN,)).fill(graded),
            "mean",
            dataset="all questions",
            measure="grade of the answers, 0 to 5",
            symbol=f"{BY_REFERENCE}, {judge}",
            top=TOP_SCORE,
        )
    return figures
