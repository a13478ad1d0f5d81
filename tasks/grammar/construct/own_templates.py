"""Stage: read user-written templates (SQL with texts), which extend or replace the model's templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput
from tasks.grammar.construct.balanced import Balanced
from tasks.grammar.construct.sql_templates import OwnTemplate
from tasks.grammar.construct.template_lines import (
    FOLDER,
    TemplateRules,
    check_lines,
    read_template_lines,
)
from tasks.grammar.construct.text_requests import TextTemplates
from tasks.settings import read_section

TEXTS, BALANCED = "grammar.text_templates", "grammar.balanced"


def own_templates(
    templates: Path, schema: list[Column], database: DatabaseEntry, settings: Mapping[str, object]
) -> Drafts[OwnTemplate]:
    """Read `<database>.jsonl` if the database's entry sets `templates`; otherwise return no rows.

    `templates` is the folder of that file. `settings` contains other stages' parameters, by dotted name. An
    unusable template or text is dropped, with its line number. The drop reasons are the keys of `ADVICE`.
    Raises BadInput if the file is missing, or contains no usable template.
    """
    if database.templates is None:
        return Drafts([])
    place = f"{(FOLDER / database.name).as_posix()}.jsonl"
    file = templates / f"{database.name}.jsonl"
    if not file.is_file():
        what = f"does not exist, but databases.{database.name}.templates is {database.templates}"
        raise BadInput(place, what, hint="run benchloom import templates FILE")
    texts = read_section(settings, TEXTS, TextTemplates)
    balanced = read_section(settings, BALANCED, Balanced)
    rules = make_rules(database, schema, texts, balanced, instead=database.templates == "instead")
    checked = check_lines(list(read_template_lines(str(file))), rules)
    if not checked.templates:
        first = checked.errors[0] if checked.errors else None
        what = f"has no usable template in {checked.lines} lines"
        raise BadInput(place, what, hint=f"line {first.line}: {first.what}" if first else "the file is empty")
    dropped = [
        Dropped(
            make_id("own_template", number, problem.line, problem.reason),
            problem.reason,
            f"line {problem.line}: {problem.what}",
            (Origin("evidence", f"{place}, line {problem.line}"),),
        )
        for number, problem in enumerate(checked.errors)
    ]
    return Drafts(checked.templates, dropped)


def make_rules(
    database: DatabaseEntry,
    schema: list[Column],
    texts: TextTemplates,
    balanced: Balanced,
    *,
    instead: bool,
) -> TemplateRules:
    """Return the rules for a database's templates.

    With `instead`, no model adds texts, so each template must have all texts that the balanced set needs.
    """
    wanted = dict.fromkeys(balanced.criteria, balanced.texts) if instead else {}
    return TemplateRules(
        database.name, schema, texts.criteria, wanted, instead, strict=database.strict_templates
    )
