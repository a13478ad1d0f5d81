"""Find subjects for questions in a database's schema, even if the database has few rows."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tasks.databases.columns import Column, split_column_id
from tasks.databases.joins import JoinTree, list_join_trees
from tasks.english import is_word, make_singular
from tasks.longform.build.foci import (
    AMOUNT,
    LIST,
    NO_AMOUNT,
    NUMBER,
    TIME,
    Focus,
    FocusMeasure,
    Quality,
    count_digits,
    list_sides,
    pluralize_table,
    say_more,
    write_source,
)
from tasks.longform.build.source_columns import SourceColumn
from tasks.longform.build.words import say_amount, split_name

YEAR = re.compile(r"\b(year|season)\b", re.IGNORECASE)
"""Matches names of columns with year numbers."""
OWN_NAME = re.compile(
    r"\b(name|title|[fl]name|surname|theme|nickname|motto|song|capital|abbreviation|author|init|minit)s?\b",
    re.IGNORECASE,
)
"""Matches names of text columns that contain the names of their table's rows.

A matching column cannot group the rows of its own table, but can group the rows of other tables.
"""
NO_CATEGORY = re.compile(
    r"\b(description|address|line|e?mail|phone|url|comments?|text|details?|code|id|password|login|token|"
    r"website|street|zip|postcode|photo|content|notes?|date|time|other|number|fix|hours)\b",
    re.IGNORECASE,
)
"""Matches names of text columns that identify a row, or that are too specific to group rows."""
NO_OWN_AMOUNT = re.compile(
    r"\b(date|time of|season|sequence|dno|dnumber|classroom|partition|version|since|elected|"
    r"[a-z]*(?<!pa)(?<!b)id)\b",
    re.IGNORECASE,
)
"""Matches names of numeric columns that contain identifiers or times rather than amounts.

`foci.NO_AMOUNT` matches further column names.
"""
BIRTH = re.compile(r"\b(birth|born|dob)\b", re.IGNORECASE)
"""Matches the names of columns with birth dates. A trend over birth dates has no meaning."""
SCALE = re.compile(r" (in )?(millions?|billions?|knots|tons|(?:metric )?tonnes)$", re.IGNORECASE)
"""Matches the unit at the end of a column's name. Questions write the unit with `in`: `in millions`."""
DATAS = re.compile(r"\bdatas$")
"""Matches the incorrect plural of table names that end in `data`."""
REFERENCE = re.compile(r"^ref_(?=.)", re.IGNORECASE)
"""Matches the prefix of a reference table's name. The noun for the table's rows omits this prefix."""
COUNTED = re.compile(r"^num (of )?", re.IGNORECASE)
"""Matches the prefix `num` of a count column's name. In questions, `number of` replaces the prefix."""
FLAGS = frozenset(["0", "1", "f", "t", "n", "y", "no", "yes", "false", "true"])
"""Values of flags, which are not useful as groups."""
CLAUSE = re.compile(r"(if|is|has|how|what|when|where|which)\b|.* by$", re.IGNORECASE)
"""Matches column names that are clauses instead of nouns: `if affirmative win`, `written by`."""
LONGEST = 30
"""Maximum number of characters in a value that a question may name."""
PLAIN = re.compile(r"\w([\w ./&'-]*[\w.])?")
"""Matches a value that can be quoted inside a sentence."""


@dataclass(frozen=True)
class Category:
    """A text column by which rows can be grouped."""

    column: str
    words: str
    relation: str
    """The phrase for membership in a group, as in `Focus`."""
    values: tuple[str, ...]


