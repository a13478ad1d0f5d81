"""Describe, for card and page, who wrote the templates and who did the second reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tasks.artifacts.parquet import count_rows
from tasks.artifacts.statistics import name_beside
from tasks.databases.entry import DatabaseEntry

BY, GROUPS = "grammar.second_reading.by", "grammar.second_reading.groups"


@dataclass(frozen=True)
class Authorship:
    """The sentences that depend on it.

    made: steps. limits: known limitations. sets: set -> what it holds. explanations: artifact -> what it is.
    confirmed: what the texts that are used were confirmed by.
    """

    made: tuple[str, ...]
    limits: tuple[str, ...]
    sets: Mapping[str, str]
    explanations: Mapping[str, str]
    confirmed: str


REFLECTED = (
    "The database's schema is reflected: tables, columns and keys. The database counts what the cells of "
    "each column are; no cell stands in a prompt of these steps."
)
WRITTEN = (
    "A model writes or picks SQL templates over tables that foreign keys join; a parser drops what breaks a "
    "rule.",
    "A model words every SQL template as questions, under each linguistic criterion.",
    "Back-check: a model is shown a text and several SQL templates and must pick the right one; "
    "texts that it reads otherwise are dropped.",
)
FILLED = (
    "The database fills the placeholders: one query per template gives every combination with its answer.",
    "Texts and filled queries are paired, then balanced per semantic group and criterion.",
)
LEFT_OUT = "what cannot run, or has no answer, is dropped."
BROUGHT = f"A person brought SQL templates with texts; {LEFT_OUT}"
OF_THE_DATABASE = "Answers are true of the database as it was, not of the world."
AMBIGUOUS = "Where a query has a single answer in this database, the question may be ambiguous outside it."
TRUE_OF = (
    OF_THE_DATABASE,
    "Beyond selection, projection and join (the paper's), templates hold counts, means, extremes, lists and "
    "bounds; no sums, negations or nested queries.",
    AMBIGUOUS,
)
TRUE_OF_ANY = (
    OF_THE_DATABASE,
    "A person's SQL may be any SELECT, and an answer any number of rows. Where no single query gives all "
    "answers of a template, combinations of values are tried up to `grammar.fill_in.tries`.",
    AMBIGUOUS,
)
SETS = {
    "balanced": "questions, equally many per semantic group and criterion",
    "unbalanced": "questions by each criterion's own rule, not balanced",
    "groups": "semantic groups: a filled query and its answer",
    "text_templates": "the texts with placeholders that passed the back-check",
    "sql_templates": "the queries with placeholders",
}
EXPLANATIONS = {
    "glossary": "What people call tables and columns whose names do not say it.",
    "columns": "What the cells of each column are, measured in the database.",
    "schema": "The database's columns with keys, by reflection, and types, by their cells: it holds no cell.",
    "sql_templates": "Queries with [table.column] where values go, written by a model over joined tables.",
    "text_templates": "Every query put in words by a model, once per linguistic criterion and sample.",
    "back_check": "The texts that a model, shown several queries, matched to the right one.",
    "fill_in": "Semantic groups: a filled query and its answer, all combinations by one query per template.",
    "unbalanced": "Texts paired with the groups of their query, as each criterion's rule has it.",
    "balanced": "Equally many questions per semantic group and criterion.",
}
OWN_SETS = {**SETS, "own_templates": "a person's SQL templates with texts and tags, by the SQL template's id"}
OWN_EXPLANATIONS = {
    **EXPLANATIONS,
    "own_templates": "A person's queries with [table.column] where values go, and the texts for each.",
}

BY_MODEL = Authorship(
    made=(REFLECTED, *WRITTEN, *FILLED),
    limits=(
        "The texts are a model's. The back-check catches misreadings, not every clumsy or incomplete "
        "wording.",
        *TRUE_OF,
    ),
    sets=SETS,
    explanations=EXPLANATIONS,
    confirmed="confirmed by the back-check",
)
BY_BOTH = Authorship(
    made=(REFLECTED, BROUGHT, *WRITTEN, *FILLED),
    limits=(
        "The texts are a person's and a model's. The back-check catches misreadings, not every clumsy or "
        "incomplete wording.",
        *TRUE_OF_ANY,
    ),
    sets=OWN_SETS,
    explanations={
        **OWN_EXPLANATIONS,
        "sql_templates": "Queries with [table.column] where values go: a person's, and a model's.",
        "text_templates": "Every query in words, by a person or by a model, under linguistic criteria.",
    },
    confirmed="confirmed by the back-check",
)
BY_PERSON = Authorship(
    made=(REFLECTED, BROUGHT, *FILLED),
    limits=("The texts are a person's: no model wrote them, and none has read them back.", *TRUE_OF_ANY),
    sets={**OWN_SETS, "text_templates": "the texts with placeholders"},
    explanations={
        **OWN_EXPLANATIONS,
        "sql_templates": "A person's queries with [table.column] where values go.",
        "text_templates": "A person's texts for each query, under linguistic criteria.",
        "back_check": "The same texts: no model is asked for templates that a person brought instead.",
    },
    confirmed="a person's, not read back by a model",
)
AUTHORSHIP: Mapping[str | None, Authorship] = {None: BY_MODEL, "beside": BY_BOTH, "instead": BY_PERSON}
"""By `databases.<name>.templates`."""


def describe_authorship(database: DatabaseEntry) -> Authorship:
    """Describe who wrote a database's templates, naming their author where its entry does."""
    found = AUTHORSHIP[database.templates]
    if database.templates is None or not database.templates_by:
        return found
    brought = f"SQL templates with texts were written by {database.templates_by}; {LEFT_OUT}"
    return replace(found, made=tuple(brought if step == BROUGHT else step for step in found.made))


def list_own(artifact: Path) -> list[Path]:
    """List an artifact that most databases have no rows of, if it has some or dropped some."""
    beside = name_beside(artifact, "dropped")
    return [artifact] if count_rows(artifact) or (beside.is_file() and count_rows(beside)) else []


@dataclass(frozen=True)
class ReadingWords:
    """The words that depend on the second reading. made: steps. explanation: of the artifact."""

    done: bool
    made: tuple[str, ...]
    limits: tuple[str, ...]
    explanation: str


READERS = {"model": "a model", "file": "a person"}
UNREAD = ReadingWords(
    done=False,
    made=(),
    limits=("The texts were not read a second time.",),
    explanation="The same texts: they were not read a second time.",
)


def describe_reading(settings: Mapping[str, object]) -> ReadingWords:
    """Say how the texts were read a second time. settings: dotted name -> value."""
    reader = READERS.get(str(settings.get(BY, "none")))
    if reader is None:
        return UNREAD
    groups = settings.get(GROUPS, 3)
    return ReadingWords(
        done=True,
        made=(
            f"Second reading: {reader} says what each text asks, from the text and the schema alone, and "
            f"code writes the SQL that follows; a text of which it gives another answer, in one of {groups} "
            "groups, is dropped.",
        ),
        limits=(
            "The second reading compares answers: of a text that reads otherwise they may be the same by "
            "chance.",
        ),
        explanation=f"The texts that {reader} read to the same answer, not knowing their query.",
    )
