"""`benchloom add dataset`: questions with answers that a flow of the project reads, looked at once.

A folder with items.jsonl and dataset.json becomes an entry of `streambench.streams`, a set of questions with
reference answers (docs/ragcheck.md) one of `ragcheck.sets`.
"""

from __future__ import annotations

from pathlib import Path

from flows.adding.addition import Addition, require_name, require_new, trying
from flows.parameters import Parameters
from tasks.errors import BadInput

STREAMS = ("streambench", "streams")
SETS = ("ragcheck", "sets")
STREAM_FILES = ("items.jsonl", "dataset.json")
ROWS = 10


def add_dataset(
    root: Path, params: Parameters, name: str, place: Path, *, tried: bool = True, replace: bool = False
) -> Addition:
    """Read a dataset's first ten items and return its entry. Raises BadInput if no flow can read it."""
    require_name(name)
    path = place.expanduser().resolve()
    if all((path / file).is_file() for file in STREAM_FILES):
        return add_stream(root, params, name, path, tried=tried, replace=replace)
    return add_set(root, params, name, path, tried=tried, replace=replace)


def add_stream(
    root: Path, params: Parameters, name: str, path: Path, *, tried: bool, replace: bool
) -> Addition:
    """Add a StreamBench dataset, which must lie where streams are read from. Raises BadInput."""
    from tasks.streambench.build.items import FOLDER, items
    from tasks.streambench.entries import Stream

    keys = (*STREAMS, name)
    require_new(params, keys, replace=replace)
    if path.parent != (root / FOLDER).resolve():
        raise BadInput(
            path, f"is not in {FOLDER}, where streams are read from", hint=f"cp -r {path} {root / FOLDER}/"
        )
    count = None
    if tried:
        with trying(params, keys):
            count = len(items(path.parent, Stream(datasets=(path.name,)), ROWS).rows)
    return make_addition(name, keys, {"datasets": [path.name]}, count, f"streambench-items@{name}")


def add_set(root: Path, params: Parameters, name: str, path: Path, *, tried: bool, replace: bool) -> Addition:
    """Add a set of questions with reference answers. Raises BadInput if its format is not known."""
    from tasks.ragcheck.question_sets import recognise_set
    from tasks.ragcheck.questions import questions

    keys = (*SETS, name)
    require_new(params, keys, replace=replace)
    with trying(params, keys):
        found = recognise_set(path)
        count = len(questions(found.model_copy(update={"take": ROWS})).rows) if tried else None
    inside = found.path.relative_to(root) if found.path.is_relative_to(root) else found.path
    fields: dict[str, object] = {"kind": found.kind, "path": inside.as_posix()}
    if found.language != "en":
        fields["language"] = found.language
    return make_addition(name, keys, fields, count, f"ragcheck-questions@{name}")


def make_addition(
    name: str, keys: tuple[str, ...], fields: dict[str, object], count: int | None, stage: str
) -> Addition:
    """Return the addition of a dataset. count: items that were read; None if it was not tried."""
    found = {} if count is None else {"items_read": count, "section": ".".join(keys[:-1])}
    said = [] if count is None else [f"read {count} of its items, at most {ROWS}"]
    return Addition("dataset", name, {keys: fields}, found, said, f"benchloom run {stage}")
