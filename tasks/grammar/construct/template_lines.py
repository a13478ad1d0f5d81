"""Read and check the templates that people write as JSON Lines with SQL and texts.

The rules for a model's templates apply. Every problem in a line is returned as a `Problem`, so that all
problems can be reported together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks.artifacts.rows import Origin
from tasks.databases.columns import Column
from tasks.grammar.construct.free_reading import read_own
from tasks.grammar.construct.queries import PLACEHOLDER, FreeQuery, Query, write_template
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.sql_rules import read_template
from tasks.grammar.construct.sql_templates import OwnTemplate, OwnText
from tasks.grammar.construct.text_requests import Criterion, make_text_id
from tasks.grammar.construct.text_rules import check_length, parse_text
from tasks.grammar.construct.verbalisation import Verbalisation, verbalise_query
from tasks.limits import go_on
from tasks.lines import clean
from tasks.models.ask import Unparsed
from tasks.scoring.items import BadItem, Record, describe_type, open_items, parse_record, split_lines

FOLDER = Path("data/templates")
"""The folder with one `<database>.jsonl` of templates per database. dvc.yaml depends on the whole folder."""
FIELDS = ("sql", "texts", "tag", "database")
MAX_SQL, MAX_TEXT, MAX_TAG, MAX_TEXTS = 4_000, 2_000, 200, 100
"""The maximum lengths of a query, a text and a tag in characters, and the maximum number of texts
per line and criterion."""
WIDTH = 100
"""The maximum number of characters that an error quotes from a text."""
ADVICE: Mapping[str, str] = {
    # Reasons for a line.
    "unreadable_line": "write one JSON object per line, in UTF-8",
    "wrong_field": "a line has the fields sql and texts, and optionally tag and database",
    "other_database": "use --database to name the database of the file",
    "missing_text": 'for example "texts": {"short": "...", "long": ["...", "..."]}',
    "unknown_criterion": "criteria are entries of grammar.text_templates.criteria",
    "duplicate": "remove one of the two texts",
    "other_tag": "lines with the same SQL are one template: give these lines the same tag",
    # Reasons for the SQL of a line, see tasks/grammar/construct/sql_reading.py and sql_rules.py.
    "unreadable": "write one SELECT per line, in SQLite's dialect",
    "not_select": "write one SELECT per line",
    "cannot_run": "write one SELECT that SQLite can run on this schema",
    "other_operator": "docs/templates.md lists what a template may contain",
    "clock": "write SQL whose answer is the same tomorrow, and on another machine",
    "star": "list the columns",
    "unknown_name": "use only names of the schema: benchloom run grammar.schema",
    "not_descriptive": "use columns that people ask about, not keys",
    "no_placeholder": "compare a column with '[table.column]'",
    "constant": "compare only with '[table.column]': values are filled in from the database",
    "wrong_placeholder": "compare a column with its own '[table.column]', spelled as in the schema",
    "unfit_placeholder": "do not look up rows by a measurement or a yes/no column",
    "unfit_measure": "count rows by their key; average numbers; rank by numbers or dates",
    "answer_given": "select a column other than the given column",
    "unconnected": "join the tables by their foreign keys",
    "idle_table": "remove the table that has no selected or given column and connects no tables",
    # Reasons for a text, see tasks/grammar/construct/text_rules.py.
    "wrong_placeholders": "use each placeholder of the SQL once, and no other brackets",
    "too_short": "the limits are in grammar.text_templates.criteria",
    "too_long": "the limits are in grammar.text_templates.criteria",
    "code_words": "use everyday words, not words of SQL or of the schema",
    "wanted_missing": "name what the question asks for",
    "given_missing": "say what a placeholder stands for: the film [films.title]",
    "relation_missing": "say which relation is meant: another relation between the same tables also fits",
    "measure_missing": "say the count, average, extreme or bound that the SQL asks for",
    "measure_added": "leave out the count, average, extreme or bound that the SQL does not have",
    "asks_twice": "ask one question that contains every placeholder",
    "says_or": "ask for one thing, without `or`",
    "says_again": "use the word only once",
    "speaks_of_you": "ask about the thing, not about the person who answers",
    "names_other": "leave out names that are neither asked for nor given",
}
"""The remedy for each drop reason."""


@dataclass(frozen=True)
class TemplateLine:
    """A non-blank line of a file. If the line cannot be parsed, `record` is None and `problem` states why."""

    number: int
    raw: bytes
    record: Record | None
    problem: str = ""


@dataclass(frozen=True)
class Problem:
    """A problem with a line or a text: the line number, the drop reason, and a description."""

    line: int
    reason: str
    what: str
    warning: bool = False
    """Whether the line is used anyway, because the broken rule is meant only for a small model's output."""

    @property
    def advice(self) -> str:
        """Return the remedy for the drop reason, or an empty string if there is none."""
        return ADVICE.get(self.reason, "")


