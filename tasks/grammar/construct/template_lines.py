"""Read templates that a person wrote: JSON Lines of SQL with texts, held to the rules for a model's.

Whatever is wrong with a line is a value (`Problem`), so that all of it can be named at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tasks.artifacts.rows import Origin
from tasks.databases.columns import Column
from tasks.grammar.construct.queries import PLACEHOLDER, Query, write_template
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import OwnTemplate, OwnText
from tasks.grammar.construct.text_requests import Criterion, make_text_id
from tasks.grammar.construct.text_rules import parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, verbalise_query
from tasks.limits import go_on
from tasks.lines import clean
from tasks.models.ask import Unparsed
from tasks.scoring.items import BadItem, Record, describe_type, open_items, parse_record, split_lines

FOLDER = Path("data/templates")
"""The folder of templates, `<database>.jsonl` each: a dependency in dvc.yaml as a whole."""
FIELDS = ("sql", "texts", "tag", "database")
MAX_SQL, MAX_TEXT, MAX_TAG, MAX_TEXTS = 4_000, 2_000, 200, 100
"""Most characters of a query, of a text and of a tag; most texts of a template under one criterion."""
WIDTH = 100
ADVICE: Mapping[str, str] = {
    # a line
    "unreadable_line": "one JSON object a line, in UTF-8",
    "wrong_field": "a line holds sql, texts and, if you like, tag and database",
    "other_database": "--database names the one that a file is for",
    "missing_text": 'for instance "texts": {"short": "...", "long": ["...", "..."]}',
    "unknown_criterion": "criteria are entries of grammar.text_templates.criteria",
    "duplicate": "leave one of them out",
    # its SQL, as tasks/grammar/construct/sql_reading.py and sql_rules.py have it
    "unreadable": "one SELECT a line, in SQLite's dialect",
    "not_select": "one SELECT a line",
    "other_operator": "docs/templates.md lists what a template may hold",
    "clock": "ask for what is the same tomorrow, and on another machine",
    "star": "name the columns",
    "unknown_name": "names are those of the schema: benchloom run grammar.schema",
    "not_descriptive": "ask for, or by, what people speak of: no keys",
    "no_placeholder": "compare a column with '[table.column]'",
    "constant": "compare with '[table.column]' alone: values are filled in from the database",
    "wrong_placeholder": "compare a column with its own '[table.column]', as the schema spells it",
    "unfit_placeholder": "nothing is looked up by a measurement or a yes or no",
    "unfit_measure": "count rows by their key; average, and rank by, numbers or dates",
    "answer_given": "ask for another column than the one that is given",
    "unconnected": "join the tables by their foreign keys",
    "idle_table": "leave out the table that neither gives, nor is asked for, nor links",
    # a text, as tasks/grammar/construct/text_rules.py has it
    "wrong_placeholders": "each placeholder of the SQL once, and no other bracket",
    "too_short": "the limits are in grammar.text_templates.criteria",
    "too_long": "the limits are in grammar.text_templates.criteria",
    "code_words": "words of people, not of SQL or of the schema",
    "wanted_missing": "name what is asked for",
    "given_missing": "name what kind of thing a placeholder is: the film [films.title]",
    "relation_missing": "say which relation is meant, as another one between the same tables fits as well",
    "measure_missing": "say the count, average, extreme or bound that the SQL asks for",
    "measure_added": "leave out the count, average, extreme or bound that the SQL does not have",
    "asks_twice": "one question, with every placeholder in it",
    "says_or": "ask one thing",
    "says_again": "say it once",
    "speaks_of_you": "ask about the thing, not about the person asked",
    "names_other": "leave out what is neither asked for nor given",
}
"""What a person can do about a template that breaks a rule, by drop reason."""


@dataclass(frozen=True)
class TemplateLine:
    """A non-blank line of a file. record: None if it cannot be read; then `problem` says why."""

    number: int
    raw: bytes
    record: Record | None
    problem: str = ""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a line, or with one of its texts. reason: the drop reason; what: in one clause."""

    line: int
    reason: str
    what: str

    @property
    def advice(self) -> str:
        """What to do about it."""
        return ADVICE.get(self.reason, "")


