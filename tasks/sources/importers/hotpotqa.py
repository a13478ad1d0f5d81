"""Import HotpotQA's distractor setting (Yang et al., 2018; CC BY-SA 4.0): questions with ten paragraphs each.

Two layouts are supported. In HotpotQA's original file, `context` is a list of [title, sentences]. In files
from dataset hubs, `context` has `title` and `sentences`, two lists of the same length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tasks.sources.importer import Importer
from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.stream_dataset import DatasetItem, DatasetShot, LeftOutRecord, tidy_line


class Hotpotqa(Importer):
    """Import HotpotQA's distractor questions with their paragraphs as a dataset for streambench.

    Example: benchloom import hotpotqa hotpot_dev_distractor_v1.json --take 1500
    """

    name = "hotpotqa"
    kind = "hotpotqa"
    title, licence, source = "HotpotQA (distractor)", "CC BY-SA 4.0", "https://hotpotqa.github.io"
    files = ("hotpot_dev_distractor_v1.json", "hotpot_dev_distractor_v1.json.gz")
    train = ("hotpot_train_v1.1.json",)

    def read_items(self) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
        """Yield the questions of the development split."""
        return read_hotpotqa(self.file)

    def read_shots(self) -> Iterator[tuple[str, DatasetShot | LeftOutRecord]]:
        """Yield the questions of the training split as few-shot examples, if its file exists."""
        for where, item in read_hotpotqa(self.split) if self.split else ():
            if isinstance(item, LeftOutRecord):
                yield where, item
            else:
                yield where, make_hotpotqa_shot(item)


def make_hotpotqa_shot(item: DatasetItem) -> DatasetShot:
    """Return a few-shot example: a question with its paragraphs, and the answer."""
    return DatasetShot(item.key, f"{item.context}\n\n{item.text}", item.memory_key, item.gold)


def read_hotpotqa(path: Path) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
    """Yield the questions of a file as items; the default key joins the file's name and the index."""
    for count, (where, record) in enumerate(read_records(path)):
        if isinstance(record, BrokenRecord):
            yield where, LeftOutRecord("broken", record.why)
            continue
        yield where, make_hotpotqa_item(record, f"{path.name.partition('.')[0]}-{count}")


def make_hotpotqa_item(record: object, place: str) -> DatasetItem | LeftOutRecord:
    """Convert a published question to an item. `place`: the key if the question has no id."""
    own = record if isinstance(record, Mapping) else {}
    key = tidy_line(own.get("_id") or own.get("id")) or place
    question, answer = tidy_line(own.get("question")), tidy_line(own.get("answer"))
    if not question or not answer:
        return LeftOutRecord("incomplete", f"{key}: no {'answer' if question else 'question'}")
    paragraphs = list(_read_paragraphs(own.get("context")))
    if not paragraphs:
        return LeftOutRecord("no_paragraphs", key)
    details = {"type": tidy_line(own.get("type")), "level": tidy_line(own.get("level"))}
    return DatasetItem(key, question, question, "\n\n".join(paragraphs), answer, details)


def _read_paragraphs(context: object) -> Iterator[str]:
    """Yield each paragraph, with its title on the first line."""
    pairs: list[object] = []
    if isinstance(context, list):
        pairs = context
    elif isinstance(context, Mapping):
        titles, sentences = context.get("title"), context.get("sentences")
        if isinstance(titles, list) and isinstance(sentences, list) and len(titles) == len(sentences):
            pairs = [list(pair) for pair in zip(titles, sentences, strict=True)]
    for pair in pairs:
        match pair:
            case [str(title), list(sentences)]:
                text = " ".join(filter(None, map(tidy_line, sentences)))
                if text:
                    yield f"{tidy_line(title)}\n{text}"
