"""`benchloom import ds1000`: DS-1000's problems become a dataset of StreamBench."""

from __future__ import annotations

from pathlib import Path

from flows.stream_import import (
    ImportChoice,
    ImportedStream,
    StreamSource,
    check_stream_name,
    import_stream,
    open_published,
)
from tasks.sources.ds1000 import FILES, LICENCE, SOURCE, TITLE, read_ds1000
from tasks.sources.stream_dataset import DatasetHead

HEAD = DatasetHead("ds1000", "ds1000", TITLE, LICENCE, SOURCE)


def import_ds1000(root: Path, path: Path, choice: ImportChoice) -> ImportedStream:
    """Write all problems. There is one split: shots are a file of one's own."""
    check_stream_name(choice.name)
    with open_published(path, FILES) as (_, file):
        return import_stream(root, path, StreamSource(HEAD, lambda: read_ds1000(file), [file]), choice)
