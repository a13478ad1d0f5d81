"""Import user-written SQL templates with texts: check the templates, and copy them to the stage's folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tasks.databases.profile.kinds import ColumnRules
from tasks.databases.profile.profiling import read_columns
from tasks.errors import BadInput
from tasks.grammar.construct.balanced import Balanced
from tasks.grammar.construct.own_templates import BALANCED, TEXTS, make_rules
from tasks.grammar.construct.template_lines import (
    FOLDER,
    CheckedLines,
    Problem,
    TemplateLine,
    check_lines,
    read_template_lines,
)
from tasks.grammar.construct.text_requests import TextTemplates
from tasks.sources.base_importer import BaseImporter, Imported, Project, argument, option

COLUMNS = "grammar.columns"


class Templates(BaseImporter):
    """Import your own SQL templates with question texts for a database (docs/templates.md).

    An example line: {"sql": "SELECT films.runtime FROM films WHERE films.title = '[films.title]'",
    "texts": {"short": "runtime of the film [films.title]", "long": ["...", "..."]}, "tag": "lengths"}

    Example: benchloom import templates my-templates.jsonl --database shop --instead
    """

    name = "templates"

    file: str = argument("A JSON Lines file, plain or gzipped; - reads stdin.", "FILE")
    database: str | None = option("The entry of `databases` for lines that do not name a database.", "NAME")
    instead: bool | None = option(
        "Replace the model's templates (no model is called), or add yours to them. Default: unchanged; "
        "--beside at the first import.",
        None,
        "--instead/--beside",
    )
    drop: bool = option(
        "Import the usable lines even if other lines are unusable; list the unusable lines in `.dropped`.",
        default=False,
    )
    strict: bool | None = option(
        "Apply every rule for model-written templates; with --no-strict, a broken rule is only a warning. "
        "Default: unchanged; --no-strict at the first import.",
        None,
        "--strict/--no-strict",
    )

    def bring_in(self, project: Project) -> Imported:
        """Check templates, copy valid templates to the stage's folder, and report lines with problems.

        Raises BadInput if nothing is imported.
        """
        source = "stdin" if self.file == "-" else self.file
        lines = list(read_template_lines(self.file))
        if not lines:
            raise BadInput(source, "is empty", hint="docs/templates.md describes the format")
        entries = project.find("databases") or {}
        parts = split_lines(lines, self.database, list(entries), source)
        modes = {name: self._choose_mode(entries[name] or {}) for name in parts}
        strict = {name: self._choose_strictness(entries[name] or {}) for name in parts}
        checked = {
            name: check(project, name, part, modes[name], strict=strict[name]) for name, part in parts.items()
        }
        errors, warnings = (
            sorted(found, key=lambda problem: problem.line)
            for found in (
                [problem for read in checked.values() for problem in read.errors],
                [problem for read in checked.values() for problem in read.warnings],
            )
        )
        project.tell(f"{source}, ", [word_problem(problem) for problem in errors])
        project.tell(f"{source}, ", word_warnings(warnings))
        kept = {name: read for name, read in checked.items() if read.templates}
        if errors and not (self.drop and kept):
            broken = len({problem.line for problem in errors})
            raise BadInput(
                source,
                f"{broken} of {len(lines)} lines cannot be used; nothing was imported",
                hint="fix these lines" + (", or drop them with --drop" if kept else ""),
            )
        for name in kept:
            place(project, name, parts[name])
        said = [word_kept(name, read, modes[name]) for name, read in kept.items()]
        if warnings:
            said.append(f"{len(warnings)} warnings; with --strict they would be errors")
        settings: dict[tuple[str, ...], object] = {
            ("databases", name, "templates"): modes[name] for name in kept
        }
        settings |= {
            ("databases", name, "strict_templates"): strict[name] for name in kept if self.strict is not None
        }
        return Imported(said, settings=settings)

    def _choose_mode(self, entry: Mapping[str, object]) -> str:
        """Return `instead` if the templates replace the model's templates, otherwise `beside`."""
        if self.instead is None:
            return str(entry.get("templates") or "beside")
        return "instead" if self.instead else "beside"

    def _choose_strictness(self, entry: Mapping[str, object]) -> bool:
        """Return whether every rule for a model's templates applies to these templates."""
        return bool(entry.get("strict_templates")) if self.strict is None else self.strict


