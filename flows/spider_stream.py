"""`benchloom import spider --streambench`: a split of Spider's questions becomes a dataset of StreamBench."""

from __future__ import annotations

from pathlib import Path

from flows.sql_import import DatabaseShelf, list_folders
from flows.stream_import import ImportChoice, ImportedStream, StreamSource, check_stream_name, import_stream
from tasks.sources.releases import open_release
from tasks.sources.spider import FOLDERS, LICENCE, MARKER
from tasks.sources.sql_questions import make_sql_items, make_sql_shots, read_pairs
from tasks.sources.stream_dataset import DatasetHead

HEAD = DatasetHead("spider", "sql", "Spider", LICENCE, "https://yale-lily.github.io/spider")
SPLITS = ("test.json", "dev.json")
"""The test split is StreamBench's (section 3.2); a release without it has the development split."""
TRAIN = ("train_spider.json", "train_others.json", "train.json")


def import_spider_stream(
    root: Path, path: Path, choice: ImportChoice, databases: Path | None = None
) -> ImportedStream:
    """Write the test split, else the development split, with databases; shots are of the training split."""
    check_stream_name(choice.name)
    with open_release(path, *SPLITS, MARKER) as folder:
        asked = next((folder / name for name in SPLITS if (folder / name).is_file()), folder / SPLITS[0])
        train = next((folder / name for name in TRAIN if (folder / name).is_file()), None)
        # The release's folder of test databases holds all of them.
        shelf = DatabaseShelf(list_folders(folder, tuple(reversed(FOLDERS)), databases))
        source = StreamSource(
            HEAD,
            lambda: make_sql_items(read_pairs(asked), shelf.look_up),
            [asked, *([train] if train else [])],
            (lambda: make_sql_shots(read_pairs(train))) if train else None,
            shelf.list_files,
        )
        return import_stream(root, path, source, choice)
