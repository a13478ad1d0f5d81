"""Find and read the splits of the released StreamBench, from a local folder or the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.errors import BadInput
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.streams import say

HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
PARQUET = ".parquet"
ENDINGS = (PARQUET, ".jsonl", ".jsonl.gz", ".json")
BATCH = 64
"""Number of Parquet rows that are in memory at once."""


@contextmanager
def open_released(path: Path, configurations: Sequence[str]) -> Iterator[Path]:
    """Yield the folder of the released dataset: `path`, or a download from the hub.

    Only `configurations` are downloaded. Raises BadInput if `path` is neither a folder nor the name of a hub
    dataset, if huggingface_hub is not installed, or if the download fails.
    """
    if path.is_dir():
        yield path
        return
    if path.exists() or not HUB_NAME.fullmatch(str(path)):
        raise BadInput(
            path,
            "is not a folder",
            hint="give a folder, or the name of a dataset on the Hugging Face Hub",
        )
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        hint = "run pip install 'benchloom[publish]', or give a folder"
        raise BadInput(
            path, "is a name on the hub, but huggingface_hub is not installed", hint=hint
        ) from error
    with TemporaryDirectory(prefix="benchloom-hub-") as name:
        patterns = [f"{configuration}/*" for configuration in configurations]
        try:
            snapshot_download(str(path), repo_type="dataset", allow_patterns=patterns, local_dir=name)
        except Exception as error:
            hint = "without a network connection, give a folder that contains the set"
            raise BadInput(path, f"cannot be fetched from the hub: {say(error)}", hint=hint) from error
        yield Path(name)


def find_folder(root: Path, configuration: str) -> Path | None:
    """Return the folder of a configuration: a subfolder of `root`, or `root` itself if it has that name."""
    below = root / configuration
    if below.is_dir():
        return below
    return root if root.name == configuration else None


def find_files(folder: Path, split: str) -> list[Path]:
    """Return the files of a split in row order, such as `SPLIT.jsonl` or `SPLIT-00000-of-00002.parquet`.

    If a split has files in several formats, only the first format in ENDINGS is used.
    """
    for ending in ENDINGS:
        found = [
            file
            for file in sorted(folder.glob(f"{split}*{ending}"))
            if (part := file.name.removesuffix(ending)) == split or part.startswith(f"{split}-")
        ]
        if found:
            return found
    return []


def read_rows(files: Sequence[Path]) -> Iterator[tuple[str, object]]:
    """Yield each row with its position (`test.jsonl, line 3`); an unreadable row becomes a BrokenRecord.

    Raises BadInput if a file is not Parquet or JSON Lines.
    """
    for file in files:
        rows = _read_parquet(file) if file.name.endswith(PARQUET) else read_records(file)
        for where, row in rows:
            yield f"{file.name}, {where}", row


def _read_parquet(path: Path) -> Iterator[tuple[str, object]]:
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", row
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        if not number:
            raise BadInput(path, f"is not a Parquet file: {say(error)}") from error
        yield f"row {number + 1}", BrokenRecord(say(error), ended=True)
