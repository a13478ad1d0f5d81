"""HotpotQA's distractor setting (Yang et al., 2018; CC BY-SA 4.0): questions with ten paragraphs each.

Two layouts are read: the project's own file, whose `context` is a list of [title, sentences], and the one of
dataset hubs, whose `context` has `title` and `sentences`, lists of the same length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.stream_dataset import DatasetItem, LeftOutRecord, tidy_line

TITLE, LICENCE, SOURCE = "HotpotQA (distractor)", "CC BY-SA 4.0", "https://hotpotqa.github.io"


def read_hotpotqa(path: Path) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
    """Read the questions of a file; a question without an own id has file and number, from 0 on."""
    for count, (where, record) in enumerate(read_records(path)):
        if isinstance(record, BrokenRecord):
            yield where, LeftOutRecord("broken", record.why)
            continue
        yield where, _make_item(record, f"{path.name.partition('.')[0]}-{count}")


def _make_item(record: object, place: str) -> DatasetItem | LeftOutRecord:
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
    """Yield each paragraph under its title."""
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