@dataclass(frozen=True)
class TemplateRules:
    """What the lines for one database are held to."""

    database: str
    """Its name in `databases`."""
    schema: Sequence[Column]
    criteria: Mapping[str, Criterion]
    """`grammar.text_templates.criteria`"""
    wanted: Mapping[str, int] = field(default_factory=dict)
    """Criterion -> texts that each template must have under it, where no model adds any."""
    instead: bool = False


@dataclass(frozen=True)
class CheckedLines:
    """The templates that are kept, in the lines' order, and what is wrong with the others."""

    templates: tuple[OwnTemplate, ...]
    problems: tuple[Problem, ...]
    lines: int


def read_template_lines(path: str) -> Iterator[TemplateLine]:
    """Read the non-blank lines of a JSON Lines file, plain or gzipped; `-` is stdin.

    Raises BadInput if it cannot be opened, is binary, or in UTF-16.
    """
    with open_items(path) as stream:
        for number, raw in enumerate(split_lines(stream), 1):
            if isinstance(raw, str):
                yield TemplateLine(number, b"", None, raw)
            elif raw and not raw.isspace():
                try:
                    yield TemplateLine(number, raw, parse_record(raw))
                except BadItem as error:
                    yield TemplateLine(number, raw, None, str(error))


def check_lines(lines: Sequence[TemplateLine], rules: TemplateRules) -> CheckedLines:
    """Hold lines to the rules for SQL templates and for texts. A template goes without its broken texts."""
    kept: dict[str, OwnTemplate] = {}
    first: dict[str, int] = {}
    problems: list[Problem] = []
    for line in lines:
        try:
            template, broken = check_line(line, rules)
            go_on()
        except BrokenRule as error:
            problems.append(Problem(line.number, error.reason, shorten(str(error))))
            continue
        problems += broken
        if template is None:
            continue
        if first.setdefault(template.id, line.number) != line.number:
            what = f"asks the same as line {first[template.id]}"
            problems.append(Problem(line.number, "duplicate", what))
        else:
            kept[template.id] = template
    return CheckedLines(tuple(kept.values()), tuple(problems), len(lines))


def check_line(line: TemplateLine, rules: TemplateRules) -> tuple[OwnTemplate | None, list[Problem]]:
    """Check one line: its template, None if too few texts are left, and what is wrong with its texts.

    Raises BrokenRule if it cannot be read, or its SQL breaks a rule.
    """
    record = _read_record(line, rules.database)
    query = read_template(record["sql"], rules.schema)
    texts: dict[str, OwnText] = {}
    problems: list[Problem] = []
    verbalisation = verbalise_query(query, rules.schema)
    for criterion, text in _list_texts(record["texts"]):
        try:
            own = OwnText(criterion, _check_text(criterion, text, query, verbalisation, rules))
            found = "" if texts.setdefault(make_text_id(query.id, own.text), own) is own else "duplicate"
            detail = "says the same as another text of this line"
        except BrokenRule as error:
            found, detail = error.reason, str(error)
        if found:
            what = f"the text {shorten(text)!r} under {shorten(criterion)!r} {detail}"
            problems.append(Problem(line.number, found, what))
    counts = {name: sum(text.criterion == name for text in texts.values()) for name in rules.wanted}
    lacking = [name for name, count in counts.items() if count < rules.wanted[name]]
    # A text that is broken has been named; that its template has too few then goes without saying.
    if (lacking or not texts) and not problems:
        needs = f"needs {rules.wanted[lacking[0]]} under {lacking[0]!r}" if lacking else "needs one"
        raise BrokenRule("missing_text", f"has {counts[lacking[0]] if lacking else 'no'} texts, {needs}")
    if lacking or not texts:
        return None, problems
    columns = {*query.projection, *query.placeholders, *(side for pair in query.joins for side in pair)}
    origin = (
        Origin("evidence", f"{(FOLDER / rules.database).as_posix()}.jsonl, line {line.number}"),
        *(Origin("row", f"schema#{column}") for column in sorted(columns)),
    )
    template = OwnTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders,
        tuple(texts.values()), str(record.get("tag") or ""), rules.instead, origin,
    )  # fmt: skip
    return template, problems


