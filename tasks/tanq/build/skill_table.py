"""Apply skills to an answer table: filters, rewritten columns and calculated columns (step 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from tasks.sources.wikidata.rows import restore_value
from tasks.sources.wikidata.values import Time
from tasks.tanq.build.amount_skills import (
    SCALES,
    WORDS,
    approximate,
    convert_scale,
    convert_unit,
    find_words,
    round_converted,
)
from tasks.tanq.build.date_skills import (
    count_days_between,
    count_full_years,
    count_years_between,
    read_year,
    show_year,
)
from tasks.tanq.build.skill_use import (
    AGE,
    APPROXIMATION,
    CONVERSION,
    DATE_TO_YEAR,
    DAYS,
    EQUAL,
    FILTER_ENTITY,
    FILTER_NUMBER,
    FILTERS,
    FULL_YEARS,
    LEAST,
    REWRITES,
    TIME_CALCULATION,
    YEARS,
    SkillUse,
)
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow
from tasks.tanq.graph.facts import Fact
from tasks.tanq.graph.showing import ITEM, TEXT, show_amount


@dataclass(frozen=True)
class BaseColumn:
    """A column before skills are applied.

    words, one: the column's plural and singular names. unit: the label of the unit, or empty.
    """

    relation: str
    words: str
    one: str
    kind: str
    unit: str
    tag: str = ""
    aspect: str = ""


@dataclass(frozen=True)
class BaseRow:
    """A row before skills are applied: for each column, the facts in its cell."""

    entity: str
    label: str
    cells: tuple[tuple[Fact, ...], ...]


@dataclass(frozen=True)
class BaseTable:
    """An answer table before skills are applied."""

    columns: tuple[BaseColumn, ...]
    rows: tuple[BaseRow, ...]

    def find(self, relation: str) -> int:
        """Return the position of a relation's column. Raises ValueError if there is no such column."""
        return [column.relation for column in self.columns].index(relation)

    def list_cells(self, relation: str) -> list[tuple[Fact, ...]]:
        """List the cells of a relation's column."""
        place = self.find(relation)
        return [row.cells[place] for row in self.rows]


def apply_skills(
    table: BaseTable, uses: Sequence[SkillUse]
) -> tuple[tuple[FinalColumn, ...], tuple[FinalRow, ...]]:
    """Apply skills to a table; rows that fail a filter are kept, with `filter_pass` false.

    Filters compare the facts' values, even if another skill rewrites the column. Raises ValueError if a use
    does not fit its column.
    """
    columns = [
        _make_column(column, name_values(table, column), _list_rewrites(uses, column.relation))
        for column in table.columns
    ]
    made = [use for use in uses if use.name == TIME_CALCULATION]
    columns += [FinalColumn("", name_made(use, table), "quantity", _name_count(use)) for use in made]
    rows = []
    for row in table.rows:
        cells = [
            rewrite_cell(cell, column, _list_rewrites(uses, column.relation))
            for cell, column in zip(row.cells, table.columns, strict=True)
        ]
        cells += [calculate_cell(row, table, use) for use in made]
        passes = all(passes_filter(row, table, use) for use in uses if use.name in FILTERS)
        rows.append(FinalRow(row.entity, row.label, passes, tuple(cells)))
    return tuple(columns), tuple(rows)


def passes_filter(row: BaseRow, table: BaseTable, use: SkillUse) -> bool:
    """Return whether a row passes a filter. One passing value is enough; an empty cell fails."""
    return any(passes_bound(use, fact) for fact in row.cells[table.find(use.relation)])


def passes_bound(use: SkillUse, fact: Fact) -> bool:
    """Return whether a fact passes a filter."""
    if use.name == FILTER_ENTITY:
        return fact.shown == use.operand
    if use.name == FILTER_NUMBER:
        return _compare(get_amount(fact), use.operator, Decimal(use.operand))
    return _compare(get_time(fact).year, use.operator, read_year(use.operand))


def rewrite_cell(cell: Sequence[Fact], column: BaseColumn, uses: Sequence[SkillUse]) -> FinalCell:
    """Return a cell with the column's skills applied. uses: these skills, in the order of `REWRITES`."""
    values = [_rewrite(fact, column, uses) for fact in cell]
    return FinalCell(tuple(dict.fromkeys(values)), tuple(fact.id for fact in cell))


