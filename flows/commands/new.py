"""Implement `benchloom new`: create a project from a database or a table of questions, with a preview."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from benchloom.making import make_project
from benchloom.yaml_files import load_yaml
from flows.adding.hosted import HOSTED, OPENAI_KEY
from flows.adding.new_database import show_database
from flows.adding.new_project import NewOptions, NewProject, StepFailed
from flows.adding.new_questions import SYSTEM, show_evaluation
from tasks.errors import BadInput
from tasks.lines import say_line

MODEL_OPTIONS = ("endpoint", "key_env", "served_model", "input_price", "output_price")


def new_command(folder: Path, options: NewOptions) -> int:
    """Run `benchloom new DIR`; return the exit code.

    Raises BadInput if the data or the model fails its test; the folder is then removed.
    """
    place = find_source(options)
    if options.endpoint is not None and options.model is None:
        raise BadInput("--endpoint", "requires a model name", hint="add --model NAME")
    fresh = not folder.exists()
    version = make_project(folder)
    project = choose_project(folder, place, options)
    say_line(f"benchloom: created {folder} with Benchloom {version}")
    try:
        if options.questions is None:
            words = ["add", "database", project.entry, place, *list_words(options, ("password_env",))]
        else:
            columns = [word for part, column in options.columns.items() for word in (f"--{part}", column)]
            words = ["add", "dataset", project.entry, place, "--system", SYSTEM, "--nightly", *columns]
        added = project.ask(*words)
        if not project.embedded:
            project.ask("add", "model", project.model, *list_words(options, MODEL_OPTIONS))
    except StepFailed as failed:
        undo(folder, fresh=fresh)
        return failed.code
    try:
        if options.questions is None:
            return show_database(project, options, added)
        return show_evaluation(project, options)
    except StepFailed as failed:
        say_line(f"benchloom: {folder} was created; continue with: cd {folder} && benchloom doctor")
        return failed.code


def list_words(options: NewOptions, names: Sequence[str]) -> list[str]:
    """Return the options that were given, as command line arguments."""
    given = {name: getattr(options, name) for name in names}
    pairs = [
        (f"--{name.replace('_', '-')}", str(value)) for name, value in given.items() if value is not None
    ]
    return [word for pair in pairs for word in pair]


def find_source(options: NewOptions) -> str:
    """Return the URL or the absolute path of the data. Raises BadInput for a missing file."""
    if (options.database is None) == (options.questions is None):
        raise BadInput(
            "--database, --questions",
            "expected exactly one of the two options",
            hint=(
                "use --database FILE|URL to make questions from a database, or --questions FILE to "
                "evaluate a model on your own questions"
            ),
        )
    source = str(options.questions if options.database is None else options.database)
    if options.database is not None and "://" in source:
        return source
    path = Path(source).expanduser().resolve()
    if options.questions is not None and not path.exists():
        raise BadInput(
            source, "no such file or folder", hint="give a table of questions and answers; see docs/qa.md"
        )
    if options.database is not None and not path.is_file():
        raise BadInput(
            source, "no such database file", hint="give a SQLite file or a URL: dialect://user@host/database"
        )
    return str(path)


def name_entry(source: str) -> str:
    """Derive the entry's name from the file name or the last part of the URL; `data` if that is empty."""
    last = urlsplit(source).path if "://" in source else Path(source).name.partition(".")[0]
    name = re.sub(r"\W+", "_", last.rpartition("/")[2]).strip("_-")
    return name[:80] or "data"


def choose_project(folder: Path, source: str, options: NewOptions) -> NewProject:
    """Choose the model: the named model, the hosted model if its key is set, or the embedded model."""
    params = load_yaml(folder / "params.yaml")
    small = str(params["roles"]["generator"]["model"])
    model = options.model or (HOSTED if os.environ.get(OPENAI_KEY) else small)
    embedded = options.endpoint is None and model in params["models"]
    return NewProject(folder, name_entry(source), model, embedded)


def undo(folder: Path, *, fresh: bool) -> None:
    """Remove all files in a folder. fresh: remove the folder, too, because it did not exist before."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    if fresh:
        folder.rmdir()
    say_line(f"benchloom: the files created in {folder} were removed")
