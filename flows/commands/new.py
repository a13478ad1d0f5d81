"""`benchloom new`: a project from a database and a model, with a preview of its first questions.

Each step is a command of the new project, so that the code that runs is the project's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import benchloom
from benchloom.making import make_project
from benchloom.yaml_files import load_yaml
from flows.adding.hosted import HOSTED, OPENAI_KEY
from tasks.errors import BadInput
from tasks.lines import print_line, say_line
from tasks.models.stream_board import format_time

LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); from benchloom.launcher import main; main()"
PREVIEW = "data/.preview"
MODEL_OPTIONS = ("endpoint", "key_env", "served_model", "input_price", "output_price")
SHOWN_TABLES, SHOWN_COLUMNS = 12, 8


@dataclass(frozen=True)
class NewOptions:
    """What a project is made from. database: a SQLite file, or a SQLAlchemy URL without its password."""

    database: str
    model: str | None = None
    endpoint: str | None = None
    key_env: str | None = None
    served_model: str | None = None
    password_env: str | None = None
    input_price: float | None = None
    output_price: float | None = None
    limit: int = 20


class StepFailed(Exception):
    """A command of the new project ended with an error, which it has said. code: its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class NewProject:
    """The project, its database and its model. embedded: whether the model is one of this machine's."""

    folder: Path
    database: str
    model: str
    embedded: bool

    def call(self, *words: str) -> None:
        """Call a command; what it says goes to stderr. Raises StepFailed."""
        self._run(words, sys.stderr.fileno())

    def ask(self, *words: str) -> Any:
        """Call a command; return the JSON document that it prints. Raises StepFailed."""
        return json.loads(self._run((*words, "--json"), subprocess.PIPE))

    def _run(self, words: Sequence[str], out: int) -> str:
        source = str(Path(benchloom.__file__).resolve().parents[1])
        done = subprocess.run(  # noqa: S603 - our own launcher
            [sys.executable, "-P", "-c", LAUNCH, source, *words],
            cwd=self.folder, stdout=out, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise StepFailed(done.returncode)
        return done.stdout or ""


def new_command(folder: Path, options: NewOptions) -> int:
    """Carry out `benchloom new DIR`; returns the exit code.

    The folder is removed again where the database or the model fails its try. Raises BadInput.
    """
    place = find_place(options.database)
    if options.endpoint is not None and options.model is None:
        raise BadInput("--endpoint", "needs the model's name", hint="--model NAME")
    fresh = not folder.exists()
    version = make_project(folder)
    project = choose_project(folder, options)
    say_line(f"benchloom: made {folder} of Benchloom {version}")
    try:
        added = project.ask(
            "add", "database", project.database, place, *list_words(options, ("password_env",))
        )
        if not project.embedded:
            project.ask("add", "model", project.model, *list_words(options, MODEL_OPTIONS))
    except StepFailed as failed:
        undo(folder, fresh=fresh)
        return failed.code
    try:
        return show_project(project, options, added)
    except StepFailed as failed:
        say_line(f"benchloom: {folder} is made; go on with: cd {folder} && benchloom doctor")
        return failed.code


def list_words(options: NewOptions, names: Sequence[str]) -> list[str]:
    """List the options that are given as words of a command."""
    given = {name: getattr(options, name) for name in names}
    pairs = [
        (f"--{name.replace('_', '-')}", str(value)) for name, value in given.items() if value is not None
    ]
    return [word for pair in pairs for word in pair]


def find_place(database: str) -> str:
    """Return where a database is, for a command that is called in another folder. Raises BadInput."""
    if "://" in database:
        return database
    path = Path(database).expanduser().resolve()
    if not path.is_file():
        raise BadInput(
            database, "no such database file", hint="a SQLite file, or dialect://user@host/database"
        )
    return str(path)


def name_database(database: str) -> str:
    """Name the entry of a database after its file, or after the last part of its URL."""
    last = urlsplit(database).path if "://" in database else Path(database).stem
    name = re.sub(r"\W+", "_", last.rpartition("/")[2]).strip("_-")
    return name[:80] or "database"


def choose_project(folder: Path, options: NewOptions) -> NewProject:
    """Choose the model: the one that is named, one whose key is in the environment, or the embedded one."""
    params = load_yaml(folder / "params.yaml")
    small = str(params["roles"]["generator"]["model"])
    model = options.model or (HOSTED if os.environ.get(OPENAI_KEY) else small)
    embedded = options.endpoint is None and model in params["models"]
    return NewProject(folder, name_database(options.database), model, embedded)


def undo(folder: Path, *, fresh: bool) -> None:
    """Remove what was made. fresh: the folder itself was not there before."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    if fresh:
        folder.rmdir()
    say_line(f"benchloom: {folder} is removed again")


def show_project(project: NewProject, options: NewOptions, added: Mapping[str, Any]) -> int:
    """Say what the database holds and what a run costs, and preview its questions. Raises StepFailed."""
    name, limit = project.database, str(options.limit)
    for part in added["found"]["unread"]:
        say_line(f"benchloom: {part}")
    project.call("run", "--plain", f"grammar-schema@{name}")
    for line in describe_profile(project):
        print_line(line)
    plan = project.ask("plan", f"grammar-dataset@{name}")
    print_line(f"A whole run: {describe_cost(plan)}")
    following = f"benchloom run grammar-dataset@{name}"
    if project.embedded:
        print_line(
            f"The model is {project.model}, on this machine: a preview takes minutes, a run hours. It "
            "chooses among queries that Benchloom composes. Use --model to name another model."
        )
        if not is_pulled(project):
            print_line(f"next: cd {project.folder} && benchloom model pull && {following}")
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
    """Write what is known of the tables, and of the columns that nobody is asked about."""
    folder = project.folder / "data/grammar" / project.database
    tables: dict[str, list[str]] = {}
    for column in read_rows(folder / "schema.parquet"):
        asked = "" if column["descriptive"] else ", a key"
        tables.setdefault(column["table"], []).append(f"{column['name']} ({column['type']}{asked})")
    lines = [f"{project.database}: {len(tables)} tables, {sum(map(len, tables.values()))} columns"]
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
            f"{len(unclear)} names say nothing to a reader: write what people call them into "
            f"databases.{project.database}.glossary (docs/databases.md)"
        )
    return lines


def describe_cost(plan: Mapping[str, Any]) -> str:
    """Write the calls, tokens, dollars and time of a plan."""
    parts = [
        f"{show(plan['calls'])} calls",
        f"{show(plan['tokens'])} tokens",
        f"${show(plan['usd'], 2)}"
        + ("" if plan["usd"]["high"] else " (--input-price, --output-price say the price)"),
    ]
    if plan["seconds"] is not None:
        low, high = (plan["seconds"][end] for end in ("low", "high"))
        parts.append(format_time(low) if high is None else f"{format_time(low)} to {format_time(high)}")
    parts += plan["measured"]
    return ", ".join(parts)


def show(span: Mapping[str, Any], digits: int = 0) -> str:
    """Write a range; its upper end may be unknown."""
    low, high = (None if end is None else f"{end:,.{digits}f}" for end in (span["low"], span["high"]))
    return f"at least {low}" if high is None else str(low) if low == high else f"{low} to {high}"


def is_pulled(project: NewProject) -> bool:
    """Tell whether the files of an embedded model are on this machine."""
    from tasks.models.serving.fetching import has_files
    from tasks.models.settings import EmbeddedModel

    fields = load_yaml(project.folder / "params.yaml")["models"][project.model]
    return has_files(EmbeddedModel.model_validate(fields))


def show_questions(project: NewProject, limit: int) -> None:
    """Print the questions of the preview with their answers, and where its page is."""
    root = project.folder / PREVIEW
    folder = root / "grammar" / project.database
    questions = read_rows(folder / "balanced.parquet") or read_rows(folder / "unbalanced.parquet")
    for number, row in enumerate(questions[:limit], 1):
        print_line(f"{number:>3}. {row['question']}")
        print_line(f"     {row['answer']}")
    if len(questions) < limit:
        print_line(f"{len(questions)} of {limit} questions: the page says what was dropped, and why")
    page = root / "reports/grammar" / project.database / "index.html"
    if page.is_file():
        print_line(f"page: {page}")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read an artifact's rows; none where it is missing."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist() if path.is_file() else []
    return rows
