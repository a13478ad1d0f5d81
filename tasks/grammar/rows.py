"""The rows that GRAMMAR's stages pass on, from schema to question."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Term:
    """What people call a column or one row of a table. Its id is the column's, or the table's."""

    id: str
    table: str
    column: str
    """Empty for a table."""
    words: str
    source: str
    """`params`, `comment` or `proposed`."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class SqlTemplate:
    """A query with `'[table.column]'` where values go, in canonical SQL (section 4.1)."""

    id: str
    """Hash of the canonical AST: the same question in other clothes has the same id."""
    sql: str
    tables: tuple[str, ...]
    projection: tuple[str, ...]
    placeholders: tuple[str, ...]
    """Names of the values left open: the column, and a suffix where it is compared otherwise than by `=`."""
    choices: int
    """Number of queries that the model could choose from; 0 if it, or a person, wrote the query freely."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class OwnText:
    """A text that a person wrote for a SQL template, under a linguistic criterion."""

    criterion: str
    text: str


@dataclass(frozen=True)
class OwnTemplate:
    """A SQL template that a person brought, with its texts. Its id is that of the SQL template."""

    id: str
    sql: str
    """Canonical SQL, as in `SqlTemplate`."""
    tables: tuple[str, ...]
    projection: tuple[str, ...]
    placeholders: tuple[str, ...]
    texts: tuple[OwnText, ...]
    tag: str
    """The person's own label for the groups of this template; empty if there is none."""
    instead: bool
    """Whether such templates stand instead of a model's: then no model is asked for any."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class TextTemplate:
    """One way to ask a SQL template's question, with the same placeholders."""

    id: str
    sql_template: str
    criterion: str
    text: str
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Filling:
    """What stands for one placeholder."""

    placeholder: str
    value: str


@dataclass(frozen=True)
class Group:
    """A semantic group: one filled SQL query and its answer. Its id is the hash of that query."""

    id: str
    sql_template: str
    sql: str
    fillings: tuple[Filling, ...]
    answer: str
    """The answer as people read it."""
    answer_rows: str
    """The distinct result rows, as a JSON list of lists."""
    origin: tuple[Origin, ...]


@dataclass(frozen=True)
class Question:
    """A question/answer pair. All questions of a group have the same answer."""

    id: str
    group: str
    criterion: str
    question: str
    answer: str
    sql: str
    sql_template: str
    text_template: str
    answer_rows: str
    origin: tuple[Origin, ...]
