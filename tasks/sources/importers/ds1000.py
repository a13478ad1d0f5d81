"""Import DS-1000 (Lai et al., 2023; CC BY-SA 4.0): `ds1000.jsonl.gz`, with one problem per line.

A problem has `prompt`, `reference_code`, `code_context` (its test program) and `metadata`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tasks.sources.importer import Importer
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.stream_dataset import DatasetItem, LeftOutRecord, tidy, tidy_line


class Ds1000(Importer):
    """Import DS-1000's problems with their test programs as a dataset for streambench.

    DS-1000 has one split, so few-shot examples come from your own file (--shots).

    Example: benchloom import ds1000 ds1000.jsonl.gz --shots data/shots/ds1000.jsonl
    """

    name = "ds1000"
    kind = "ds1000"
    title, licence, source = "DS-1000", "CC BY-SA 4.0", "https://github.com/xlang-ai/DS-1000"
    files = ("ds1000.jsonl.gz", "ds1000.jsonl", "test.jsonl", "test.jsonl.gz")

    def read_items(self) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
        """Yield the problems; the key is the `problem_id` or, if it is missing, the problem's index."""
        for count, (where, record) in enumerate(read_records(self.file)):
            if isinstance(record, BrokenRecord):
                yield where, LeftOutRecord("broken", record.why)
                continue
            yield where, make_problem(record, count)


def make_problem(record: object, count: int) -> DatasetItem | LeftOutRecord:
    """Convert a published problem to an item. `count`: the key if there is no `problem_id`."""
    own = record if isinstance(record, Mapping) else {}
    meta = own.get("metadata") if isinstance(own.get("metadata"), Mapping) else {}
    number = meta.get("problem_id", count) if isinstance(meta, Mapping) else count
    key = str(number) if isinstance(number, int | str) else str(count)
    text, gold, test = tidy(own.get("prompt")), own.get("reference_code"), own.get("code_context")
    if not text or not isinstance(test, str) or not test.strip():
        return LeftOutRecord("incomplete", f"{key}: no {'code_context' if text else 'prompt'}")
    library = tidy_line(meta.get("library")) if isinstance(meta, Mapping) else ""
    # The reference solution may be inside a function, so its indentation must not be stripped.
    solution = gold.encode("utf-8", "replace").decode() if isinstance(gold, str) else ""
    details = {"library": library, "code_context": test.replace("\0", "")}
    return DatasetItem(key, text, text, "", solution, details)
