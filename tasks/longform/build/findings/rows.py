"""Describe the rows that a model invents for an analysis, and check that they give the intended outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.databases.columns import Column, split_column_id
from tasks.longform.build.analyses.kinds import FIRST_VALUE, PATTERN
from tasks.longform.build.analyses.outcomes import KNOWN, UNKNOWN, is_silent, is_told
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.evidence import FoundFigure
from tasks.longform.build.findings.answers import say_found, say_head
from tasks.longform.build.foci import Focus
from tasks.longform.build.words import join_words

ALONE = 3
"""Factor for the number of rows if no groups are compared."""


def list_needed(focus: Focus, columns: Sequence[Column]) -> list[str]:
    """List a question's tables and, recursively, the tables that their NOT NULL foreign keys refer to."""
    tables = list(dict.fromkeys(focus.tables))
    for table in tables:  # the loop body appends to this list
        shape = [column for column in columns if column.table == table and not column.nullable]
        targets = (split_column_id(key.references)[0] for key in shape if key.references)
        tables += [target for target in dict.fromkeys(targets) if target not in tables]
    return tables


def can_be_silent(question: ControlledQuestion, columns: Sequence[Column]) -> bool:
    """Return whether rows can leave a question unanswered, by omitting a group or having NULL amounts.

    columns: the columns of the question's tables.
    """
    if question.focus.group:
        return True
    empty = {column.id for column in columns if column.nullable}
    return all({figure.measure, figure.over} & empty for figure in question.figures)


def describe_invented(
    question: ControlledQuestion, columns: Sequence[Column], needed: Sequence[str], per_group: int
) -> list[dict[str, object]]:
    """Describe the requested rows, one entry per table: `count`, `name`, `columns` and `note`."""
    focus = question.focus
    named = question.groups[:FIRST_VALUE] if question.design == PATTERN else question.groups
    count = max(per_group, KNOWN + 1) * (len(named) or ALONE)
    group_table, group = split_column_id(focus.group) if focus.group else ("", "")
    described = []
    # Referenced tables first, so that every foreign key can refer to a row that already exists.
    for table in reversed(needed):
        notes = []
        if table == group_table:
            notes.append(f"{group} is {join_words(named, 'or')} in rows that are compared")
        if question.design == PATTERN and table == split_column_id(question.figures[0].measure)[0]:
            part = split_column_id(question.figures[0].measure)[1]
            notes.append(f"{part} is {join_words(question.groups[FIRST_VALUE:], 'or')}, now and then another")
        described.append(
            {
                "count": count if table == focus.table else max(KNOWN, len(named), count // 2),
                "name": table,
                "columns": [column.name for column in columns if column.table == table],
                "note": "; ".join(notes),
            }
        )
    return described


def say_expected(question: ControlledQuestion, expected: Sequence[str]) -> list[str]:
    """State, for each figure, the outcome that the rows must have."""
    return [
        f"{say_head(question, figure)}: {outcome}"
        for figure, outcome in zip(question.figures, expected, strict=True)
    ]


def say_rule(question: ControlledQuestion, expected: Sequence[str]) -> str:
    """State how many rows must have the question's amounts, or that no row may have these amounts."""
    focus = question.focus
    if UNKNOWN not in expected:
        names = join_words([measure.name for measure in focus.measures])
        return f"At least {KNOWN} rows of each group or side that is compared have the {names}."
    if focus.group:
        name = focus.find(question.figures[0].measure).name
        return (
            f"The rows must not tell the answer: no row of {focus.say_rows(question.groups[0])} has a known "
            f"{name}. Leave it NULL there, or write no such row."
        )
    one = focus.find(question.figures[0].measure).name
    over = focus.find(question.figures[0].over).name
    return (
        f"The rows must not tell the answer: no row has both the {one} and the {over}. One of them is NULL."
    )


def find_unfit(
    figures: Sequence[FoundFigure], question: ControlledQuestion, expected: Sequence[str]
) -> tuple[str, str] | None:
    """Return (drop reason, problem) if the rows do not fit the expected outcomes; otherwise None.

    Rows do not fit if they have too few amounts for an outcome, or if they answer a question whose outcome
    must be unknown.
    """
    for figure, outcome in zip(figures, expected, strict=True):
        head = say_head(question, figure.design)
        silent = is_silent(figure.design, question.groups, figure.counts)
        if outcome == UNKNOWN:
            if not silent:
                return "told", f"{head}: the rows must not show this: {say_found(figure, question)}"
        elif silent or not is_told(figure.design, question.groups, figure.counts, figure.values):
            counts = ", ".join(f"{side}: {count}" for side, count in figure.counts.items()) or "none"
            return (
                "nothing_to_compare",
                f"{head}: fewer than {KNOWN} rows of a group or side have the amount, or all rows have the "
                f"same amount ({counts})",
            )
    return None