@dataclass(frozen=True)
class TemplateRules:
    """The rules that the template lines of a database are checked against."""

    database: str
    """The name of the database under `databases`."""
    schema: Sequence[Column]
    criteria: Mapping[str, Criterion]
    """The criteria of `grammar.text_templates.criteria`, by name."""
    wanted: Mapping[str, int] = field(default_factory=dict)
    """The minimum number of texts per template, by criterion; empty if a model adds texts."""
    instead: bool = False
    strict: bool = False
    """Whether it is an error to break a rule that is meant for a small model's output."""


@dataclass(frozen=True)
class CheckedLines:
    """The valid templates in line order, the problems of all lines, and the number of lines."""

    templates: tuple[OwnTemplate, ...]
    problems: tuple[Problem, ...]
    lines: int

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Return the problems that exclude a line or text."""
        return tuple(problem for problem in self.problems if not problem.warning)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the problems with lines and texts that are used even though they break a rule."""
        return tuple(problem for problem in self.problems if problem.warning)


def read_template_lines(path: str) -> Iterator[TemplateLine]:
    """Yield the non-blank lines of a JSON Lines file, plain or gzipped; `-` is stdin.

    Raises BadInput if the file cannot be opened, is binary, or is in UTF-16.
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
    """Check lines, and merge lines with the same SQL into one template with all their texts.

    An unusable line is an error. A text whose placeholders differ from the placeholders of its SQL is also an
    error. Breaking a rule that is meant for a small model's output is a warning, or an error if
    `rules.strict` is true. Invalid texts are removed. A template without enough valid texts is left out.
    """
    drafts: dict[str, _Draft] = {}
    problems: list[Problem] = []
    for line in lines:
        try:
            problems += _read_line(line, rules, drafts)
            # The CPU time limit of an import applies to each line, not to the whole file.
            go_on()
        except BrokenRule as error:
            problems.append(Problem(line.number, error.reason, shorten(str(error))))
    kept = []
    for draft in drafts.values():
        counts = {name: sum(text.criterion == name for text in draft.texts) for name in rules.wanted}
        lacking = [name for name, count in counts.items() if count < rules.wanted[name]]
        if not lacking and draft.texts:
            kept.append(_make_template(draft, rules))
        elif not draft.broken:  # otherwise the problem is already reported
            least = rules.wanted[lacking[0]] if lacking else 1
            present = f"{counts[lacking[0]]} texts under {lacking[0]!r}" if lacking else "no texts"
            what = f"has {present}; expected at least {least}"
            problems.append(Problem(draft.lines[0], "missing_text", what))
    problems.sort(key=lambda problem: problem.line)
    return CheckedLines(tuple(kept), tuple(problems), len(lines))


@dataclass
class _Draft:
    """A template under construction, with the lines and texts read so far."""

    query: Query
    verbalisation: Verbalisation | None
    tag: str
    lines: list[int] = field(default_factory=list)
    texts: dict[OwnText, None] = field(default_factory=dict)
    said: set[tuple[str, str]] = field(default_factory=set)
    """The criterion and hash of each text. The hash ignores case, spaces and the final full stop."""
    broken: bool = False


def _read_line(line: TemplateLine, rules: TemplateRules, drafts: dict[str, _Draft]) -> list[Problem]:
    """Add a line's template and texts to the drafts; return the problems. Raises BrokenRule."""
    record = _read_record(line, rules.database)
    query: Query
    broken: BrokenRule | None = None
    if rules.strict:
        query = read_template(record["sql"], rules.schema)
    else:
        query, broken = read_own(record["sql"], rules.schema)
    texts = list(_list_texts(record["texts"]))
    warned = [Problem(line.number, broken.reason, shorten(str(broken)), warning=True)] if broken else []
    tag = str(record.get("tag") or "")
    if (draft := drafts.get(query.id)) is None:
        free = isinstance(query, FreeQuery)
        verbalisation = None if free else verbalise_query(query, rules.schema)
        draft = drafts[query.id] = _Draft(query, verbalisation, tag)
    elif tag not in ("", draft.tag):
        what = f"has the tag {shorten(tag)!r}; line {draft.lines[0]}, with the same SQL, has {draft.tag!r}"
        raise BrokenRule("other_tag", what)
    draft.lines.append(line.number)
    for criterion, text in texts:
        problem = _add_text(draft, criterion, text, rules)
        if problem:
            draft.broken |= not problem.warning
            what = f"the text {shorten(text)!r} under {shorten(criterion)!r} {problem.what}"
            warned.append(replace(problem, line=line.number, what=what))
    return warned


def _add_text(draft: _Draft, criterion: str, text: str, rules: TemplateRules) -> Problem | None:
    """Add a text to a draft if the text is usable; return the text's problem, or None."""
    warning = None
    try:
        own = OwnText(criterion, _read_text(criterion, text, draft.query, rules))
    except BrokenRule as error:
        return Problem(0, error.reason, str(error))
    try:
        _check_text(own, draft, rules)
    except BrokenRule as error:
        warning = Problem(0, error.reason, str(error), warning=not rules.strict)
        if rules.strict:
            return warning
    # A text may occur under several criteria, because an author may write only one style.
    same = (criterion, make_text_id(draft.query.id, own.text))
    if same in draft.said:
        return Problem(0, "duplicate", "is the same as another text for this SQL", warning=True)
    draft.said.add(same)
    draft.texts[own] = None
    return warning


