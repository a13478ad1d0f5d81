"""An `ask` that answers from a script, and a small test database."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tasks.grammar
from tasks.artifacts.rows import make_id
from tasks.databases.columns import Column
from tasks.databases.entry import DatabaseEntry
from tasks.models.ask import Answer, Prompt, Unparsed, render_prompt

PROMPTS = Path(tasks.grammar.__file__).parent / "prompts"


@dataclass
class ScriptedAsk:
    """Answers by a function of the request; stores every request with its rendered messages."""

    reply: Callable[["Asked"], str]
    attempts: int = 1
    asked: list["Asked"] = field(default_factory=list)

    async def __call__(
        self,
        prompt: str,
        fields: Mapping[str, object],
        *,
        role: str,
        row: str,
        parse: Callable[[str], Any],
        grammar: str | None = None,
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
        max_tokens: int | None = None,
        top_logprobs: int = 0,
    ) -> Answer[Any]:
        rendered = render_prompt(PROMPTS / f"{prompt}.md", fields)
        problem, text, call = "", "", ""
        for attempt in range(self.attempts):
            asked = Asked(rendered, dict(fields), role, row, grammar or "", sample, attempt)
            self.asked.append(asked)
            text, call = self.reply(asked), make_id(row, attempt)
            try:
                return Answer(parse(text), text, call, attempt + 1)
            except Unparsed as error:
                problem = str(error)
        return Answer(None, text, call, self.attempts, problem)


@dataclass(frozen=True)
class Asked:
    prompt: Prompt
    fields: Mapping[str, Any]
    role: str
    row: str
    grammar: str
    sample: int
    attempt: int

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.prompt.messages)


def reply_in_turn(replies: Iterable[str]) -> Callable[[Asked], str]:
    waiting = iter(replies)
    return lambda _: next(waiting)


def column(
    name: str, kind: str = "text", *, key: bool = False, references: str | None = None, ask: bool = True
) -> Column:
    table, _, bare = name.rpartition(".")
    return Column(name, table, bare, kind, False, key, references, ask and references is None)


ENTRY = DatabaseEntry(name="clinics", file="clinics.sqlite")
"""Path of a file that no test opens."""
SCHEMA = [
    column("clinics.clinic_id", "integer", key=True, ask=False),
    column("clinics.name"),
    column("clinics.town"),
    column("doctors.doctor_id", "integer", key=True, ask=False),
    column("doctors.clinic_id", "integer", references="clinics.clinic_id"),
    column("doctors.name"),
    column("doctors.specialty"),
    column("doctors.hourly_rate", "real"),
    column("visits.visit_id", "integer", key=True, ask=False),
    column("visits.assisting_doctor", "integer", references="doctors.doctor_id"),
    column("visits.leading_doctor", "integer", references="doctors.doctor_id"),
    column("visits.day", "date"),
    column("visits.order", "integer"),
    column("visits.reason"),
]

ROWS = """
CREATE TABLE clinics (clinic_id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE doctors (doctor_id INTEGER PRIMARY KEY, clinic_id INTEGER REFERENCES clinics (clinic_id),
    name TEXT, specialty TEXT, hourly_rate REAL);
CREATE TABLE visits (visit_id INTEGER PRIMARY KEY, assisting_doctor INTEGER REFERENCES doctors (doctor_id),
    leading_doctor INTEGER REFERENCES doctors (doctor_id), day DATE, "order" INTEGER, reason TEXT);
INSERT INTO clinics VALUES (1, 'Xanadu House', 'Quillport'),
    (2, 'O''Brien Hall', 'Quillport'), (3, NULL, 'Vex');
INSERT INTO doctors VALUES (1, 1, 'Ada Zwick', 'ozonotomy', 81.5), (2, 1, 'Bo Ypsilon', 'kvetchology', 90.0),
    (3, 2, 'Cy [Wu]', 'kvetchology', NULL), (4, 2, 'Di Ulm', NULL, 75.25), (5, 3, '', 'ozonotomy', 12.0);
INSERT INTO visits VALUES (1, 2, 1, '2031-07-09', 7341, 'hiccupitis'),
    (2, 1, 2, '2031-07-09', 7342, 'yawning'),
    (3, 4, 1, '2031-08-10', 7343, 'hiccupitis'), (4, 1, 4, '2031-08-11', 7341, 'snorex');
"""


def make_database(path: Path, script: str = ROWS) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()
    return path
