"""Make the tables and charts of the page on conversations: means, system pairs, leak rates and endings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.ragcheck.comparison import (
    DIFFERENCE,
    FLAGGED,
    LEAK,
    MEAN,
    MEASURES,
    PROBING,
    RATE,
    SIGN,
    ConversationFigure,
)
from tasks.ragcheck.conversations import Conversation, End
from tasks.ragcheck.grading import TOP_SCORE
from tasks.ragcheck.guards import COMPOSED, FINISHED
from tasks.ragcheck.tables import ALL, list_lines, read_row, slice_by
from tasks.reports.charts import Axis, Plot, Point, Series, draw_lines
from tasks.reports.declared import Measure, Table
from tasks.reports.metrics import MetricGroup, choose_column
from tasks.reports.page import SystemFigure
from tasks.reports.tables import Cell, FigureTable, leave_empty, read_systems

HEADS = ("dataset", "system", "other", "measure")
COUNTED = {MEAN: "conversations", DIFFERENCE: "questions", SIGN: "datasets", RATE: "texts"}
"""Kind of figure -> the noun for the items that its `n` counts."""
WORDS = {
    "wscore": ("grade, weighted by turn", "higher is better"),
    "lscore": ("turns needed", "lower is better"),
    "mscore": ("best grade", "higher is better"),
}
"""Measure -> its name on the page, and whether higher or lower is better."""
RATES = {
    LEAK: "answers that leak a word",
    f"{LEAK}_{COMPOSED}": f"tentative answers ({COMPOSED})",
    f"{LEAK}_{FINISHED}": f"final answers ({FINISHED})",
    PROBING: "probing questions, with an unknown word",
    FLAGGED: "questions flagged",
}
"""Rate -> its name on the page."""


def _read_figure(kind: str, name: str = "", form: str = "", **columns: str) -> Measure[ConversationFigure]:
    return read_row(name or kind, "comparison", "estimate", form, of=COUNTED[kind], kind=kind, **columns)


def _read_p_value(name: str, column: str) -> Measure[ConversationFigure]:
    return read_row(name, "comparison", column, "p", kind=DIFFERENCE)


COUNT = Measure[Conversation](
    "conversations",
    lambda rows, where: Cell(
        len(rows), 0, 0, None, "", basis=Derivation("count", (Selection("conversations", where),))
    ),
    leave_empty,
    "count",
)


def tabulate_continuity(comparison: Sequence[ConversationFigure]) -> dict[str, FigureTable]:
    """Tabulate means, differences, signs and rates by kind, for the page's data file."""
    return {
        kind: Table(
            "",
            f"Conversations: {kind}",
            HEADS,
            list_lines([row for row in comparison if row.kind == kind], *HEADS),
            (_read_figure(kind),),
        ).fill(comparison)
        for kind in dict.fromkeys(row.kind for row in comparison)
    }


def tabulate_means(
    comparison: Sequence[ConversationFigure], systems: Sequence[str], tops: Mapping[str, int]
) -> FigureTable:
    """Tabulate the means of each system over all questions. tops: measure -> the upper bound of its scale."""
    measures = [
        _read_figure(MEAN, f"{words} ({name}, {better})", f"scale:0:{tops[name]}", measure=name)
        for name, (words, better) in WORDS.items()
    ]
    rows = [slice_by(system, dataset="", system=system) for system in systems]
    return Table("", "", ("system",), rows, measures).fill(comparison)


