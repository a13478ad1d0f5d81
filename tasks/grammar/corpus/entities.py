"""Define the entities of a database: their facts, and the profiles from which documents are written."""

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
    """The displayed name of the attribute, such as runtime in minutes or director."""
    values: tuple[str, ...]
    """One or several values, sorted. The fact states all of them together."""
    sql: str = ""
    """The query whose result is `values`, in canonical SQL; empty for a fact that is not from a query."""
    kind: str = ""
    """The format of the values (tasks/databases/rendering.py): digits of a text column stay unchanged."""


@dataclass(frozen=True)
class EntityProfile:
    """An entity (a row of an entity table) with its facts. Its document has the same id."""

    id: str
    table: str
    key: tuple[str, ...]
    """The primary key's values, in the order of the key's columns."""
    kind: str
    """The noun for the entity that a row of the table describes, such as film."""
    name: str
    facts: tuple[ProfileFact, ...]
    origin: tuple[Origin, ...]
    named: tuple[str, ...] = ()
    """The ids of facts that the name states, such as the number and the date of a flight."""
