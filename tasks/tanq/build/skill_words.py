"""Add skills to the text of a question: sentences for filters, and words that replace a column's tag.

The rephrased question has a tag in parentheses for every column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from tasks.tanq.build.amount_skills import SCALES, STEPS, WORDS, find_words, say_number
from tasks.tanq.build.skill_table import BaseColumn, BaseTable, say_year_of
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
    TIME_CALCULATION,
    YEARS,
    SkillUse,
)

BOUNDS = {EQUAL: "", ">=": "at least ", "<=": "at most "}
YEAR_BOUNDS = {EQUAL: "", ">=": " or later", "<=": " or earlier"}
BY_YEAR = {
    "P569": "born in {}", "P570": "who died in {}", "P571": "founded in {}", "P576": "dissolved in {}",
    "P575": "discovered in {}", "P577": "released in {}", "P729": "that entered service in {}",
    "P730": "that left service in {}", "P1619": "opened in {}", "P3999": "closed in {}",
}  # fmt: skip
"""Map each date property to the wording of a filter on the year of the date."""


def make_tags(labels: Mapping[str, str]) -> dict[str, str]:
    """Map each relation to a tag made from its label, such as `shares_border_with`.

    labels: relation -> label. If several relations have the same label, their tags end with their ids.
    """
    slugs = {relation: re.sub(r"\W+", "_", label.lower()).strip("_") for relation, label in labels.items()}
    taken = list(slugs.values())
    return {
        relation: slug if slug and taken.count(slug) == 1 else f"{slug}_{relation}".strip("_")
        for relation, slug in slugs.items()
    }


def find_tags(text: str, tags: Iterable[str]) -> list[str]:
    """List the tags in a text, in order and with duplicates."""
    known = set(tags)
    return [tag for tag in re.findall(r"\(([^()\s]+)\)", text) if tag in known]


def remove_tags(text: str, tags: Iterable[str]) -> str:
    """Remove the tags from a text, with the space before them."""
    for tag in tags:
        text = text.replace(f" ({tag})", "")
    return text


def write_question(tagged: str, table: BaseTable, uses: Sequence[SkillUse], noun: str) -> str:
    """Return the final text of a question with its skills.

    tagged: the question with tags. noun: the noun for the answers of the question.
    """
    text = tagged
    for column in table.columns:
        text = _write_column(text, column, [use for use in uses if use.relation == column.relation])
    for use in uses:
        if use.name == TIME_CALCULATION:
            text = f"{text.removesuffix('?')}, and {say_use(use, table, noun)}?"
    sentences = [say_use(use, table, noun) for use in uses if use.name in FILTERS]
    return " ".join([text, *sentences])


def say_use(use: SkillUse, table: BaseTable, noun: str) -> str:
    """Return the sentence of a filter, or the words that another skill adds to the question."""
    column = table.columns[table.find(use.relation)]
    if use.name in FILTERS:
        return f"Keep only the {noun} {_say_filter(use, column, table)}."
    if use.name == TIME_CALCULATION:
        return _say_calculation(use, table)
    if use.name == DATE_TO_YEAR:
        return say_year_of(column.words)
    if use.name == CONVERSION:
        return f"in {_name_target(use)}"
    return f"(rounded to the nearest {STEPS[int(use.operand)]})"


def _say_filter(use: SkillUse, column: BaseColumn, table: BaseTable) -> str:
    if use.name == FILTER_ENTITY:
        several = any(len(cell) > 1 for cell in table.list_cells(use.relation))
        return (
            f"whose {column.words} include {use.operand}"
            if several
            else f"whose {column.one} is {use.operand}"
        )
    if use.name == FILTER_NUMBER:
        return f"whose {column.one} is {BOUNDS[use.operator]}{say_amount(Decimal(use.operand), column)}"
    year = f"{use.operand}{YEAR_BOUNDS[use.operator]}"
    said = BY_YEAR.get(column.relation)
    return said.format(year) if said else f"whose {say_year_of(column.one)} is {year}"


def say_amount(amount: Decimal, column: BaseColumn) -> str:
    """Format an amount with its unit: `500,000 square kilometres`, `1 hour`."""
    unit = find_words(column.unit)
    if unit is None:
        return say_number(amount)
    return f"{say_number(amount)} {unit.one if abs(amount) == 1 else unit.many}"


def _say_calculation(use: SkillUse, table: BaseTable) -> str:
    first, second = (table.columns[table.find(relation)] for relation in (use.relation, use.other))
    if (first.relation, second.relation) == AGE:
        return "at what age did they die"
    if use.operand == YEARS:  # only the years are subtracted, so the question must not ask for dates
        start, end = say_year_of(first.one), say_year_of(second.one)
        return f"how many years lie between their {start} and their {end}"
    counted = "days" if use.operand == DAYS else "full years"
    return f"how many {counted} lie between their {first.one} and their {second.one}"


def _name_target(use: SkillUse) -> str:
    return use.operand if use.operand in SCALES else WORDS[use.operand].many


def _write_column(text: str, column: BaseColumn, uses: Sequence[SkillUse]) -> str:
    """Replace the tag of a column with its unit and the wording of its skills.

    Raises ValueError if the text does not contain the tag.
    """
    mark = f" ({column.tag})"
    before, found, after = text.partition(mark)
    if not found:
        raise ValueError(f"the question has no tag {column.tag}")
    unit = find_words(column.unit)
    told = [f"in {unit.many}"] if unit else []
    for use in uses:
        if use.name == DATE_TO_YEAR:
            before = _say_year(before, column)
        elif use.name == CONVERSION:
            told = [say_use(use, BaseTable((column,), ()), "")]
    if unit:
        before = before.removesuffix(f" in {unit.many}")
        after = after.removeprefix(f" in {unit.many}")
    told += [say_use(use, BaseTable((column,), ()), "") for use in uses if use.name == APPROXIMATION]
    return " ".join([before, *told]) + after


def _say_year(before: str, column: BaseColumn) -> str:
    for words in (column.words, column.one):
        if before.endswith(words):
            return before.removesuffix(words) + say_year_of(words)
    return f"{before} (the year alone)"


def is_unit_named(text: str, unit: str) -> bool:
    """Return whether a text contains the name of a unit as a whole word."""
    return re.search(rf"(?<!\w){re.escape(unit)}(?!\w)", text) is not None
