"""Encode an assessment's figures for report.json, with the rows that each figure was computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace

from tasks.grammar.assess.assessment_figures import AssessmentFigures, Rates
from tasks.grammar.assess.losses import Losses
from tasks.judging.trust import HumanAgreement
from tasks.lineage.derivation import Derivation, Number
from tasks.lineage.figures import encode_figure
from tasks.lineage.selection import Selection
from tasks.reports.metrics import DvcMetric, MetricGroup, choose_column
from tasks.reports.tables import Cell, FigureTable, encode_table

ALL = "all"
"""The key of the rates over all criteria together."""
SIZES = {
    "SQL templates": ("sql_templates", "sql_template", ""),
    "SQL queries (groups)": ("fill_in", "group", ""),
    "text templates": ("second_reading", "text_template", ""),
    "text queries": ("unbalanced", "", "in_unbalanced"),
    "balanced": ("balanced", "", "in_balanced"),
}
"""Column of Table 2 -> the artifact, the column with the counted values, and the flag of the set."""
RATES = {
    "accuracy": ("accuracy", "accuracy"),
    "R": ("consistent across phrasings", "robustness"),
    "Acc_retrieval_db": ("answered in at least one phrasing", "retrieval_db_accuracy"),
}
"""The paper's symbol of a headline rate -> the displayed name, and the field in `Rates`.

`accuracy` measures the whole system. `R` measures the model. `Acc_retrieval_db` measures the retriever and
the database together.
"""


def list_assessment_figures(figures: AssessmentFigures) -> dict[str, object]:
    """Return the sections that an assessment adds to report.json: fault, losses, judge, rates and tables."""
    return {
        "fault": figures.fault,
        "losses": _describe_losses(figures.losses),
        "judge": {
            "people": _describe_people(figures.judge.people, Selection("judgements")),
            "people_by_judge": _describe_people(
                figures.judge.people_by_judge, Selection("judgements", {"rule": ""})
            ),
        },
        "rates": {
            name: {
                mode: {part: _describe_rates(part, rates) for part, rates in parts.items()}
                for mode, parts in modes.items()
            }
            for name, modes in figures.rates.items()
        },
        "tables": {
            number: encode_table(_derive_table(number, table)) for number, table in figures.tables.items()
        },
    }


def list_charts(figures: AssessmentFigures) -> Iterator[MetricGroup]:
    """List the charts for DVC: each rate by criterion, groups by tag and criterion, and Table 4."""
    fault = figures.fault
    parts = figures.rates[fault.set][fault.mode]
    for symbol, (_, field) in RATES.items():
        yield MetricGroup(
            f"{symbol} by criterion",
            tuple(
                DvcMetric(part, value, getattr(rates.ci, field), getattr(rates.over, field).n)
                for part, rates in parts.items()
                if (value := getattr(rates, field)) is not None
            ),
        )
    yield MetricGroup(
        "groups by criterion",
        tuple(
            DvcMetric(f"{part} · {tag}", count)
            for part, tags in figures.gaps[fault.set][fault.mode].items()
            for tag, count in tags.items()
        ),
    )
    if "4" in figures.tables:
        for column in figures.tables["4"].columns:
            yield choose_column(f"{column} by queries", figures.tables["4"], column)


def describe_fault(figures: AssessmentFigures) -> str:
    """Return two sentences about the module at fault, with the set, the mode and the rule."""
    fault, losses = figures.fault, figures.losses
    place = f"{fault.set} set, {fault.mode} mode, rule {fault.rule}"
    a, b = figures.criteria
    wrong = f"{losses.wrong:,} of {losses.n:,} answers are wrong; {losses.why}"
    return (
        f"Module at fault: {losses.module or 'unknown'} ({wrong}). Module that causes the difference "
        f"between {a} and {b} questions: {fault.module or 'unknown'} ({place})."
    )


def derive_rate(part: str, measure: str) -> Derivation:
    """Return the derivation of a rate from judgements and answers. `part` is `all` or a criterion."""
    where = {} if part == ALL else {"criterion": part}
    return Derivation(measure, (Selection("judgements", where), Selection("answers", where)))


def _describe_rates(part: str, rates: Rates) -> dict[str, object]:
    values: Mapping[str, Number | None] = {
        "accuracy": rates.accuracy,
        "robustness": rates.robustness,
        "retrieval_db_accuracy": rates.retrieval_db_accuracy,
        "lambda": rates.gap_share,
    }
    return {name: encode_figure(value, derive_rate(part, name)) for name, value in values.items()}


def _describe_losses(losses: Losses) -> dict[str, object]:
    """Encode the number and share of wrong answers by module, with 95% intervals of the shares."""

    def derive(measure: str) -> Derivation:
        return Derivation(measure, (Selection("judgements"), Selection("answers"), Selection("questions")))

    return {
        "module": losses.module,
        "why": losses.why,
        "n": encode_figure(losses.n, derive("answers in the balanced set")),
        "wrong": encode_figure(losses.wrong, derive("wrong answers in the balanced set")),
        "parts": [
            {
                "name": part.module,
                "wrong": encode_figure(part.wrong, derive("wrong answers by module")),
                "share": {
                    **encode_figure(part.share, derive("share of wrong answers by module")),
                    "interval": None if part.low is None else [part.low, part.high],
                },
            }
            for part in losses.parts
        ],
    }


def _describe_people(people: HumanAgreement | None, judgements: Selection) -> dict[str, object] | None:
    """Encode the agreement of the selected judgements with human labels.

    Returns None if no answer has a label.
    """
    if people is None:
        return None
    labels = Selection("human_labels")
    both = {
        name: encode_figure(value, Derivation(f"{name} of judge and people", (labels, judgements)))
        for name, value in (("agreement", people.agreement), ("kappa", people.kappa))
    }
    alpha = encode_figure(people.raters_alpha, Derivation("Krippendorff's alpha", (labels,)))
    return {**asdict(people), **both, "raters_alpha": alpha}


def _derive_table(number: str, table: FigureTable) -> FigureTable:
    """Return one of the paper's tables with the derivation of each cell."""
    lines = tuple(
        replace(
            line,
            cells=tuple(
                replace(cell, basis=_derive_cell(number, place, column, cell))
                for column, cell in zip(table.columns, line.cells, strict=True)
            ),
        )
        for place, line in enumerate(table.lines)
    )
    return replace(table, lines=lines)


def _derive_cell(number: str, place: int, column: str, cell: Cell) -> Derivation:
    """Return the derivation of a cell. `place` is the zero-based index of the cell's table row."""
    if number == "2":
        return _derive_size(column, asked=place > 0)
    if number == "1":
        return Derivation(column, (Selection("baselines"), Selection("judgements")))
    return derive_rate(column if number == "3" else ALL, cell.kind)


def _derive_size(column: str, *, asked: bool) -> Derivation:
    """Return the derivation of a cell in Table 2, for the asked questions or for the whole dataset."""
    name, _, criterion = column.partition(", ")
    artifact, own, flag = SIZES[name]
    if criterion:
        where = {"criterion": criterion}
        rows = Selection("questions", {**where, flag: True}) if asked else Selection(artifact, where)
        return Derivation("count", (rows,))
    if asked:
        return Derivation("distinct", (Selection("questions"),), own)
    return Derivation("count", (Selection(artifact),))
