"""`benchloom import bird`: BIRD's development split becomes a dataset of StreamBench."""

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
from tasks.sources.bird import (
    DEV,
    FOLDERS,
    LICENCE,
    SOURCE,
    TABLES,
    TITLE,
    TRAIN,
    read_bird_questions,
    read_bird_tables,
)
from tasks.sources.sql_questions import make_sql_items, make_sql_shots
from tasks.sources.stream_dataset import DatasetHead

HEAD = DatasetHead("bird", "sql", TITLE, LICENCE, SOURCE)


def import_bird(
    root: Path, path: Path, choice: ImportChoice, databases: Path | None = None, *, keep: bool = False
) -> ImportedStream:
    """Write the development split. keep: questions without a database, too, which are never judged."""
    check_stream_name(choice.name)
    with open_published(path, DEV) as (folder, dev):
        train = next((folder / name for name in TRAIN if (folder / name).is_file()), None)
        tables = [folder / name for name in TABLES if (folder / name).is_file()]
        schemas = {name: text for file in reversed(tables) for name, text in read_bird_tables(file).items()}
        shelf = DatabaseShelf(list_folders(folder, FOLDERS, databases), schemas)
        source = StreamSource(
            HEAD,
            lambda: make_sql_items(read_bird_questions(dev), shelf.look_up, keep=keep),
            [dev, *tables, *([train] if train else [])],
            (lambda: make_sql_shots(read_bird_questions(train))) if train else None,
            shelf.list_files,
        )
        return import_stream(root, path, source, choice)
