"""A template that a person brought: SQL with texts."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin


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
