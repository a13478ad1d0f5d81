"""Write the result of `benchloom add`: an entry of params.yaml, its test result and generated files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from flows.graph import is_declaring
from flows.graph_file import DVC_YAML, compare_graph
from flows.parameters import Parameters, find_line, refuse
from flows.params_file import NAME
from flows.settings import edit_params, get_section
from tasks.errors import BadInput, BenchloomError
from tasks.files import write_beside, write_text
from tasks.lines import write_error

PARAMS = "params.yaml"
LONGEST_NAME = 200
"""Maximum length of a model's name in characters: providers put paths and versions into names."""


@dataclass(frozen=True)
class Addition:
    """An entry to write into params.yaml, and the result of its test."""

    kind: str
    """The kind of the entry: database, model, system, dataset or judge."""
    name: str
    values: Mapping[tuple[str, ...], object]
    """Key path in params.yaml -> value to write; the new entry comes first."""
    found: Mapping[str, object]
    """The results of the test by name, for `--json`; empty if the entry was not tested."""
    said: Sequence[str]
    """The test result as lines of text, to print."""
    following: str
    """The command to run next."""
    copies: Mapping[Path, Path] = field(default_factory=dict)
    """SQLite file outside the project -> path of its copy in the project."""


def write_addition(root: Path, addition: Addition) -> dict[str, int]:
    """Write an entry into params.yaml, and update dvc.yaml.

    Returns the line number of each written entry, keyed by its dotted name. Raises BadInput, without writing
    anything, if the parameters or the graph would be invalid.
    """
    params = edit_params(root, addition.values)
    graph = compare_graph(root, params) if is_declaring(root) else None
    # Before params.yaml is written: a failed copy must not leave an entry without its database.
    for source, target in addition.copies.items():
        copy_database(source, target)
    with write_beside(root / PARAMS) as draft:
        draft.write_bytes(params.text)
    if graph is not None and graph[0] != graph[1]:
        write_text(root / DVC_YAML, graph[1])
    lines = {".".join(keys): find_line(root / PARAMS, keys) for keys in addition.values}
    return {name: line for name, line in lines.items() if line is not None}


def require_name(name: str) -> None:
    """Raise BadInput if a name is not valid as both a folder's name and a command line argument."""
    if not NAME.fullmatch(name):
        hint = "use at most 80 letters, digits, `_` and `-`, and do not begin with `-`"
        raise BadInput("NAME", f"{name[:60]!r} is not a valid name", hint=hint)


def require_model_name(name: str) -> None:
    """Raise BadInput for a model's name that is empty or too long, or contains white space."""
    if not name.isprintable() or name.split() != [name] or len(name) > LONGEST_NAME:
        hint = f"use at most {LONGEST_NAME} characters and no blanks"
        raise BadInput("NAME", f"{name[:60]!r} is not a valid model name", hint=hint)


def require_new(params: Parameters, keys: Sequence[str], *, replace: bool) -> None:
    """Raise BadInput, with the line number, if the entry already exists and `replace` is false."""
    *section, name = keys
    if not replace and name in (get_section(params, ".".join(section)) or {}):
        raise refuse(params, keys, "already exists", hint="use --replace to replace it")


@contextmanager
def trying(params: Parameters, keys: Sequence[str]) -> Iterator[None]:
    """Convert any error of a test to a BadInput error that names the entry and its line."""
    try:
        yield
    except BadInput as error:
        if str(error).startswith(PARAMS):
            raise
        raise refuse(params, keys, f"nothing was written: {write_error(error)}") from error
    except BenchloomError as error:
        raise refuse(
            params, keys, f"the test failed, so nothing was written: {write_error(error)}"
        ) from error


def copy_database(source: Path, target: Path) -> None:
    """Copy a consistent state of a SQLite file, including its write-ahead log.

    Raises BadInput if SQLite cannot read or write one of the files.
    """
    try:
        with (
            write_beside(target) as draft,
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(draft)) as copy,
        ):
            original.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # a single file, readable in a read-only folder
    except sqlite3.Error as error:
        raise BadInput(source, f"cannot be copied: {error}") from error