def tabulate_pairs(
    comparison: Sequence[ConversationFigure], systems: Sequence[str], turns: int
) -> dict[str, FigureTable]:
    """Tabulate the differences of all pairs of systems, over all questions and by dataset.

    turns: the turn limit of a conversation, which limits the difference in lscore.
    """
    datasets = sorted({row.dataset for row in comparison if row.kind == DIFFERENCE})
    lines = {
        dataset: [
            slice_by(
                (f"{first} minus {other}", name, dataset or ALL),
                dataset=dataset,
                system=first,
                other=other,
                measure=name,
            )
            for first, other in combinations(systems, 2)
            for name in MEASURES
        ]
        for dataset in datasets
    }
    measures = (
        _read_figure(DIFFERENCE, form=f"shift:{max(TOP_SCORE, turns - 1)}"),
        _read_p_value("p", "p_value"),
        _read_p_value("p, adjusted", "adjusted"),
        _read_figure(SIGN, "datasets with the same sign", "count"),
    )
    heads = ("systems", "measure", "dataset")
    whole = measures if len(datasets) > 1 else measures[:3]
    tables = {"pairs": Table("", "Over all questions", heads, lines.pop(""), whole)}
    if lines:
        parts = [line for dataset in lines.values() for line in dataset]
        tables["pairs-by-dataset"] = Table("", "By dataset", heads, parts, measures[:3])
    return {key: table.fill(comparison) for key, table in tables.items()}


def draw_datasets(
    comparison: Sequence[ConversationFigure], systems: Sequence[str], tops: Mapping[str, int]
) -> list[Plot]:
    """Draw figure 9: each measure's means by dataset, one line per system; no plots for a single dataset."""
    means = sorted((row for row in comparison if row.kind == MEAN), key=lambda row: row.dataset)
    datasets = list(dict.fromkeys(row.dataset for row in means if row.dataset))

    def draw(place: int, system: str, measure: str) -> Series:
        points = [
            Point(
                datasets.index(row.dataset),
                value,
                row.estimate.interval,
                f"{system}, {row.dataset}: {value:.3f}",
            )
            for row in means
            if row.dataset and (row.system, row.measure) == (system, measure)
            if (value := row.estimate.value) is not None
        ]
        return Series(system, points, place)

    return [
        draw_lines(
            measure,
            [draw(place, system, measure) for place, system in enumerate(systems)],
            Axis(categories=datasets),
            Axis(bottom=0, top=tops[measure]),
            note=WORDS[measure][1],
            marks=True,
        )
        for measure in MEASURES
        if datasets
    ]


def tabulate_rates(comparison: Sequence[ConversationFigure], systems: Sequence[str]) -> FigureTable:
    """Tabulate the leak, probing and flag rates of each system's conversations."""
    rows = [slice_by(system, system=system) for system in systems]
    measures = [_read_figure(RATE, words, measure=name) for name, words in RATES.items()]
    return Table("", "", ("system",), rows, measures).fill(comparison)


def tabulate_ends(conversations: Sequence[Conversation], systems: Sequence[str]) -> FigureTable:
    """Count each system's conversations by how they ended."""
    rows = [slice_by(system, system=system) for system in systems]
    ends = [slice_by(end.shown, ended=end.value) for end in End]
    return Table("", "", ("system",), rows, (COUNT,), ends).fill(conversations)


def group_continuity(tables: Mapping[str, FigureTable]) -> list[MetricGroup]:
    """Choose the metrics for DVC: the mean of every measure over all datasets."""
    lines = tables[MEAN].lines if MEAN in tables else ()
    return [
        choose_column(name, tables[MEAN], MEAN, labels=(1,), where={0: "", 3: name})
        for name in dict.fromkeys(line.label[3] for line in lines)
    ]


def list_conversation_systems(comparison: Sequence[ConversationFigure]) -> list[SystemFigure]:
    """List the mean wscore of each system over all datasets."""
    means = [row for row in comparison if (row.kind, row.measure, row.dataset) == (MEAN, "wscore", "")]
    table = Table("", "", ("system",), list_lines(means, "system"), (_read_figure(MEAN),)).fill(means)
    return list(
        read_systems(
            table,
            MEAN,
            dataset="all conversations",
            measure="grade, weighted by turn, 0 to 5",
            symbol="wscore",
            top=TOP_SCORE,
        )
    )