@dataclass(frozen=True)
class AnalysedRows:
    """The rows of a table, optionally joined with one other table that a foreign key refers to."""

    table: str
    words: str
    source: str
    """The FROM clause, without the keyword FROM."""
    tables: tuple[str, ...]
    amounts: tuple[FocusMeasure, ...]
    times: tuple[FocusMeasure, ...]
    categories: tuple[Category, ...]
    qualities: tuple[Quality, ...]

    def list_amounts(self, category: Category) -> list[FocusMeasure]:
        """List the amounts that may vary within a group of the category.

        If the category belongs to the joined table, all amounts of that table are excluded.
        """
        far = split_column_id(category.column)[0] != self.table
        return [
            amount
            for amount in self.amounts
            if not far or split_column_id(amount.column)[0] == self.table
        ]  # fmt: skip

    def find(self, column: str) -> FocusMeasure:
        """Return the amount with this column id."""
        return next(amount for amount in self.amounts if amount.column == column)


def list_subjects(known: Mapping[str, SourceColumn], foci: Iterable[Focus]) -> list[AnalysedRows]:
    """List the subjects that questions can be about, single tables first.

    known: a database's columns by id. foci: subjects of questions, with the words from the database's entry.
    """
    rows = list(known.values())
    columns = [row.column for row in rows]
    words = _Words(foci)
    subjects = []
    for tree in list_join_trees(columns, 2):
        if len(tree.route) > 2:  # a link table would count a row several times
            continue
        for table in dict.fromkeys(table for table, _ in list_sides(tree, columns)):
            shown = [row for row in rows if row.column.table in tree.route]
            subjects.append(_make_subject(table, tree, shown, words))
    return subjects


class _Words:
    """The words that a database's entry sets for tables, columns and groups, collected from its foci."""

    def __init__(self, foci: Iterable[Focus]) -> None:
        self.measures: dict[str, FocusMeasure] = {}
        self.relations: dict[tuple[str, str], str] = {}
        self.tables: dict[str, str] = {}
        self.qualities: dict[str, tuple[Quality, ...]] = {}
        for focus in foci:
            self.measures |= {measure.column: measure for measure in focus.measures}
            if focus.relation != f"whose {focus.group_words} is {{}}":
                self.relations[focus.source, focus.group] = focus.relation
            self.tables[focus.table] = focus.table_words
            self.qualities[focus.table] = focus.qualities


def _make_subject(table: str, tree: JoinTree, rows: Sequence[SourceColumn], words: _Words) -> AnalysedRows:
    source, alone = write_source(tree), _list_lone_keys(rows)
    told = [row for row in rows if row.id not in alone]
    amounts = [_name_measure(row, table, words) for row in told if is_amount(row)]
    there = {amount.column for amount in amounts}
    categories = []
    for row in rows:
        if values := _list_values(row, table):
            name = _name_category(table, row.column)
            relation = words.relations.get((source, row.id)) or f"whose {name} is {{}}"
            categories.append(Category(row.id, name, relation, values))
    return AnalysedRows(
        table=table,
        words=words.tables.get(table) or DATAS.sub("data", pluralize_table(REFERENCE.sub("", table))),
        source=source,
        tables=tree.route,
        amounts=_drop_same_names(amounts),
        times=tuple(_name_measure(row, table, words) for row in told if is_time(row)),
        categories=tuple(categories),
        qualities=tuple(
            quality for quality in words.qualities.get(table, ()) if there.issuperset(quality.measures)
        ),
    )


def _list_lone_keys(rows: Sequence[SourceColumn]) -> set[str]:
    """List the columns that alone are their table's primary key; their values identify single rows."""
    keys = [row for row in rows if row.column.primary_key]
    counts = Counter(key.column.table for key in keys)
    return {key.id for key in keys if counts[key.column.table] == 1}


def _name_category(table: str, column: Column) -> str:
    """Name a category column as a property of a table's row, such as `class` or `stadium's country`.

    A column that contains the names of another table's rows gets the name of that table: `stadium`.
    """
    words = split_name(column.name)
    if column.table == table:
        return words
    far = singularize_table(column.table)
    if OWN_NAME.search(words) or words == far:
        return far
    return words if words.startswith(f"{far} ") else f"{far}'s {words}"


