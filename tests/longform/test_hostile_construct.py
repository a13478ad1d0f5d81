"""Tests of hostile replies to the stage construct: each is retried, dropped with a reason, and harmless."""

import asyncio
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tasks.databases.scratch.scratch import ScratchLimits
from tasks.longform.build.confirm import ConfirmedQuestion
from tasks.longform.build.conjecture import Conjecture, conjecture
from tasks.longform.build.construct import Construct, construct
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.designs import TYPICAL
from tasks.longform.entries import SourceDatabase
from tests.hostile.corpus import Hostile, draw_inputs, read_inputs
from tests.hostile.runner import LONGEST_LINE, wait_for_processes
from tests.hostile.statements import write_statement
from tests.longform.scripted_judges import Asked, ScriptedJudges
from tests.longform.sources import GUESSED, SET, reply, write_questions, write_sources

KINDS = ("scratch_replies", "statements_sqlite", "statements_postgresql", "statements_mariadb")
"""Kinds of hostile inputs that a model could return when asked for rows."""
SOURCE = """
CREATE TABLE authors (author_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, born INTEGER);
CREATE TABLE books (
    book_id INTEGER PRIMARY KEY, title TEXT NOT NULL, price REAL,
    editor INTEGER REFERENCES authors (author_id)
);
INSERT INTO authors VALUES (1, 'Alder', 1901), (2, 'Birk', 1902), (3, 'Cedar', 1903), (4, 'Dorn', 1904);
"""
ENTRY = {
    "groups": {"books.full of the editor": "edited by {}"},
    "measures": {"books.price": {"name": "price", "more": "cost more"}},
}
ROUNDS = 2
PARAMS = Construct(rounds=ROUNDS, limits=ScratchLimits(timeout_s=1.5, memory_mb=128))
GIGABYTE = [hostile for hostile in read_inputs("scratch_replies") if hostile.name.startswith("gigabyte by ")]
HONEST = "honest question"
SENT_BACK = re.compile(r"Your last statements were refused: (.+)")
LATE = "did not finish within"
"""Reasons that may differ between two rounds with the same statements on a busy machine."""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The artifacts of a library, whose tables the hostile replies name."""
    file = tmp_path / "library.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(SOURCE)
        books = [(n, f"Book {n}", 5 + n * 37 % 50 / 2, 1 + n % 4) for n in range(1, 121)]
        connection.executemany("INSERT INTO books VALUES (?, ?, ?, ?)", books)
        connection.commit()
    entry = {"file": file, "questions": file.with_name("asked.json"), **ENTRY}
    return write_sources(SourceDatabase.model_validate(entry), tmp_path / "sources")


def find_question(sources: Path) -> tuple[ControlledQuestion, Conjecture]:
    ask = ScriptedJudges(reply)
    questions = write_questions(sources, ask, 60, database="library")
    question = next(question for question in questions if question.design == TYPICAL)
    confirmed = [ConfirmedQuestion(question.id, question.text, "model", ())]
    (guess,) = asyncio.run(conjecture(confirmed, [question], sources, SET, GUESSED, ask)).rows
    return question, guess


def send(sources: Path, folder: Path, inputs: Iterable[Hostile]) -> list[str]:
    """Run the stage with one database per hostile reply; return the violations."""
    question, guess = find_question(sources)
    thrown = {f"{place}: {hostile.name}": hostile for place, hostile in enumerate(inputs)}
    texts = {
        name: write_statement(statement.input).replace("{folder}", str(folder))
        for name, statement in thrown.items()
    }

    def answer(asked: Asked) -> str:
        return texts[asked.row] if asked.row in texts else reply(asked)

    names = [*thrown, HONEST]
    ask = ScriptedJudges(answer)
    made = asyncio.run(
        construct(
            [ConfirmedQuestion(name, question.text, "model", ()) for name in names],
            [replace(question, id=name) for name in names],
            [replace(guess, id=name) for name in names],
            sources,
            PARAMS,
            ask,
        )
    )
    assert [row.id for row in made.rows] == [HONEST], "nothing hostile is a database; the honest one is"
    dropped = {row.id: row for row in made.dropped}
    prompts: dict[str, list[str]] = {name: [] for name in names}
    for asked in ask.asked:
        prompts[asked.row].append(asked.text)
    faults = []
    for name, hostile in thrown.items():
        found = dropped[name]
        # Rows that violate a key or type there may be valid here, where columns have another order.
        harmless = {"answered", "failed"} & {*hostile.may}
        if found.reason not in ("refused", *(["nothing_to_compare"] if harmless else [])):
            faults.append(f"{name}: {found.reason}: {found.detail}")
        line = found.detail
        if not line.strip() or not line.isprintable() or len(line) > LONGEST_LINE:
            faults.append(f"{name}: no plain line: {line[:200]!r}")
        sent = SENT_BACK.search(prompts[name][-1])
        same = sent is not None and (sent[1] == line or LATE in sent[1] + line)
        if len(prompts[name]) != ROUNDS or not same:
            faults.append(f"{name}: was not sent back with its reason: {line[:200]!r}")
    return faults


def watch(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: Iterable[Hostile]
) -> list[str]:
    """Call `send`, and also check for changed files and remaining processes."""
    here, open_folder = tmp_path / "here", tmp_path / "open"
    for folder in (here, open_folder):
        folder.mkdir()
    monkeypatch.chdir(here)
    ours = {process.pid for process in psutil.Process().children(recursive=True)}
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    faults = send(sources, open_folder, inputs)
    after = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    faults += [f"{path} has changed" for path in {*before, *after} if before.get(path) != after.get(path)]
    return faults + [f"process {name} is left" for name in wait_for_processes(ours)]


def test_replies_that_would_grow_to_a_gigabyte_go_back(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(GIGABYTE) == 9
    assert watch(sources, tmp_path, monkeypatch, GIGABYTE) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_what_is_hostile_goes_back(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    assert watch(sources, tmp_path, monkeypatch, draw_inputs(kind, 10, seed=14)) == []


@pytest.mark.drill
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_hostile_goes_back(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    assert watch(sources, tmp_path, monkeypatch, read_inputs(kind)) == []