def _make_template(draft: _Draft, rules: TemplateRules) -> OwnTemplate:
    query = draft.query
    columns = {*query.columns, *(side for pair in query.joins for side in pair)}
    file = f"{(FOLDER / rules.database).as_posix()}.jsonl"
    origin = (
        *(Origin("evidence", f"{file}, line {number}") for number in draft.lines),
        *(Origin("row", f"schema#{column}") for column in sorted(columns)),
    )
    return OwnTemplate(
        query.id, write_template(query), query.tables, query.projection, query.placeholders,
        tuple(draft.texts), draft.tag, rules.instead, origin,
    )  # fmt: skip


def _read_record(line: TemplateLine, database: str) -> Record:
    if line.record is None:
        raise BrokenRule("unreadable_line", line.problem)
    record = line.record
    if unknown := sorted(set(record) - set(FIELDS)):
        raise BrokenRule("wrong_field", f"has the unknown field {shorten(unknown[0])!r}")
    if record.get("database") not in (None, database):
        raise BrokenRule("other_database", f"is for {shorten(str(record['database']))!r}, not {database!r}")
    for name, most in (("sql", MAX_SQL), ("tag", MAX_TAG)):
        value = record.get(name)
        if value is None and name == "tag":
            continue
        if not isinstance(value, str):
            found = describe_type(value) if name in record else "missing"
            raise BrokenRule("wrong_field", f"{name} is {found}; expected text")
        if len(value) > most:
            raise BrokenRule("wrong_field", f"{name} is longer than {most:,} characters")
        if not value.replace("\n", " ").replace("\t", " ").isprintable():
            raise BrokenRule("wrong_field", f"{name} contains characters that cannot be printed")
    if not isinstance(record.get("texts"), dict) or not record["texts"]:
        found = "is missing" if not record.get("texts") else f"is {describe_type(record['texts'])}"
        raise BrokenRule(
            "missing_text", f"the field `texts` {found}; expected an object that maps each criterion to texts"
        )
    return record


def _list_texts(texts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each criterion and text; a criterion may have one text or a list of texts. Raises BrokenRule."""
    for criterion, value in texts.items():
        several = value if isinstance(value, list) else [value]
        if len(several) > MAX_TEXTS:
            raise BrokenRule(
                "wrong_field",
                f"has {len(several)} texts under {shorten(criterion)!r}; expected at most {MAX_TEXTS}",
            )
        for text in several:
            if not isinstance(text, str):
                what = f"a text under {shorten(criterion)!r} is {describe_type(text)}; expected text"
                raise BrokenRule("wrong_field", what)
            yield criterion, text


def _read_text(name: str, text: str, query: Query, rules: TemplateRules) -> str:
    """Return a text with placeholders spelled as in the SQL. Raises BrokenRule for an unusable text."""
    if name not in rules.criteria:
        known = ", ".join(sorted(rules.criteria))
        raise BrokenRule("unknown_criterion", f"has an unknown criterion (known: {known})")
    text = " ".join(text.split())
    if len(text) > MAX_TEXT or not text.isprintable():
        what = "is too long" if len(text) > MAX_TEXT else "contains characters that cannot be printed"
        raise BrokenRule("wrong_field", what)
    spelling = {f"[{name}]".lower(): f"[{name}]" for name in query.placeholders}
    text = PLACEHOLDER.sub(lambda found: spelling.get(found[0].lower(), found[0]), text)
    found = PLACEHOLDER.findall(text)
    if set(found) != set(spelling.values()) or set(PLACEHOLDER.sub("", text)) & set("[]"):
        held = ", ".join(found) or "no placeholder"
        due = ", ".join(f"[{name}]" for name in query.placeholders) or "no placeholder"
        raise BrokenRule("wrong_placeholders", f"contains {held}, but its SQL contains {due}")
    return text


def _check_text(own: OwnText, draft: _Draft, rules: TemplateRules) -> None:
    """Check a text against the rules for a model's texts. Raises BrokenRule.

    If the rules do not support SQL of this shape, only the length of the text is checked.
    """
    limits = rules.criteria[own.criterion]
    least, most = limits.minimum_words, limits.maximum_words
    try:
        if draft.verbalisation:
            parse_text(own.text, draft.query, draft.verbalisation, rules.schema, least, most)
        else:
            check_length(own.text, least, most)
    except Unparsed as error:
        reason, _, detail = str(error).partition(": ")
        if reason in ("too_short", "too_long"):
            clause = f"has {detail}; expected {least} to {most}"
        elif reason == "wrong_placeholders":
            clause = "contains a placeholder more than once"
        else:  # the detail is a word of the text
            clause = f"({detail})"
        raise BrokenRule(reason, clause) from error


def shorten(text: str, width: int = WIDTH) -> str:
    """Make a text printable in one line of at most `width` characters."""
    text = clean(" ".join(text.split()))
    return text if len(text) <= width else text[: width - 1] + "…"
