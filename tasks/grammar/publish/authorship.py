"""The texts on the card and the page that state who wrote the templates and who did the second reading."""

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
    """The texts on the card and the page that depend on who wrote the templates.

    `made` lists the steps that made the dataset, and `limits` the known limitations. `sets` contains a
    description of each set, and `explanations` an explanation of each artifact. `confirmed` states how the
    texts were confirmed.
    """

    made: tuple[str, ...]
    limits: tuple[str, ...]
    sets: Mapping[str, str]
    explanations: Mapping[str, str]
    confirmed: str


REFLECTED = (
    "Reflection reads the database's schema: tables, columns and keys. Queries on the database find the "
    "kind of values in each column. No prompt of these steps contains a cell value."
)
WRITTEN = (
    "A model writes SQL templates or picks them from a list. The templates join tables by foreign keys. A "
    "parser drops templates that break a rule.",
    "For every SQL template and linguistic criterion, a model writes question texts with placeholders.",
    "Back-check: a model sees a text and several SQL templates and must pick the correct template. The "
    "stage drops a text if the model picks a different template.",
)
FILLED = (
    "The database fills the placeholders: one query per template returns every combination of values with "
    "its answer.",
    "Code pairs texts with filled queries. Then it selects the same number of questions for each semantic "
    "group and criterion.",
)
LEFT_OUT = "Queries that fail or have no answer are dropped."
BROUGHT = f"A person wrote SQL templates and texts for them. {LEFT_OUT}"
OF_THE_DATABASE = "Answers are correct for this version of the database, not necessarily for the real world."
AMBIGUOUS = "A question with a single answer in this database may have several answers in the real world."
TRUE_OF = (
    OF_THE_DATABASE,
    "As in the paper, templates use selection, projection and joins. In addition, they use counts, means, "
    "extremes, lists and bounds. Templates contain no sums, negations or nested queries.",
    AMBIGUOUS,
)
TRUE_OF_ANY = (
    OF_THE_DATABASE,
    "SQL that a person wrote may be any SELECT, and an answer may have any number of rows. If no single "
    "query returns all answers of a template, the stage tries combinations of values, up to "
    "`grammar.fill_in.tries`.",
    AMBIGUOUS,
)
SETS = {
    "balanced": "questions; every semantic group has the same number of questions per criterion",
    "unbalanced": "questions; the number per semantic group depends on the criterion",
    "groups": "semantic groups, each with a query whose placeholders are filled in, and the query's answer",
    "text_templates": "the texts with placeholders that passed the back-check",
    "sql_templates": "the SQL templates: queries with placeholders",
}
EXPLANATIONS = {
    "glossary": "Plain words for tables and columns whose names are unclear.",
    "columns": "The kind of values in each column, determined from its cells.",
    "schema": "The columns of the database, with keys from the database's schema and types determined "
    "from the cells. This artifact contains no cell values.",
    "sql_templates": "Queries that a model wrote over joined tables, with placeholders such as "
    "[table.column] in place of values.",
    "text_templates": "Texts that a model wrote for each query: one or more samples per linguistic "
    "criterion. Texts that break a rule are dropped.",
    "back_check": "Texts for which a model picked the correct query from several queries.",
    "fill_in": "Semantic groups: each group consists of a query with filled-in placeholders and the answer "
    "to the query. One query per template finds all combinations of values for the placeholders.",
    "unbalanced": "Questions: texts whose placeholders are filled with the values of a semantic group. The "
    "criterion of a text determines how many groups the text is paired with.",
    "balanced": "Questions: every semantic group has the same number of questions per criterion.",
}
OWN_SETS = {
    **SETS,
    "own_templates": "SQL templates that a person wrote, with their texts and tags; the id is that of the "
    "SQL template",
}
OWN_EXPLANATIONS = {
    **EXPLANATIONS,
    "own_templates": "Queries that a person wrote, with [table.column] in place of values, and the texts "
    "for each query.",
}

