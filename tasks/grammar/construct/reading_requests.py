"""Have a model read a text a second time, from the text and the schema alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from tasks.artifacts.rows import Origin
from tasks.databases.columns import Column
from tasks.grammar.construct.back_check import parse_letter
from tasks.grammar.construct.reading_queries import ReadingQueries, ReadQuery
from tasks.grammar.construct.reading_slots import (
    Slots,
    number_placeholders,
    parse_reading,
    write_reading_grammar,
)
from tasks.grammar.construct.sql_reading import BrokenRule
from tasks.grammar.construct.text_templates import TextTemplate
from tasks.models.ask import Ask


@dataclass(frozen=True)
class TextReading:
    """What a text was read as. read: None if nothing came of it; then `problem` says why."""

    text: TextTemplate
    read: ReadQuery | None
    origin: tuple[Origin, ...]
    problem: str = ""


class ReadingRequests:
    """Asks the reader what a text asks, and which way its tables are joined, where there are several."""

    def __init__(self, schema: Sequence[Column], slots: Slots, queries: ReadingQueries, ask: Ask) -> None:
        self._slots, self._queries, self._ask = slots, queries, ask
        tables = sorted({column.table for column in schema})
        self._tables = [{"name": table, "columns": _list_names(table, schema)} for table in tables]
        self._keys = [f"{column.id} = {column.references}" for column in schema if column.references]

    async def read(self, text: TextTemplate) -> TextReading:
        """Have one text read."""
        shown, names = number_placeholders(text.text)
        answer = await self._ask(
            "second_reading",
            {"text": shown, "tables": self._tables, "keys": self._keys},
            role="reader",
            row=text.id,
            parse=lambda reply: parse_reading(reply, self._slots, len(names)),
            grammar=write_reading_grammar(self._slots, len(names)),
            max_tokens=256,
        )
        origin = (*list_rows(text), Origin("call", answer.call))
        if answer.value is None:
            return TextReading(text, None, origin, answer.text)
        try:
            found = self._queries.list_queries(answer.value, names)
        except BrokenRule as broken:
            return TextReading(text, None, origin, f"{answer.text} ({broken.reason}: {broken})")
        if len(found) == 1:
            return TextReading(text, found[0], origin)
        letters = ascii_uppercase[: len(found)]
        ways = [" and ".join(f"{a} = {b}" for a, b in read.query.joins) for read in found]
        chosen = await self._ask(
            "second_reading_way",
            {"text": shown, "ways": list(zip(letters, ways, strict=True))},
            role="reader",
            row=text.id,
            parse=lambda reply: parse_letter(reply, letters),
            grammar=f"root ::= [{letters}]",
            max_tokens=4,
        )
        origin = (*origin, Origin("call", chosen.call))
        if chosen.value is None:
            return TextReading(text, None, origin, f"{answer.text}, by which way: {chosen.text}")
        return TextReading(text, found[letters.index(chosen.value)], origin)


def list_rows(text: TextTemplate) -> tuple[Origin, ...]:
    """List the rows that a text which was read comes from."""
    return (Origin("row", f"back_check#{text.id}"),)


def _list_names(table: str, schema: Sequence[Column]) -> list[str]:
    """List a table's columns for a reader, with what people call them."""
    own = [column for column in schema if column.table == table]
    return [f"{column.name} = {column.words}" if column.words else column.name for column in own]
