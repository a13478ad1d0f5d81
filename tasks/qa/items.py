"""Stage: read a user's table of questions, one item per row; unusable rows are dropped and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.qa.accepted_answers import AcceptedAnswer, read_accepted, read_list
from tasks.qa.columns import ChosenColumns, QaColumns, choose_columns
from tasks.qa.entries import QaSet
from tasks.qa.tables import open_table
from tasks.scoring.items import BadItem, Record
from tasks.systems.own_items import ItemReader, ItemSource, OwnItems, collect_items, has_columns, take_text

UNREADABLE = "unreadable"
MOST_TAGS, MOST_CONTEXTS = 50, 1000
"""Maximum number of tags and of contexts per item. A longer list most likely comes from the wrong column."""


@dataclass(frozen=True)
class QaItem:
    """Row of the stage `items`: a question and its accepted answers.

    contexts: texts that a system gets with the question. tags: names of the slices that the item belongs to.
    """

    id: str
    group: str
    """The group of the item. The bootstrap resamples whole groups."""
    question: str
    accepted: tuple[AcceptedAnswer, ...]
    contexts: tuple[str, ...]
    tags: tuple[str, ...]
    origin: tuple[Origin, ...]

    @property
    def reference(self) -> str:
        """The accepted answers on one line, for pages."""
        return " | ".join(answer.text for answer in self.accepted)


class OwnTable(NamedTuple):
    """The items of a table. notes: a line of text per guessed column whose name differs from its field."""

    found: OwnItems[QaItem]
    notes: Sequence[str]


def items(entry: QaSet) -> Drafts[QaItem]:
    """Read the items of a question set; drop unusable rows. Raises BadInput as `read_table` does."""
    table = read_table(entry.file, entry.columns)
    return Drafts(
        table.found.items,
        [Dropped(make_id(problem), UNREADABLE, problem) for problem in table.found.problems],
    )


def read_table(path: Path, columns: QaColumns) -> OwnTable:
    """Read a table's items. Raises BadInput if a required column is missing, or if no row is usable."""
    table = open_table(path)
    page = "docs/qa.md"
    if has_columns(QaItem, list(table.columns)):
        whole = ItemReader[QaItem](
            lambda record, source: make_item(record, source, {}), row=QaItem, page=page
        )
        return OwnTable(collect_items(table.records, table.file, table.word, whole), ())
    chosen = choose_columns(path, table.columns, columns) if table.columns else ChosenColumns({}, ())
    reader = ItemReader[QaItem](partial(make_item, names=chosen.names), page=page)
    return OwnTable(collect_items(table.records, table.file, table.word, reader), chosen.list_notes())


def make_item(record: Record, source: ItemSource, names: Mapping[str, str]) -> QaItem:
    """Make an item from a row. names: field of an item -> its column. Raises BadItem for an unusable row."""
    found = {part: record.get(column) for part, column in names.items()}
    question = take_text(found, "question")
    accepted = read_accepted(found.get("answer"))
    contexts = read_texts(found, "contexts", MOST_CONTEXTS)
    tags = read_texts(found, "tags", MOST_TAGS)
    group = take_text(found, "group", default="")
    asked = [question, [answer.text for answer in accepted], contexts, tags, group]
    item = take_text(found, "id", default="") or make_id("qa item", *asked)
    return QaItem(
        item, group or item, question, accepted, contexts, tags, (Origin("file", source.reference),)
    )


def read_texts(found: Record, part: str, most: int) -> tuple[str, ...]:
    """Read the distinct texts of a cell; an empty cell has none. Raises BadItem for an invalid cell.

    The cell contains a list, a list as JSON text, or a single text. A single text of the field `tags` is
    split at commas and semicolons. part: the field. most: the maximum number of texts.
    """
    value = found.get(part)
    if value is None or value == "":
        return ()
    value = read_list(value)
    if isinstance(value, str) and part == "tags":
        value = [text for text in value.replace(";", ",").split(",") if text.strip()]
    members = value if isinstance(value, list) else [value]
    if len(members) > most:
        raise BadItem(f"{part} has {len(members)} elements; at most {most} are allowed")
    return tuple(dict.fromkeys(take_text({part: member}, part) for member in members))
