"""Contract rules for GRAMMAR's rows. A row rule returns a row's problem, or "" if there is none.

The rules compare each row with its source rows in other artifacts.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tasks.artifacts.contracts import Record, RowRule, read_records
from tasks.databases.columns import Column
from tasks.databases.literals import read_literal
from tasks.databases.profile.readings import list_readings
from tasks.databases.rendering import write_plain
from tasks.grammar.construct.free_reading import parse_free, read_stored
from tasks.grammar.construct.pairs import write_filling
from tasks.grammar.construct.queries import LITERAL, PLACEHOLDER, FilledSql
from tasks.grammar.construct.sql_reading import BrokenRule, parse_select
from tasks.grammar.construct.sql_rules import read_template

Index = Mapping[str, Record]
"""Rows by id; each row maps columns to values."""


def read_index(path: Path, columns: Sequence[str]) -> Index:
    """Return some columns of an artifact's rows, by row id. Rows with NULL in these columns are left out."""
    records = read_records(path, ["id", *columns])
    return {record["id"]: record for record in records if all(value is not None for value in record.values())}


def expect_known(name: str, column: str, what: str, known: Iterable[str]) -> RowRule:
    """Expect that a column contains the id of a row in another artifact.

    `name` is the rule's name. `what` is the noun for rows of the other artifact, and `known` contains their
    ids.
    """
    ids = frozenset(known)

    def check(record: Record) -> str:
        return (
            ""
            if record[column] in ids
            else f"{column} is {record[column]}, which is not the id of any {what}"
        )

    says = f"Each value in the column “{column}” is the id of an existing {what}."
    return RowRule(name, says, (column,), check)


def expect_references(columns: Iterable[str]) -> RowRule:
    """Expect that every foreign key of a schema refers to a column of the schema."""
    return expect_known("references", "references", "column", columns)


def expect_template(columns: Sequence[Column], own: Collection[str]) -> RowRule:
    """Expect that a SQL template parses, satisfies every rule, and matches the row's other columns.

    `own` contains the SQL of templates that may have any shape: user-written templates and, with
    `dialect: any`, the model's templates.
    """

    def check(record: Record) -> str:
        read = read_stored if record["sql"] in own else read_template
        try:
            query = read(record["sql"], columns)
        except BrokenRule as error:
            return f"{error.reason}: {error}"
        recorded = tuple(tuple(record[name]) for name in ("tables", "projection", "placeholders"))
        return (
            ""
            if recorded == (query.tables, query.projection, query.placeholders)
            else f"the SQL does not match the other columns: {query}"
        )

    return RowRule(
        "sql_parses",
        "The SQL is one SELECT over the schema and follows every rule for templates. SQL that a person wrote "
        "may be any SELECT that runs. The columns “tables”, “projection” and “placeholders” match the SQL.",
        ("sql", "tables", "projection", "placeholders"),
        check,
    )


def expect_query(columns: Sequence[Column], own: Collection[str]) -> RowRule:
    """Expect that a filled query is one SELECT of columns or of one measure, with joins and comparisons.

    `columns` is the schema. The conversions of cells that the schema defines are removed before parsing.
    `own` contains the ids of templates whose queries may be any SELECT.
    """
    verdicts: dict[str, str] = {}

    def check(record: Record) -> str:
        # Whether a query parses does not depend on its values, so the queries of a template are parsed once.
        sql = record["sql"]
        shape = re.sub(LITERAL, _blank_literal, sql)
        if shape not in verdicts:
            verdicts[shape] = _check_query(shape, columns)
        verdict = verdicts[shape] and _check_query(sql, columns)
        return _check_any(sql) if verdict and record["sql_template"] in own else verdict

    return RowRule(
        "sql_parses",
        "The SQL is one SELECT of columns or of one aggregate, with joins and comparisons. SQL that a "
        "person wrote may be any SELECT.",
        ("sql", "sql_template"),
        check,
    )


def _blank_literal(literal: re.Match[str]) -> str:
    return "''" if literal[0].startswith("'") else "0"


def _check_any(sql: str) -> str:
    try:
        parse_free(sql)
    except BrokenRule as error:
        return f"{error.reason}: {error}"
    return ""


def _check_query(sql: str, columns: Sequence[Column]) -> str:
    try:
        parse_select(sql, columns)
    except BrokenRule as error:
        return f"{error.reason}: {error}"
    return ""