def _read_record(line: TemplateLine, database: str) -> Record:
    if line.record is None:
        raise BrokenRule("unreadable_line", line.problem)
    record = line.record
    if unknown := sorted(set(record) - set(FIELDS)):
        raise BrokenRule("wrong_field", f"has the field {shorten(unknown[0])!r}")
    if record.get("database") not in (None, database):
        raise BrokenRule("other_database", f"is for {shorten(str(record['database']))!r}, not {database!r}")
    for name, most in (("sql", MAX_SQL), ("tag", MAX_TAG)):
        value = record.get(name)
        if value is None and name == "tag":
            continue
        if not isinstance(value, str):
            found = describe_type(value) if name in record else "missing"
            raise BrokenRule("wrong_field", f"{name} is {found}; text is wanted")
        if len(value) > most:
            raise BrokenRule("wrong_field", f"{name} is longer than {most:,} characters")
        if not value.replace("\n", " ").replace("\t", " ").isprintable():
            raise BrokenRule("wrong_field", f"{name} holds characters that cannot be printed")
    if not isinstance(record.get("texts"), dict) or not record["texts"]:
        found = "is missing" if not record.get("texts") else f"is {describe_type(record['texts'])}"
        raise BrokenRule("missing_text", f"texts {found}; texts by criterion are wanted")
    return record


def _list_texts(texts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """List texts with their criteria; a criterion may have one or a list. Raises BrokenRule."""
    for criterion, value in texts.items():
        several = value if isinstance(value, list) else [value]
        if len(several) > MAX_TEXTS:
            raise BrokenRule("wrong_field", f"has {len(several)} texts under {shorten(criterion)!r}")
        for text in several:
            if not isinstance(text, str):
                what = f"a text under {shorten(criterion)!r} is {describe_type(text)}; text is wanted"
                raise BrokenRule("wrong_field", what)
            yield criterion, text


def _check_text(
    name: str, text: str, query: Query, verbalisation: Verbalisation, rules: TemplateRules
) -> str:
    if name not in rules.criteria:
        known = ", ".join(sorted(rules.criteria))
        raise BrokenRule("unknown_criterion", f"has a criterion that is none (there are {known})")
    if len(text) > MAX_TEXT or not " ".join(text.split()).isprintable():
        what = "is too long" if len(text) > MAX_TEXT else "holds characters that cannot be printed"
        raise BrokenRule("wrong_field", what)
    limits = rules.criteria[name]
    try:
        return parse_text(
            text, query, verbalisation, rules.schema, limits.minimum_words, limits.maximum_words
        )
    except Unparsed as error:
        reason, _, detail = str(error).partition(": ")
        if reason == "wrong_placeholders":
            found = ", ".join(PLACEHOLDER.findall(text)) or "none"
            detail = f"holds {found}; its SQL has [{'], ['.join(query.placeholders)}]"
        elif reason in ("too_short", "too_long"):
            detail = f"has {detail}, of {limits.minimum_words} to {limits.maximum_words}"
        raise BrokenRule(reason, detail if detail.startswith(("holds", "has")) else f"({detail})") from error


def shorten(text: str, width: int = WIDTH) -> str:
    """Make a text printable in one line of so many characters at most."""
    text = clean(" ".join(text.split()))
    return text if len(text) <= width else text[: width - 1] + "…"
