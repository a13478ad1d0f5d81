"""Read user-written readings of texts from a file. A reading states what a text asks for, as slots or SQL.

A line contains the `id` or the `text` of a text template, and `reading` or `sql`. A line with neither
`reading` nor `sql` is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.databases.columns import Column
from tasks.errors import BadInput
from tasks.grammar.construct.queries import column_of
from tasks.grammar.construct.reading_queries import (
    ReadingQueries,
    ReadQuery,
    Slots,
    number_placeholders,
    parse_reading,
)
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.template_lines import shorten
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.judging.human_files import FormLine, is_same_text, read_lines
from tasks.models.ask import Unparsed
from tasks.scoring.items import describe_type

FOLDER = Path("data/labels")
SUFFIXES = (".readings.jsonl", ".readings.csv")
FIELDS = ("id", "text", "reading", "sql", "note")
WIDTH = 200
"""The maximum number of characters that an error quotes from a text."""
MAX_FIELD = 4_000
"""The maximum number of characters of a field."""
HINT = "a line has the id of a text, and reading or sql; a line without both is skipped; see docs/grammar.md"


@dataclass(frozen=True)
class FileReading:
    """A user-written reading of a text, and its line number in the file."""

    line: int
    read: ReadQuery


@dataclass(frozen=True)
class FileReadings:
    """The readings in a file, by the id of the text.

    `unknown` contains the lines whose text does not exist, as (line number, id or text).
    """

    place: str
    by_text: Mapping[str, FileReading]
    unknown: tuple[tuple[int, str], ...]


def read_readings(
    folder: Path,
    database: str,
    texts: Sequence[TextTemplate],
    schema: Sequence[Column],
    slots: Slots,
    queries: ReadingQueries,
) -> FileReadings:
    """Read `<database>.readings.jsonl` or `.csv`.

    Raises BadInput if neither file or both files exist, and for the first invalid line.
    """
    files = [folder / f"{database}{suffix}" for suffix in SUFFIXES]
    present = [file for file in files if file.is_file()]
    place = (FOLDER / (present or files)[0].name).as_posix()
    if len(present) != 1:
        what = (
            "exists as .jsonl and as .csv; keep only one of the two files"
            if present
            else "does not exist, but a person's readings are required"
        )
        raise BadInput(place, what, hint="required because grammar.second_reading.by is set to `file`")
    by_name = {text.id: text for text in texts} | {_normalise(text.text): text for text in texts}
    by_text: dict[str, FileReading] = {}
    unknown: list[tuple[int, str]] = []
    for line in read_lines(present[0], (), HINT):
        fields = _read_fields(line, place)
        if not (fields["reading"] or fields["sql"]):
            continue
        name = fields["id"] or _normalise(fields["text"])
        text = by_name.get(name)
        if text is None:
            unknown.append((line.number, name))
            continue
        problem = _find_problem(fields, text, by_text)
        if not problem:
            try:
                read = _read(fields, text.text, schema, slots, queries)
            except (BrokenRule, Unparsed) as error:
                problem = _describe(error)
        if problem:
            raise BadInput(place, problem, line=line.number, hint=HINT)
        by_text[text.id] = FileReading(line.number, read)
    return FileReadings(place, by_text, tuple(unknown))


def _read_fields(line: FormLine, place: str) -> dict[str, str]:
    def refuse(what: str) -> BadInput:
        return BadInput(place, what, line=line.number, hint=HINT)

    if line.record is None:
        raise refuse(line.problem)
    if strange := sorted(set(line.record) - set(FIELDS)):
        raise refuse(f"has the unknown field {shorten(strange[0], WIDTH)}")
    fields: dict[str, str] = {}
    for name in FIELDS:
        value = line.record.get(name)
        if value is not None and not isinstance(value, str):
            raise refuse(f"{name} is {describe_type(value)}; expected text")
        if value and (len(value) > MAX_FIELD or not " ".join(value.split()).isprintable()):
            what = "is too long" if len(value) > MAX_FIELD else "contains characters that cannot be printed"
            raise refuse(f"{name} {what}")
        fields[name] = (value or "").strip()
    if not (fields["id"] or fields["text"]):
        raise refuse("has neither an id nor a text")
    return fields


def _find_problem(fields: Mapping[str, str], text: TextTemplate, known: Mapping[str, FileReading]) -> str:
    if fields["reading"] and fields["sql"]:
        return "has both a reading and SQL; expected only one of the two"
    if text.id in known:
        return f"has the same text as line {known[text.id].line}"
    if fields["text"] and not is_same_text(fields["text"], text.text):
        return f"has a text that differs from the text with the id {text.id}"
    return ""


def _read(
    fields: Mapping[str, str],
    text: str,
    schema: Sequence[Column],
    slots: Slots,
    queries: ReadingQueries,
) -> ReadQuery:
    """Convert a line's slots or SQL to a query. Raises BrokenRule or Unparsed."""
    _, names = number_placeholders(text)
    if fields["sql"]:
        query = read_template(fields["sql"], schema)
        return ReadQuery(query, match_names(query.placeholders, names))
    found = queries.list_queries(parse_reading(fields["reading"], slots, len(names)), names)
    if len(found) > 1:
        ways = "; ".join(" and ".join(f"{a} = {b}" for a, b in read.query.joins) for read in found[:3])
        raise Unparsed(
            f"no_reading: the tables of the reading can be joined in {len(found)} ways ({ways}); "
            "write SQL in the field `sql` instead"
        )
    return found[0]


def match_names(placeholders: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Map a query's placeholders to a text's placeholders: first by name, then by column.

    Raises BrokenRule if a placeholder of the query or the text has no match.
    """
    matched = {name: name for name in placeholders if name in names}
    for name in placeholders:
        if name not in matched:
            same = [other for other in names if column_of(other) == column_of(name)]
            free = [other for other in same if other not in matched.values()]
            if len(free) != 1:
                raise BrokenRule("wrong_placeholder", f"the text has no [{name}]")
            matched[name] = free[0]
    if left := sorted(set(names) - set(matched.values())):
        raise BrokenRule("wrong_placeholder", f"no condition uses the text's [{left[0]}]")
    return matched


def _describe(error: BrokenRule | Unparsed) -> str:
    if isinstance(error, BrokenRule):
        return f"{error.reason}: {shorten(str(error), WIDTH)}"
    return f"cannot be read: {str(error).partition(': ')[2]}"


def _normalise(text: str) -> str:
    return " ".join(text.split())
