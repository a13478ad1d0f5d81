"""`benchloom import cosql`: the turns of CoSQL's dialogues become a dataset of StreamBench."""

from __future__ import annotations

from pathlib import Path

from flows.sql_import import DatabaseShelf, list_folders
from flows.stream_import import (
    ImportChoice,
    ImportedStream,
    StreamSource,
    check_stream_name,
    import_stream,
    open_published,
)
from tasks.sources.cosql import DEV, LICENCE, SOURCE, TITLE, TRAIN, read_turns
from tasks.sources.sql_questions import make_sql_items, make_sql_shots
from tasks.sources.stream_dataset import DatasetHead

HEAD = DatasetHead("cosql", "sql", TITLE, LICENCE, SOURCE)


def import_cosql(
    root: Path, path: Path, choice: ImportChoice, databases: Path | None = None
) -> ImportedStream:
    """Write the development split, every turn an item; shots are of the training split, where it is there."""
    check_stream_name(choice.name)
    with open_published(path, DEV) as (folder, dev):
        train = next((folder / name for name in TRAIN if (folder / name).is_file()), None)
        # The release has its databases one folder above its splits.
        shelf = DatabaseShelf(list_folders(folder, ("database", "../database"), databases))
        source = StreamSource(
            HEAD,
            lambda: make_sql_items(read_turns(dev), shelf.look_up),
            [dev, *([train] if train else [])],
            (lambda: make_sql_shots(read_turns(train))) if train else None,
            shelf.list_files,
        )
        return import_stream(root, path, source, choice)