BY_MODEL = Authorship(
    made=(REFLECTED, *WRITTEN, *FILLED),
    limits=(
        "A model wrote the texts. The back-check finds texts that do not match their query, but not every "
        "clumsy or incomplete text.",
        *TRUE_OF,
    ),
    sets=SETS,
    explanations=EXPLANATIONS,
    confirmed="confirmed by the back-check",
)
BY_BOTH = Authorship(
    made=(REFLECTED, BROUGHT, *WRITTEN, *FILLED),
    limits=(
        "A person and a model wrote the texts. The back-check finds texts that do not match their query, but "
        "not every clumsy or incomplete text.",
        *TRUE_OF_ANY,
    ),
    sets=OWN_SETS,
    explanations={
        **OWN_EXPLANATIONS,
        "sql_templates": "Queries that a person or a model wrote, with [table.column] in place of values.",
        "text_templates": "Texts that a person or a model wrote for each query, grouped by linguistic "
        "criterion.",
    },
    confirmed="confirmed by the back-check",
)
BY_PERSON = Authorship(
    made=(REFLECTED, BROUGHT, *FILLED),
    limits=("A person wrote the texts. No model has checked the texts.", *TRUE_OF_ANY),
    sets={**OWN_SETS, "text_templates": "the texts with placeholders"},
    explanations={
        **OWN_EXPLANATIONS,
        "sql_templates": "Queries that a person wrote, with [table.column] in place of values.",
        "text_templates": "Texts that a person wrote for each query, grouped by linguistic criterion.",
        "back_check": "The same texts as in text_templates: no model checks texts that a person wrote.",
    },
    confirmed="written by a person and not checked by a model",
)
AUTHORSHIP: Mapping[str | None, Authorship] = {None: BY_MODEL, "beside": BY_BOTH, "instead": BY_PERSON}
"""The texts for each value of `databases.<name>.templates`; None means a database without the setting."""


def describe_authorship(database: DatabaseEntry) -> Authorship:
    """Return the texts about who wrote a database's templates, with the author if `templates_by` is set."""
    found = AUTHORSHIP[database.templates]
    if database.templates is None or not database.templates_by:
        return found
    brought = f"The SQL templates and their texts were written by {database.templates_by}. {LEFT_OUT}"
    return replace(found, made=tuple(brought if step == BROUGHT else step for step in found.made))


def list_own(artifact: Path) -> list[Path]:
    """Return a list that contains the artifact if it has rows or dropped rows, otherwise an empty list.

    For most databases, the artifact has no rows.
    """
    beside = name_beside(artifact, "dropped")
    return [artifact] if count_rows(artifact) or (beside.is_file() and count_rows(beside)) else []


@dataclass(frozen=True)
class ReadingWords:
    """The texts on the card and the page that depend on the second reading.

    `done` states whether there was a second reading. `made` lists the steps of the second reading, `limits`
    its limitations, and `explanation` explains the artifact second_reading.
    """

    done: bool
    made: tuple[str, ...]
    limits: tuple[str, ...]
    explanation: str


READERS = {"model": "a model", "file": "a person"}
UNREAD = ReadingWords(
    done=False,
    made=(),
    limits=("No person or model read the texts a second time.",),
    explanation="The same texts as in back_check: the second reading is turned off.",
)


def describe_reading(settings: Mapping[str, object]) -> ReadingWords:
    """Return the texts about the second reading. `settings` contains settings by dotted name."""
    reader = READERS.get(str(settings.get(BY, "none")))
    if reader is None:
        return UNREAD
    groups = settings.get(GROUPS, 3)
    return ReadingWords(
        done=True,
        made=(
            f"Second reading: {reader} sees only a text and the schema, and states what the text asks for. "
            "Code writes SQL for this "
            "reading. The stage drops a text if this SQL gives a different answer in any of "
            f"{groups} groups.",
        ),
        limits=(
            "The second reading compares answers. A text with a different meaning can have the same answers "
            "by chance.",
        ),
        explanation=f"Texts that {reader} interpreted without seeing the query, and whose interpretation "
        "has the same answers as the query.",
    )
