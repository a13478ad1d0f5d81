"""`benchloom import toolbench`: the tests of STE's 50 APIs become a dataset of StreamBench."""

from __future__ import annotations

import json
from pathlib import Path

from flows.stream_import import ImportChoice, ImportedStream, StreamSource, check_stream_name, import_stream
from tasks.sources.releases import open_release
from tasks.sources.stream_dataset import DatasetHead
from tasks.sources.toolbench import (
    DESCRIPTIONS,
    LICENCE,
    LISTED,
    SOURCE,
    TEST,
    TITLE,
    list_descriptions,
    read_toolbench,
)

HEAD = DatasetHead("toolbench", "toolbench", TITLE, LICENCE, SOURCE, "api")


def import_toolbench(root: Path, path: Path, choice: ImportChoice) -> ImportedStream:
    """Write all tests with all APIs' descriptions. There is one split: shots are a file of one's own."""
    check_stream_name(choice.name)
    with open_release(path, TEST) as folder:
        words = json.dumps(list_descriptions(folder), ensure_ascii=False, indent=1) + "\n"
        source = StreamSource(
            HEAD,
            lambda: read_toolbench(folder),
            [folder / name for name in (TEST, DESCRIPTIONS, LISTED) if (folder / name).is_file()],
            files=lambda taken: {"descriptions.json": words.encode()},
        )
        return import_stream(root, path, source, choice)
