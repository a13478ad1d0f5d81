"""`benchloom import ddxplus`: patients of DDXPlus become a dataset of StreamBench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from flows.stream_import import ImportChoice, ImportedStream, StreamSource, check_stream_name, import_stream
from tasks.errors import BadInput
from tasks.sources.ddxplus import (
    CONDITIONS,
    EVIDENCES,
    LABELS,
    LICENCE,
    SOURCE,
    TITLE,
    Vocabulary,
    find_patients,
    read_patients,
    read_vocabulary,
)
from tasks.sources.releases import open_release
from tasks.sources.stream_dataset import DatasetHead, DatasetShot, LeftOutRecord

HEAD = DatasetHead("ddxplus", "ddxplus", TITLE, LICENCE, SOURCE, "pathology")
TAKEN = 36 * LABELS
"""T in the paper: 36 patients of each diagnosis (appendix F.2.6)."""


def import_ddxplus(root: Path, path: Path, choice: ImportChoice) -> ImportedStream:
    """Write patients of the test split, as many of each diagnosis; shots are of the validation split.

    choice.take None: 1,764, or all where there are no more; 0: all.
    """
    check_stream_name(choice.name)
    with open_release(path, CONDITIONS) as folder:
        words = read_vocabulary(folder)
        patients, others = find_patients(folder, "test"), find_patients(folder, "validate")
        if patients is None:
            raise BadInput(
                path, "holds no release_test_patients (.zip, .csv)", hint="the folder as published"
            )
        labels = json.dumps(list(words.conditions), ensure_ascii=False, indent=1) + "\n"
        source = StreamSource(
            HEAD,
            lambda: read_patients(patients, words),
            [folder / CONDITIONS, folder / EVIDENCES, patients, *([others] if others else [])],
            (lambda: _read_shots(others, words)) if others else None,
            lambda taken: {"diagnoses.json": labels.encode()},
        )
        if choice.take is None:
            count = sum(not isinstance(own, LeftOutRecord) for _, own in source.open_items())
            choice = replace(choice, take=min(TAKEN, count) or None)
        return import_stream(root, path, source, choice)


def _read_shots(path: Path, words: Vocabulary) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
    for where, item in read_patients(path, words):
        if isinstance(item, LeftOutRecord):
            yield where, item
        else:
            answer = f"{item.gold}. {words.conditions[int(item.gold)]}"
            yield where, DatasetShot(item.key, item.text, item.memory_key, answer)
