"""Types for the facts about a database's entities, and for the profiles that documents are written from."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

COLLECTION = "the database"
"""The `subject` of facts about all entities of a table, such as counts."""


@dataclass(frozen=True)
class ProfileFact:
    """A fact: the `attribute` of the `subject` is `values`."""

    id: str
    subject: str
    """The entity's name, or `COLLECTION`."""
    attribute: str
    """The displayed name of the attribute, such as runtime in minutes or director."""
    values: tuple[str, ...]
    """All values of the attribute, at least one, sorted."""
    sql: str = ""
    """The query that returns `values`, in canonical SQL; empty if the fact is not from a query."""
    kind: str = ""
    """The kind of the column, such as date, which determines how sentences format the values.

    Values of text columns are not reformatted. If `kind` is empty, the format depends only on the value.
    """


@dataclass(frozen=True)
class EntityProfile:
    """An entity (a row of an entity table) with its facts. The entity's document has the same id."""

    id: str
    table: str
    key: tuple[str, ...]
    """The primary key's values, in the order of the key's columns."""
    kind: str
    """The noun for a row of the table, such as film."""
    name: str
    facts: tuple[ProfileFact, ...]
    origin: tuple[Origin, ...]
    named: tuple[str, ...] = ()
    """The ids of facts that are part of the name, such as the number and the date of a flight."""
