"""Entities of a database: their facts, and the profiles that documents are written from."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

COLLECTION = "the database"
"""The subject of facts about all entities of a table together."""


@dataclass(frozen=True)
class ProfileFact:
    """A fact: the `attribute` of the `subject` is `values`."""

    id: str
    subject: str
    """The entity's name."""
    attribute: str
    """In words: runtime in minutes, director."""
    values: tuple[str, ...]
    """One or several values, sorted; the fact holds for all of them together."""
    sql: str = ""
    """The query whose result the values are, in canonical SQL; empty of a fact that comes from rows."""
    kind: str = ""
    """How its values are written (tasks/databases/rendering.py): digits of a text column stay as they are."""


@dataclass(frozen=True)
class EntityProfile:
    """An entity (a row of an entity table) with its facts. Its document has the same id."""

    id: str
    table: str
    key: tuple[str, ...]
    """The primary key's values, in the columns' order."""
    kind: str
    """What a row of the table is, in words: film."""
    name: str
    facts: tuple[ProfileFact, ...]
    origin: tuple[Origin, ...]
