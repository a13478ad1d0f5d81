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
"""Of a model, in characters: providers put paths and versions into them."""


@dataclass(frozen=True)
class Addition:
    """An entry to write, and the result of its test."""

    kind: str
    """database, model, system, dataset or judge."""
    name: str
    values: Mapping[tuple[str, ...], object]
    """By the keys of params.yaml; the entry itself comes first."""
    found: Mapping[str, object]
    """What the thing can do, for machines; empty if it was not tried."""
    said: Sequence[str]
    """The same as lines for people."""
    following: str
    """The next command."""
    copies: Mapping[Path, Path] = field(default_factory=dict)
    """SQLite file outside the project -> its copy within."""


def write_addition(root: Path, addition: Addition) -> dict[str, int]:
    """Write an entry into params.yaml, and bring dvc.yaml up to date.

    Returns the line of each entry that was written, by its dotted name. Raises BadInput, and writes nothing
    then, where the parameters or the graph would not be valid.
    """
    params = edit_params(root, addition.values)
    graph = compare_graph(root, params) if is_declaring(root) else None
    for source, target in addition.copies.items():
        copy_database(source, target)
    with write_beside(root / PARAMS) as draft:
        draft.write_bytes(params.text)
    if graph is not None and graph[0] != graph[1]:
        write_text(root / DVC_YAML, graph[1])
    lines = {".".join(keys): find_line(root / PARAMS, keys) for keys in addition.values}
    return {name: line for name, line in lines.items() if line is not None}


def require_name(name: str) -> None:
    """Raise BadInput for a name that stages cannot have: it becomes a folder, and a word of commands."""
    if not NAME.fullmatch(name):
        hint = "use at most 80 letters, digits, `_` and `-`, and do not begin with `-`"
        raise BadInput("NAME", f"{name[:60]!r} is not a valid name", hint=hint)


def require_model_name(name: str) -> None:
    """Raise BadInput for a model's name that is empty, too long, or holds blanks."""
    if not name.isprintable() or name.split() != [name] or len(name) > LONGEST_NAME:
        hint = f"use at most {LONGEST_NAME} characters and no blanks"
        raise BadInput("NAME", f"{name[:60]!r} is not a valid model name", hint=hint)


def require_new(params: Parameters, keys: Sequence[str], *, replace: bool) -> None:
    """Raise BadInput, with the line, where an entry is there already and is not to be replaced."""
    *section, name = keys
    if not replace and name in (get_section(params, ".".join(section)) or {}):
        raise refuse(params, keys, "already exists", hint="use --replace to replace it")


@contextmanager
def trying(params: Parameters, keys: Sequence[str]) -> Iterator[None]:
    """Turn whatever a try fails with into BadInput that names the entry, and the line it would follow."""
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
    """Copy a SQLite file as it is at one moment, with what its write-ahead log holds. Raises BadInput."""
    try:
        with (
            write_beside(target) as draft,
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(draft)) as copy,
        ):
            original.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, that can be read where nobody may write
    except sqlite3.Error as error:
        raise BadInput(source, f"cannot be copied: {error}") from error
