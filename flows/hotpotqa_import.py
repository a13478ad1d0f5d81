"""`benchloom import hotpotqa`: HotpotQA's distractor questions become a dataset of StreamBench."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flows.stream_import import (
    ImportChoice,
    ImportedStream,
    StreamSource,
    check_stream_name,
    import_stream,
    open_published,
)
from tasks.sources.hotpotqa import LICENCE, SOURCE, TITLE, read_hotpotqa
from tasks.sources.stream_dataset import DatasetHead, DatasetShot, LeftOutRecord

HEAD = DatasetHead("hotpotqa", "hotpotqa", TITLE, LICENCE, SOURCE)
DEV = ("hotpot_dev_distractor_v1.json", "hotpot_dev_distractor_v1.json.gz")
TRAIN = "hotpot_train_v1.1.json"


def import_hotpotqa(root: Path, path: Path, choice: ImportChoice) -> ImportedStream:
    """Write the development split; shots are of the training split, where that lies beside it."""
    check_stream_name(choice.name)
    with open_published(path, DEV) as (folder, dev):
        train = folder / TRAIN if (folder / TRAIN).is_file() else None
        source = StreamSource(
            HEAD,
            lambda: read_hotpotqa(dev),
            [dev, *([train] if train else [])],
            (lambda: _read_shots(train)) if train else None,
        )
        return import_stream(root, path, source, choice)


def _read_shots(path: Path) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
    for where, item in read_hotpotqa(path):
        if isinstance(item, LeftOutRecord):
            yield where, item
        else:
            text = f"{item.context}\n\n{item.text}"
            yield where, DatasetShot(item.key, text, item.memory_key, item.gold)