def split_lines(
    lines: Iterable[TemplateLine], database: str | None, known: Sequence[str], source: str
) -> dict[str, list[TemplateLine]]:
    """Group the lines by database.

    The database of a line is `database` if given, otherwise the database that the line names, otherwise the
    project's only database. Unreadable lines are assigned to `database` or the project's only database,
    otherwise to the database of the first readable line. Raises BadInput if a line has no database, or one
    that is not in the project.
    """
    there = ", ".join(known) or "none"
    if database is not None and database not in known:
        raise BadInput("--database", f"params.yaml has no database {database!r} (known: {there})")
    default = database or (known[0] if len(known) == 1 else None)
    parts: defaultdict[str, list[TemplateLine]] = defaultdict(list)
    waiting: list[TemplateLine] = []
    for line in lines:
        if line.record is None:
            waiting.append(line)
            continue
        name = database or line.record.get("database") or default
        if name is None:
            what = f"names no database (known: {there})"
            raise BadInput(
                source, what, line=line.number, hint="give --database NAME or the field `database`"
            )
        if not isinstance(name, str) or name not in known:
            what = f"names a database that is not in params.yaml (known: {there})"
            raise BadInput(source, what, line=line.number)
        parts[name].append(line)
    if waiting:
        name = default or next(iter(parts), None)
        if name is None:
            raise BadInput(source, waiting[0].problem, line=waiting[0].number)
        parts[name] = sorted([*parts[name], *waiting], key=lambda line: line.number)
    return dict(parts)


def check(
    project: Project, name: str, lines: Sequence[TemplateLine], mode: str, *, strict: bool
) -> CheckedLines:
    """Check lines against a database's rules and schema. Raises BadInput if the database cannot be opened."""
    database = project.parse_database(name).model_copy(update={"strict_templates": strict})
    texts = project.parse(TEXTS, TextTemplates)
    balanced = project.parse(BALANCED, Balanced)
    rules = make_rules(
        database,
        read_columns(database, project.parse(COLUMNS, ColumnRules)),
        texts,
        balanced,
        instead=mode == "instead",
    )
    return check_lines(lines, rules)


def word_problem(problem: Problem) -> str:
    """Describe a problem in one line: the line number, the broken rule, the problem, and the remedy."""
    advice = f" ({problem.advice})" if problem.advice else ""
    return f"line {problem.line}: {problem.reason}: {problem.what}{advice}"


def word_warnings(warnings: Iterable[Problem]) -> list[str]:
    """Return one line per broken rule: the first occurrence, and the number of other occurrences.

    Authors may break a rule on purpose, so the other occurrences are only counted.
    """
    found: defaultdict[str, list[Problem]] = defaultdict(list)
    for problem in warnings:
        found[problem.reason].append(problem)
    return [
        f"line {first.line}: warning: {reason}: {first.what}"
        + (f" (and {len(others)} more)" if others else "")
        for reason, (first, *others) in found.items()
    ]


def place(project: Project, name: str, lines: Sequence[TemplateLine]) -> None:
    """Write lines to the file that the stage reads; first back up an existing file that differs."""
    path = FOLDER / f"{name}.jsonl"
    content = b"".join(line.raw.rstrip(b"\r\n") + b"\n" for line in lines if line.raw)
    there = project.root / path
    if there.exists() and there.read_bytes() != content:
        project.keep(path)
    project.place(path).write_bytes(content)


def word_kept(name: str, checked: CheckedLines, mode: str) -> str:
    """Return a one-line summary of the imported templates, with the next command."""
    texts = sum(len(template.texts) for template in checked.templates)
    how = "instead of" if mode == "instead" else "beside"
    return (
        f"{name}: {len(checked.templates)} SQL templates with {texts} texts, {how} a model's "
        f"(data/templates/{name}.jsonl); now: benchloom run grammar-dataset@{name}"
    )
