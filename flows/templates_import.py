"""`benchloom import templates`: a person's SQL templates with texts, held to the rules and put in place."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flows.run.kept_files import KEPT, name_kept
from flows.run.progress import tell_first
from flows.settings import edit_params, get_section, load_params, parse_database, parse_section
from tasks.databases.reflection import reflect
from tasks.errors import BadInput
from tasks.files import write_beside
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
from tasks.grammar.construct.text_criteria import TextTemplates


def import_templates(
    root: Path, file: str, database: str | None, *, instead: bool | None, drop: bool
) -> None:
    """Put templates where the stage reads them, and say what was imported; what breaks a rule is named.

    file: JSON Lines, `-` for stdin. database: of lines that name none. instead: of a model's, or beside;
    None leaves it as params.yaml has it. drop: import the others where some break a rule. Raises BadInput
    where nothing is imported.
    """
    params = load_params(root)
    lines = list(read_template_lines(file))
    if not lines:
        raise BadInput(name_source(file), "is empty", hint="docs/templates.md says what a line holds")
    entries = get_section(params, "databases") or {}
    checked: dict[str, CheckedLines] = {}
    parts = split_lines(lines, database, list(entries), name_source(file))
    modes = {
        name: ("beside", "instead")[instead]
        if instead is not None
        else str((entries[name] or {}).get("templates") or "beside")
        for name in parts
    }
    for name, own in parts.items():
        checked[name] = check(root, params, name, own, modes[name] == "instead")
    problems = sorted(
        (problem for read in checked.values() for problem in read.problems), key=lambda problem: problem.line
    )
    tell_first(f"{name_source(file)}, ", [word_problem(problem) for problem in problems])
    kept = sum(len(read.templates) for read in checked.values())
    if problems and not (drop and kept):
        broken = len({problem.line for problem in problems})
        raise BadInput(
            name_source(file),
            f"{broken} of {len(lines)} lines break a rule, and nothing was imported",
            hint="mend them" + (", or leave them out by --drop" if kept else ""),
        )
    for name, own in parts.items():
        if checked[name].templates:
            place(root, name, own)
            tell_kept(name, checked[name], modes[name])
    with edit_params(root) as data:
        for name in parts:
            if checked[name].templates:
                data["databases"][name]["templates"] = modes[name]


def name_source(file: str) -> str:
    """Name where lines come from."""
    return "stdin" if file == "-" else file


def split_lines(
    lines: Iterable[TemplateLine], database: str | None, known: Sequence[str], source: str
) -> dict[str, list[TemplateLine]]:
    """Split lines by database: the one that a line names, else the option's, else the only one there is.

    A line that cannot be read goes with the option's database, else with the first. Raises BadInput where a
    line is for no database of the project.
    """
    there = ", ".join(known) or "none"
    if database is not None and database not in known:
        raise BadInput("--database", f"params.yaml has no database {database!r} (there: {there})")
    default = database or (known[0] if len(known) == 1 else None)
    parts: defaultdict[str, list[TemplateLine]] = defaultdict(list)
    waiting: list[TemplateLine] = []
    for line in lines:
        if line.record is None:
            waiting.append(line)
            continue
        name = database or line.record.get("database") or default
        if name is None:
            what = f"names no database (there: {there})"
            raise BadInput(source, what, line=line.number, hint="--database NAME, or the field `database`")
        if not isinstance(name, str) or name not in known:
            what = f"names a database that params.yaml has not (there: {there})"
            raise BadInput(source, what, line=line.number)
        parts[name].append(line)
    if waiting:
        name = default or next(iter(parts), None)
        if name is None:
            raise BadInput(source, waiting[0].problem, line=waiting[0].number)
        parts[name] = sorted([*parts[name], *waiting], key=lambda line: line.number)
    return dict(parts)


def check(
    root: Path, params: Mapping[str, Any], name: str, lines: Sequence[TemplateLine], instead: bool
) -> CheckedLines:
    """Hold lines to the rules for a database, by its schema. Raises BadInput if it cannot be opened."""
    database = parse_database(params, name).resolve_under(root)
    texts = parse_section(params, TEXTS, TextTemplates)
    balanced = parse_section(params, BALANCED, Balanced)
    return check_lines(lines, make_rules(database, reflect(database), texts, balanced, instead=instead))


def word_problem(problem: Problem) -> str:
    """Say in a line what is wrong: where, which rule, what, what to do."""
    advice = f" ({problem.advice})" if problem.advice else ""
    return f"line {problem.line}: {problem.reason}: {problem.what}{advice}"


def place(root: Path, name: str, lines: Sequence[TemplateLine]) -> None:
    """Put lines where the stage reads them; what lies there and is another file is kept, and said."""
    path = root / FOLDER / f"{name}.jsonl"
    content = b"".join(line.raw.rstrip(b"\r\n") + b"\n" for line in lines if line.raw)
    if path.exists() and path.read_bytes() != content:
        kept = name_kept(root / KEPT / FOLDER / path.name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        path.rename(kept)
        print(
            f"{path.relative_to(root)}: the templates that were there are kept as {kept.relative_to(root)}",
            file=sys.stderr,
        )
    with write_beside(path) as draft:
        draft.write_bytes(content)


def tell_kept(name: str, checked: CheckedLines, mode: str) -> None:
    """Say what was imported, and what to run."""
    texts = sum(len(template.texts) for template in checked.templates)
    how = "instead of a model's" if mode == "instead" else "beside a model's"
    print(
        f"{name}: {len(checked.templates)} SQL templates with {texts} texts, {how} "
        f"(data/templates/{name}.jsonl); now: benchloom run grammar-dataset@{name}"
    )