def singularize_table(table: str) -> str:
    """Return the noun for one row of a table: `document type` for `Ref_Document_Types`."""
    *before, last = split_name(REFERENCE.sub("", table)).split()
    return " ".join([*before, make_singular(last)])


def _drop_same_names(amounts: Sequence[FocusMeasure]) -> tuple[FocusMeasure, ...]:
    """Keep only the first of several amounts with the same name; a question could not distinguish them."""
    return tuple({amount.name: amount for amount in reversed(amounts)}.values())[::-1]


def is_amount(row: SourceColumn) -> bool:
    """Return whether a column contains amounts: numbers that are not keys, codes, years or flags."""
    own = row.column
    if own.type not in {"integer", "real"} or not _can_be_asked(row):
        return False
    if row.values and FLAGS.issuperset(row.values):
        return False
    words = split_name(own.name)
    name = words.replace(" ", "_")
    if AMOUNT.search(name):
        return True
    return NO_AMOUNT.search(name) is None and NO_OWN_AMOUNT.search(words) is None


def _can_be_asked(row: SourceColumn) -> bool:
    """Return whether people would ask about a column.

    People do not ask about a reference to another table. They may ask about any other descriptive column, and
    about a column without values that is not a primary key.
    """
    own = row.column
    return own.references is None and (own.descriptive or not (row.values or own.primary_key))


def is_time(row: SourceColumn) -> bool:
    """Return whether a column contains times: dates, or year numbers."""
    own = row.column
    words = split_name(own.name)
    if not _can_be_asked(row) or BIRTH.search(words):
        return False
    if own.type == "date":
        return True
    years = [json.loads(value) for value in row.values]
    return (
        own.type in {"integer", "real"}
        and YEAR.search(words) is not None
        and all(isinstance(year, int | float) and 1000 <= year <= 2100 for year in years)
    )


def _name_measure(row: SourceColumn, table: str, words: _Words) -> FocusMeasure:
    """Name an amount or time as a property of a table's row.

    For a column of another table, the name includes that table: `stadium's capacity`.
    """
    measure = words.measures.get(row.id) or _say_measure(row)
    if row.column.table == table:
        return measure
    name = f"{singularize_table(row.column.table)}'s {measure.name}"
    return replace(measure, name=name, more=say_more(name))


def _say_measure(row: SourceColumn) -> FocusMeasure:
    name, unit = say_amount(row.id)
    name = row.column.words or SCALE.sub(r" in \2", COUNTED.sub("number of ", name))
    values = [json.loads(value) for value in row.values]
    typical = [abs(float(value)) for value in values if isinstance(value, int | float)]
    digits = count_digits(fmean(typical) if typical else 0)
    return FocusMeasure(row.id, name, unit, say_more(name), "", digits)


def _is_sayable(text: str) -> bool:
    """Return whether a value is natural in a question: a name, a code in capitals, or English words."""
    return text != text.lower() or (len(text) > 2 and all(map(is_word, text.split())))


def _list_values(row: SourceColumn, table: str) -> tuple[str, ...]:
    """List values that questions can name; empty for a column that is not a category."""
    own = row.column
    words = split_name(own.name)
    if own.type != "text" or not own.descriptive or own.primary_key or NO_CATEGORY.search(words):
        return ()
    names_row = OWN_NAME.search(words) or words == singularize_table(table)
    if CLAUSE.match(words) or (own.table == table and names_row):
        return ()
    texts = [text for value in row.values if isinstance(text := json.loads(value), str)]
    fit = [
        text
        for text in texts
        if PLAIN.fullmatch(text) and len(text) <= LONGEST and not TIME.search(text)
        and not LIST.search(text) and not NUMBER.fullmatch(text) and _is_sayable(text)
    ]  # fmt: skip
    if FLAGS.issuperset(text.casefold() for text in texts):
        return ()
    distinct = tuple({text.casefold(): text for text in fit}.values())
    return distinct if len(distinct) > 1 else ()