def expect_placeholders(templates: Index, own: Collection[str]) -> RowRule:
    """Expect that a text contains each placeholder of its SQL template once, and no other brackets.

    `own` contains the ids of templates whose texts may repeat a placeholder.
    """

    def check(record: Record) -> str:
        template = templates.get(record["sql_template"])
        if template is None:
            return ""  # the rule `sql_template_exists` reports this
        found = PLACEHOLDER.findall(record["text"])
        if record["sql_template"] in own:
            found = list(dict.fromkeys(found))
        if sorted(found) != sorted(f"[{placeholder}]" for placeholder in template["placeholders"]):
            return f"contains {', '.join(found) or 'no placeholder'}: {record['text']}"
        if set(PLACEHOLDER.sub(" ", record["text"])) & set("[]"):
            return f"has a bracket outside placeholders: {record['text']}"
        return ""

    return RowRule(
        "placeholders",
        "The text contains each placeholder of its SQL template exactly once, and no other brackets. A "
        "text that a person wrote may repeat a placeholder.",
        ("sql_template", "text"),
        check,
    )


def expect_same(name: str, says: str, key: str, columns: Sequence[str], others: Index) -> RowRule:
    """Expect the same values in `columns` as in another artifact's row.

    `others` contains that artifact's rows by id. The column `key` contains the other row's id. A row whose
    `key` is not in `others` passes. `name` and `says` are the rule's name and description.
    """

    def check(record: Record) -> str:
        other = others.get(record[key], record)
        differing = [column for column in columns if record[column] != other[column]]
        return (
            f"{differing[0]} is {record[differing[0]]}, expected {other[differing[0]]}" if differing else ""
        )

    return RowRule(name, says, (key, *columns), check)


def expect_filled_sql(templates: Index, columns: Sequence[Column]) -> RowRule:
    """Expect that a group's SQL is the SQL template filled with exactly the values in `fillings`.

    `columns` is the schema, which defines how the SQL converts cells to dates or numbers.
    """
    readings = list_readings(columns)
    filled = {}
    for template in templates.values():
        with suppress(BrokenRule):  # another rule reports this
            filled[template["id"]] = FilledSql(read_stored(template["sql"], columns), readings)

    def check(record: Record) -> str:
        if record["sql_template"] not in filled:
            return ""
        literals = filled[record["sql_template"]].read(record["sql"])
        if literals is None:
            return f"the SQL is not its template with filled placeholders: {record['sql']}"
        found = sorted((name, write_plain(read_literal(text))) for name, text in literals.items())
        recorded = sorted((filling["placeholder"], filling["value"]) for filling in record["fillings"])
        return "" if found == recorded else f"the SQL contains {found}, but fillings lists {recorded}"

    return RowRule(
        "placeholders",
        "The SQL is the SQL template with each placeholder replaced by the placeholder's value in the column "
        "“fillings”.",
        ("sql_template", "sql", "fillings"),
        check,
    )


def expect_filled_text(texts: Index, groups: Index) -> RowRule:
    """Expect that a question is the text template filled with exactly the group's values."""

    def check(record: Record) -> str:
        text, group = texts.get(record["text_template"]), groups.get(record["group"])
        if text is None or group is None:
            return ""
        values = {
            f"[{filling['placeholder']}]": write_filling(
                filling["placeholder"], filling["value"], filling["kind"]
            )
            for filling in group["fillings"]
        }
        due = PLACEHOLDER.sub(lambda found: str(values.get(found[0], found[0])), text["text"])
        return "" if record["question"] == due else f"is {record['question']!r}, expected {due!r}"

    return RowRule(
        "placeholders",
        "The question is the text template with each placeholder replaced by the group's value for that "
        "placeholder.",
        ("text_template", "group", "question"),
        check,
    )


def expect_balance(questions: Path, criteria: Sequence[str], texts: int) -> RowRule:
    """Expect that every group has `texts` questions per criterion."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for question in read_records(questions, ["group", "criterion"]):
        counts[question["group"]][question["criterion"]] += 1
    due = dict.fromkeys(criteria, texts)

    def check(record: Record) -> str:
        found = counts[record["group"]]
        if found == due:
            return ""
        names = sorted({*criteria, *found}, key=str)
        present = ", ".join(f"{found[name]} {name}" for name in names)
        return f"group {record['group']} has {present}; expected {texts} each of {', '.join(criteria)}"

    return RowRule(
        "balanced_groups",
        f"Each group has the same number of questions per criterion ({', '.join(criteria)}): {texts}.",
        ("group", "criterion"),
        check,
    )
