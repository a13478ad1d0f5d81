"""Stage: a user's table of questions, an item a row; a row that cannot be asked is dropped by its place."""

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
"""Of one item; more of them are most likely another column's."""


@dataclass(frozen=True)
class QaItem:
    """A question and its accepted answers.

    contexts: texts that a system is given with the question. tags: names of the slices that it belongs to.
    """

    id: str
    group: str
    """Items of one group are resampled together."""
    question: str
    accepted: tuple[AcceptedAnswer, ...]
    contexts: tuple[str, ...]
    tags: tuple[str, ...]
    origin: tuple[Origin, ...]

    @property
    def reference(self) -> str:
        """The accepted answers in one line, as pages show them."""
        return " | ".join(answer.text for answer in self.accepted)


class OwnTable(NamedTuple):
    """A table that was read. notes: which columns were guessed."""

    found: OwnItems[QaItem]
    notes: Sequence[str]


def items(entry: QaSet) -> Drafts[QaItem]:
    """Read the table of a set. Raises BadInput if no row of it can be asked."""
    table = read_table(entry.file, entry.columns)
    return Drafts(
        table.found.items,
        [Dropped(make_id(problem), UNREADABLE, problem) for problem in table.found.problems],
    )


def read_table(path: Path, columns: QaColumns) -> OwnTable:
    """Read a table's items. Raises BadInput if it lacks a column, or no row of it can be asked."""
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
    """Make an item of a row. names: part of an item -> column. Raises BadItem, one clause."""
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
    """Read a list of texts, each once: a list, one as JSON, or a text; tags as a text are split at commas.

    Raises BadItem.
    """
    value = found.get(part)
    if value is None or value == "":
        return ()
    value = read_list(value)
    if isinstance(value, str) and part == "tags":
        value = [text for text in value.replace(";", ",").split(",") if text.strip()]
    members = value if isinstance(value, list) else [value]
    if len(members) > most:
        raise BadItem(f"{part} has {len(members)} members; at most {most} are read")
    return tuple(dict.fromkeys(take_text({part: member}, part) for member in members))
