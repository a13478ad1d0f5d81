"""Implement `benchloom new --database`: describe the database, estimate a run, and preview questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.adding.new_project import PREVIEW, NewOptions, NewProject, StepFailed, describe_cost, read_rows
from tasks.lines import print_line, say_line

SHOWN_TABLES, SHOWN_COLUMNS = 12, 8


def show_database(project: NewProject, options: NewOptions, added: Mapping[str, Any]) -> int:
    """Print the database's content and a run's cost, and preview questions.

    Raises StepFailed if a command of the new project fails.
    """
    name, limit = project.entry, str(options.limit)
    for part in added["found"]["unread"]:
        say_line(f"benchloom: {part}")
    project.call("run", "--plain", f"grammar-schema@{name}")
    for line in describe_profile(project):
        print_line(line)
    plan = project.ask("plan", f"grammar-dataset@{name}")
    print_line(f"A complete run: {describe_cost(plan, free=project.embedded)}")
    following = f"benchloom run grammar-dataset@{name}"
    if project.embedded:
        print_line(
            f"The model {project.model} runs on this machine: a preview takes minutes, and a complete run "
            "takes hours. The model chooses among queries that Benchloom composes. "
            "To use another model, run the command with --model NAME."
        )
        if project.is_lacking():
            preview = f"benchloom run --limit {limit} grammar-report@{name}"
            print_line(f"next: cd {project.folder} && benchloom model pull && {preview}")
            return 0
    code = 0
    try:
        project.call("run", "--plain", "--limit", limit, f"grammar-report@{name}")
    except StepFailed as failed:
        code = failed.code
    show_questions(project, options.limit)
    print_line(f"next: cd {project.folder} && {following}")
    return code


def describe_profile(project: NewProject) -> list[str]:
    """Describe the tables, and the columns that no question asks about, as lines of text."""
    folder = project.folder / "data/grammar" / project.entry
    tables: dict[str, list[str]] = {}
    for column in read_rows(folder / "schema.parquet"):
        asked = "" if column["descriptive"] else ", a key"
        tables.setdefault(column["table"], []).append(f"{column['name']} ({column['type']}{asked})")
    lines = [f"{project.entry}: {len(tables)} tables, {sum(map(len, tables.values()))} columns"]
    for table, columns in list(tables.items())[:SHOWN_TABLES]:
        more = ", ..." if len(columns) > SHOWN_COLUMNS else ""
        lines.append(f"  {table}: {', '.join(columns[:SHOWN_COLUMNS])}{more}")
    if len(tables) > SHOWN_TABLES:
        lines.append(f"  and {len(tables) - SHOWN_TABLES} more tables")
    unclear = [
        row for row in read_rows(folder / "glossary.dropped.parquet") if row["reason"] == "unclear_name"
    ]
    if unclear:
        lines.append(
            f"{len(unclear)} names of tables or columns are unclear: describe them in "
            f"databases.{project.entry}.glossary (docs/databases.md)"
        )
    return lines


def show_questions(project: NewProject, limit: int) -> None:
    """Print the preview's questions and answers, and the path of the preview's page."""
    root = project.folder / PREVIEW
    folder = root / "grammar" / project.entry
    questions = read_rows(folder / "balanced.parquet") or read_rows(folder / "unbalanced.parquet")
    for number, row in enumerate(questions[:limit], 1):
        print_line(f"{number:>3}. {row['question']}")
        print_line(f"     {row['answer']}")
    if len(questions) < limit:
        print_line(
            f"{len(questions)} of {limit} questions were built; the preview page shows why rows were dropped"
        )
    page = root / "reports/grammar" / project.entry / "index.html"
    if page.is_file():
        print_line(f"page: {page}")