def calculate_cell(row: BaseRow, table: BaseTable, use: SkillUse) -> FinalCell:
    """Return the cell of a time calculation; empty if one of the two dates is missing."""
    first, second = (row.cells[table.find(relation)] for relation in (use.relation, use.other))
    if not first or not second:
        return FinalCell((), ())
    count = {FULL_YEARS: count_full_years, YEARS: count_years_between, DAYS: count_days_between}[use.operand]
    number = count(get_time(first[0]), get_time(second[0]))
    return FinalCell((str(number),), (first[0].id, second[0].id))


def get_amount(fact: Fact) -> Decimal:
    """Return the exact amount of a fact. Raises ValueError if the fact has no amount."""
    if fact.value.amount is None:
        raise ValueError(f"{fact.shown!r:.60} is not an amount")
    return Decimal(fact.value.amount)


def get_time(fact: Fact) -> Time:
    """Return the time of a fact. Raises ValueError if the fact has no time."""
    value = restore_value(fact.value)
    if not isinstance(value, Time):
        raise ValueError(f"{fact.shown!r:.60} is not a time")  # noqa: TRY004 - a value of data, no type of ours
    return value


def name_made(use: SkillUse, table: BaseTable) -> str:
    """Return the header of a calculated column, such as `time from founding to dissolution (years)`.

    The age between birth and death has the header `age at death (years)`.
    """
    first, second = (table.columns[table.find(relation)] for relation in (use.relation, use.other))
    if (first.relation, second.relation) == AGE:
        return "age at death (years)"
    return f"time from {name_event(first.one)} to {name_event(second.one)} ({_name_count(use)})"


def name_event(words: str) -> str:
    """Return the event in the name of a date: `founding` for `date of founding`."""
    return words.removeprefix("date of ").removesuffix(" date")


def _name_count(use: SkillUse) -> str:
    return "days" if use.operand == DAYS else "years"


def _list_rewrites(uses: Sequence[SkillUse], relation: str) -> list[SkillUse]:
    found = [use for use in uses if use.relation == relation and use.name in REWRITES]
    return sorted(found, key=lambda use: REWRITES.index(use.name))


def name_values(table: BaseTable, column: BaseColumn) -> str:
    """Return the name of a column: the plural if a cell has several values, otherwise the singular."""
    several = column.kind in (ITEM, TEXT) and any(len(cell) > 1 for cell in table.list_cells(column.relation))
    return column.words if several else column.one


def _make_column(column: BaseColumn, words: str, uses: Sequence[SkillUse]) -> FinalColumn:
    unit = find_words(column.unit)
    sign, name = (unit.sign, unit.many) if unit else ("", "")
    for use in uses:
        if use.name == DATE_TO_YEAR:
            words = say_year_of(words)
        elif use.name == CONVERSION:
            other = None if use.operand in SCALES else WORDS[use.operand]
            sign, name = (other.sign, other.many) if other else (use.operand, use.operand)
    header = f"{words} ({sign})" if sign else words
    return FinalColumn(column.relation, header, column.kind, name)


def say_year_of(words: str) -> str:
    """Return the name of a column that shows years instead of dates: `year of birth` for `date of birth`."""
    if words.startswith(("year of ", "years of ")) or words.endswith((" year", " years")):
        return words
    for date, year in (("date", "year"), ("dates", "years")):
        if words.startswith(f"{date} of "):
            return f"{year} of {words.removeprefix(f'{date} of ')}"
        if words.endswith(f" {date}"):
            return f"{words.removesuffix(f' {date}')} {year}"
    return f"year of {words}"


def _rewrite(fact: Fact, column: BaseColumn, uses: Sequence[SkillUse]) -> str:
    if not uses:
        return fact.shown
    if uses[0].name == DATE_TO_YEAR:
        return show_year(get_time(fact))
    amount = get_amount(fact)
    for use in uses:
        if use.name == APPROXIMATION:
            amount = approximate(amount, int(use.operand))
        else:
            amount = convert_amount(amount, column, use)
    return show_amount(amount if uses[-1].name == APPROXIMATION else round_converted(amount))


def convert_amount(amount: Decimal, column: BaseColumn, use: SkillUse) -> Decimal:
    """Convert a column's amount to the unit or scale that a conversion specifies."""
    if use.operand in SCALES:
        return convert_scale(amount, use.operand)
    unit = find_words(column.unit)
    return convert_unit(amount, unit.one if unit else "", use.operand)


def _compare(found: Decimal | int, operator: str, bound: Decimal | int) -> bool:
    if operator == EQUAL:
        return found == bound
    return found >= bound if operator == LEAST else found <= bound
