"""Collect the sources of a dataset with the licences and attributions that its card must list.

The graph determines the sources: all files that the dataset's stages and their upstream stages read, and that
no stage wrote. A database is described by its entry in params.yaml. An imported folder is described by its
about.json or dataset.json, or by the licences and attributions of its articles.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from flows.discovery import find_section_of
from flows.run.node import Node
from flows.settings import get_section, parse_database
from tasks.artifacts.card import DatasetSource
from tasks.errors import BadInput
from tasks.sources.stream_dataset import OF_THE_DATABASE

UNKNOWN = "unknown"
PRIVATE = frozenset(
    {
        UNKNOWN,
        "all rights reserved",
        "confidential",
        "internal",
        "none",
        "not stated",
        "private",
        "proprietary",
    }
)
"""Licences, in lower case, under which a source may not be redistributed."""
OWN_INPUTS = ("flows/", "tasks/", "data/labels", "data/templates", "data/worlds", "pyproject.toml")
"""Inputs of stages that are not sources: code, and files written by the project's authors."""
ABOUT = ("about.json", "dataset.json")
"""Names of the files that describe an imported folder."""
ARTICLES = "articles.parquet"


@dataclass(frozen=True)
class Source:
    """A source of a dataset, and the path in the project where the source was found."""

    place: str
    told: DatasetSource

    @property
    def private(self) -> bool:
        """Whether the source may not be redistributed, or has no licence."""
        return self.told.licence.strip().lower() in PRIVATE


def list_sources(
    nodes: Mapping[str, Node], lead: Node, params: Mapping[str, Any], root: Path
) -> list[Source]:
    """List the distinct sources of a stage's rows, in the order of their paths."""
    made = {out for node in nodes.values() for out in node.outs}
    databases = find_databases(params)
    read: dict[str, set[str]] = {}
    for node in walk_upstream(nodes, lead, params):
        for path in node.deps:
            read.setdefault(path, set()).update(list_names(params, node))
    found: dict[DatasetSource, Source] = {}
    for path, names in sorted(read.items()):
        told = [describe_database(params, name) for name, file in databases.items() if file == path]
        if not told and not path.startswith(OWN_INPUTS):
            own = is_made(path, made)
            if (root / path).is_dir() or not own:
                told = list(read_told(root, path, names, made=own))
            if not told and not own:
                told = [DatasetSource(path, UNKNOWN)]
        for source in told:
            found.setdefault(source, Source(path, source))
    return list(found.values())


def is_made(path: str, made: Collection[str]) -> bool:
    """Return whether stages wrote a path, one of its parent folders, or a file below the path."""
    above = {parent.as_posix() for parent in Path(path).parents}
    return path in made or bool(above & set(made)) or any(written.startswith(f"{path}/") for written in made)


def walk_upstream(nodes: Mapping[str, Node], lead: Node, params: Mapping[str, Any]) -> Iterator[Node]:
    """Yield a stage and all stages upstream of it.

    A stage may read a folder with all entries of a section. If the stage's own entry names only some entries
    (`databases: [films]`), the other entries are not sources and are skipped.
    """
    seen, todo = {lead.name}, [lead]
    while todo:
        node = todo.pop()
        yield node
        names = list_names(params, node)
        for name in node.upstream:
            above = nodes[name]
            entries = (nodes[name] for name in node.upstream if nodes[name].stage == above.stage)
            keys = {entry.key for entry in entries}
            if name in seen or (len(keys) > 1 and names & keys and above.key not in names):
                continue
            seen.add(name)
            todo.append(above)


def list_names(params: Mapping[str, Any], node: Node) -> set[str]:
    """List the strings in a stage's entry, which include names of other entries."""
    entry = get_section(params, f"{find_section_of(node.stage)}.{node.key}") or {}
    values = [value for given in entry.values() for value in (given if isinstance(given, list) else [given])]
    return {value for value in values if isinstance(value, str)}


def find_databases(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the databases in params.yaml: name -> the file that DVC hashes."""
    section = get_section(params, "databases") or {}
    entries = {name: parse_database(params, name) for name in section}
    return {name: entry.file.as_posix() for name, entry in entries.items() if entry.file is not None}


def describe_database(params: Mapping[str, Any], name: str) -> DatasetSource:
    """Describe a database by its entry."""
    entry = parse_database(params, name)
    url = entry.source if entry.source.startswith(("http://", "https://")) else ""
    source = f"From: {entry.source}." if entry.source and not url else ""
    description = " ".join(filter(None, (entry.description, source)))
    return DatasetSource(entry.title or name, entry.licence or UNKNOWN, url, entry.attribution, description)


def read_told(root: Path, path: str, names: set[str], *, made: bool) -> Iterator[DatasetSource]:
    """Yield source descriptions from a file's folder, or from a folder and its subfolders in `names`.

    `made`: whether a stage wrote the path. Articles are not described if a stage wrote them, because they are
    copies with the licences of an imported folder, or if their folder has its own description.
    """
    place = root / path
    if not place.is_dir():
        folders = [place.parent]
    else:
        inner = [folder for folder in sorted(place.iterdir()) if folder.is_dir() and folder.name in names]
        folders = [place, *inner]
    for folder in folders:
        for about in (folder / name for name in ABOUT):
            if about.is_file():
                yield from describe_folder(about)
        if not made and (folder / ARTICLES).is_file() and not (folder / ABOUT[0]).is_file():
            yield from describe_articles(folder / ARTICLES)


def describe_folder(about: Path) -> Iterator[DatasetSource]:
    """Describe an imported folder, unless it was made from a database, which is a separate source."""
    try:
        told = json.loads(about.read_bytes())
        own = {key: str(told.get(key) or "") for key in ("title", "name", "licence", "source", "attribution")}
    except (ValueError, AttributeError) as error:
        raise BadInput(
            about, "is not a valid description of this folder", hint="import the folder again"
        ) from error
    if own["licence"] == OF_THE_DATABASE:
        return
    url = own["source"] if own["source"].startswith(("http://", "https://")) else ""
    source = f"From: {own['source']}." if own["source"] and not url else ""
    title = own["title"] or own["name"] or about.parent.name
    yield DatasetSource(title, own["licence"] or UNKNOWN, url, own["attribution"], source)


def describe_articles(path: Path) -> Iterator[DatasetSource]:
    """Describe articles by their distinct licences and attributions."""
    told = pq.read_table(path, columns=["licence", "attribution"]).group_by(["licence", "attribution"])
    for row in sorted(told.aggregate([]).to_pylist(), key=lambda row: (row["licence"], row["attribution"])):
        source = DatasetSource(path.parent.name, row["licence"] or UNKNOWN, "", row["attribution"])
        yield replace(source, description="The evidence quotes the texts of these articles.")
