"""Hostile replies instead of INSERT statements: other or hidden statements, broken keys, too much data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tasks.databases.scratch.scratch import ScratchLimits, build_scratch
from tasks.errors import SqlError, SqlFailed, SqlRefused
from tests.hostile.kinds.statements_sqlite import ATTACKS
from tests.hostile.statements import Statement, write_statement
from tests.hostile.subject import Kind, Outcome, Subject

CREATE = [
    "CREATE TABLE authors (author_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, born INTEGER) STRICT",
    "CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT NOT NULL, price REAL, "
    "editor INTEGER REFERENCES authors (author_id)) STRICT",
    'CREATE TABLE "order" (id INTEGER PRIMARY KEY, place INTEGER, kind TEXT, UNIQUE (place, kind)) STRICT',
    "CREATE TABLE reviews (place TEXT NOT NULL, kind TEXT, text TEXT, "
    'FOREIGN KEY (place, kind) REFERENCES "order" (place, kind)) STRICT',
]
TABLES = {
    "authors": ["author_id", "full_name", "born"],
    "books": ["book_id", "title", "price", "editor"],
    "order": ["id", "place", "kind"],
    "reviews": ["place", "kind", "text"],
}
LIMITS = ScratchLimits(timeout_s=1.5, memory_mb=128)
PATIENT = ScratchLimits(timeout_s=6, memory_mb=128)
HONEST = "INSERT INTO authors VALUES (1, 'Ann', 1900)"
PLACES = [
    "INSERT INTO authors VALUES (2, {}, 1)", "INSERT INTO authors VALUES ({}, 'x', 1)",
    "INSERT INTO authors (author_id, full_name) VALUES (2, 'x'), (3, {})",
    "INSERT INTO authors SELECT 2, {}, 1",
    "INSERT INTO authors VALUES (2, 'x', 1) RETURNING {}", "INSERT INTO authors (full_name) VALUES (-{})",
    "INSERT INTO books VALUES (2, 'x' || {}, 1, NULL)", "INSERT INTO books (title) SELECT title FROM ({})",
    "INSERT INTO authors VALUES (2, 'x', 1) ON CONFLICT DO UPDATE SET full_name = {}", "SELECT {}",
    "WITH x AS (SELECT {} AS y) INSERT INTO authors SELECT 2, y, 1 FROM x", "INSERT INTO {} VALUES (1)",
    "INSERT INTO authors ({}) VALUES (1)", "UPDATE authors SET full_name = {}",
    "CREATE TRIGGER t AFTER INSERT ON authors BEGIN SELECT {}; END",
    "INSERT INTO authors VALUES (2, 'x', 1), {}",
]  # fmt: skip
BEFORE = [
    "", "", "", "```sql\n", "~~~\n", "/* x */ ", "-- x\n", "/* ' */", f"{HONEST};\n", f"{HONEST};;", "/**/",
    "```\n```\n```sqlite\n", "INSERT INTO authors VALUES (1, ''';', 1); ", "\t\n", "EXPLAIN ", "{# x #}",
]  # fmt: skip
AFTER = [
    "",
    "",
    "",
    ";",
    ";\n```",
    "\n~~~\n",
    "; --",
    " /*",
    f"; {HONEST}",
    "; DELETE FROM authors",
    "\x00",
    "'",
]


class Scratch:
    """Builds a database from each reply, followed by a database from a valid reply."""

    limit_s = LIMITS.timeout_s + PATIENT.timeout_s

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def throw(self, value: Statement) -> Outcome:
        text = write_statement(value).replace("{folder}", str(self.folder))
        outcome = build(text)
        if "did not finish within" in outcome.line:
            # A busy machine may exceed the time limit once, but not each time.
            outcome = build(text, PATIENT)
        assert build_scratch(CREATE, HONEST, LIMITS).rows["authors"] == 1
        return outcome

    def look(self) -> object:
        return sorted(path.name for path in self.folder.iterdir())


def build(text: str, limits: ScratchLimits = LIMITS) -> Outcome:
    """Build a database. Outcome `ended`: the process was stopped at its limit of time, size or memory."""
    try:
        return Outcome("answered", f"{sum(build_scratch(CREATE, text, limits).rows.values())} rows")
    except SqlRefused as error:
        return Outcome("refused", str(error))
    except SqlFailed as error:
        return Outcome("failed", str(error))
    except SqlError as error:
        return Outcome("ended", str(error))


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    yield Scratch(folder)


def make(random: Random) -> Statement:
    """Insert an attack at a random position of an INSERT, in one of several disguises."""
    attack = random.choice(ATTACKS)
    for _ in range(random.choice([0, 0, 1, 2])):
        attack = random.choice(["(SELECT {})", "(VALUES ({}))", "abs({})", "({})"]).format(attack)
    statement = random.choice(PLACES).replace("{}", attack)
    if random.random() < 0.2:
        statement = "".join(random.choice([letter.upper(), letter]) for letter in statement)
    return random.choice(BEFORE) + statement + random.choice(AFTER)


KIND = Kind(at_least=280, open=open_subject, make=make)
