"""A scripted strong model with the OpenAI protocol: it writes and reads SQL of many shapes, and texts.

It supports tool calls and JSON schemas, but no grammars. It stores the SQL of its texts, so its readings are
correct.

    python -m tests.newcomer.strong_endpoint 8123
"""

import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from aiohttp import web

from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tests.flows.adding.scenes import Model
from tests.grammar.strong_model import write_good
from tests.newcomer.endpoint import ScriptedEndpoint

TABLE = re.compile(r"^(\w+)\((.*)\)$", re.MULTILINE)
COLUMN = re.compile(r"(\w+) (text|integer|real|date|boolean|other)( = [^,]*?)?( key)?( -> [\w.]+)?(?:, |$)")
MARK = re.compile(r"\[[^\]]*\]")
MEANING = re.compile(r"^[\w.]+: (.*)$", re.MULTILINE)
PADDING = ", as far as the records that we keep here can tell us anything about it at all"
"""Filler that brings a text with a circumstance to the minimum number of words."""
KINDS = {
    "looks something up": "lookup", "lists all": "list", "It counts": "count", "for each group": "group",
    "groups of which": "having", "another question": "nested", "two lists": "set_operation",
    "first few": "ranking", "It compares": "comparison", "a date or a year": "date",
}  # fmt: skip


class StrongEndpoint(ScriptedEndpoint):
    """Answers GRAMMAR's requests without mistakes, but in poor English."""

    def __init__(self) -> None:
        super().__init__()
        self.sql_of: dict[str, tuple[str, list[str]]] = {}
        """A text with empty brackets -> its SQL, and the placeholders in the order of the text."""
        self._trial = Model("json_schema", "tools")

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one request for a completion."""
        body = await request.json()
        if "tools" in body or "response_format" in body:
            return await self._trial.answer(request)
        return await super().answer(request)

    def _reply(self, body: dict[str, Any]) -> str:
        system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
        if system.startswith("You write SQL"):
            self.asked["sql"] += 1
            return write_good(read_request(user), make_id(user))
        if system.startswith("You put a SQL query into words"):
            self.asked["texts"] += 1
            return self._word(user, MARK.findall(user.partition("Placeholders: ")[2].partition("\n")[0]))
        if "and write the SQL that answers it" in system:
            self.asked["second_reading"] += 1
            return self._read(user.rpartition("Question: ")[2].strip())
        if system.startswith("You know SQL well"):
            self.asked["back_check"] += 1
            return self._choose(user)
        return super()._reply(body) if "strict grader" in system else "It is red."

    def _word(self, user: str, marks: list[str]) -> str:
        """Return a text for SQL from its columns' names; texts differ by order and a number."""
        sql = user.partition("SQL: ")[2].partition("\n")[0]
        lead = user.partition("Begin with: ")[2].partition("\n")[0]
        words = " and ".join(MEANING.findall(user.partition("Placeholders: ")[2]))
        text = f"The {words}, given {' and '.join(marks)}"
        text = f"{lead}. {text}{PADDING}?" if lead else text
        self.sql_of[MARK.sub("[]", text)] = (sql, marks)
        return text

    def _read(self, question: str) -> str:
        sql, marks = self.sql_of[MARK.sub("[]", question)]
        return MARK.sub(lambda mark: f"[{marks.index(mark[0]) + 1}]", sql)

    def _choose(self, user: str) -> str:
        question = user.partition("Question: ")[2].partition("\n")[0].strip()
        sql, _ = self.sql_of[MARK.sub("[]", question)]
        letters = re.findall(r"^([A-Z]): (.*)$", user, re.MULTILINE)
        return next((letter for letter, choice in letters if choice == sql), letters[0][0])


def read_request(user: str) -> dict[str, Any]:
    """Parse the fields of a planned request from its prompt."""
    tables = [{"name": name, "columns": list(read_columns(name, body))} for name, body in TABLE.findall(user)]
    about = re.search(r"The question is about ([\w.]+\.\w+):", user)
    kind = next(kind for words, kind in KINDS.items() if words in user)
    return {"tables": tables, "subject": SimpleNamespace(column=about[1] if about else ""), "kind": kind}


def read_columns(table: str, body: str) -> Iterator[Column]:
    """Yield the columns of a table in a prompt."""
    for name, kind, _words, key, reference in COLUMN.findall(body):
        yield Column(
            id=f"{table}.{name}", table=table, name=name, type=kind, primary_key=bool(key),
            references=reference.removeprefix(" -> ") or None, descriptive=not key and not reference,
            nullable=True,
        )  # fmt: skip


if __name__ == "__main__":
    web.run_app(StrongEndpoint().make_app(), host="127.0.0.1", port=int(sys.argv[1]), print=None)
