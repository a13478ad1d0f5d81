"""What is told about one thing of a database: its facts, and what stands for it in a corpus."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin


@dataclass(frozen=True)
class Fact:
    """One thing that is so: the `attribute` of the `subject` is `values`."""

    id: str
    subject: str
    """The thing's name, as a document's reader knows it."""
    attribute: str
    """In plain words: runtime in minutes, director."""
    values: tuple[str, ...]
    """One or several, sorted; all of them belong to the fact."""


@dataclass(frozen=True)
class Profile:
    """A row of an entity's table with all that is told about it. Its id is its document's."""

    id: str
    table: str
    key: tuple[str, ...]
    """Its primary key's values, in the columns' order."""
    kind: str
    """What one row of the table is, in words: film."""
    name: str
    facts: tuple[Fact, ...]
    origin: tuple[Origin, ...]
