"""Stage: measure what the cells of every column are, from which its kind follows. No prompt holds a cell."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile, ColumnRules
from tasks.databases.profile.profiling import list_losses, name_unread, profile_columns


def columns(database: DatabaseEntry, params: ColumnRules) -> Drafts[ColumnProfile]:
    """Profile every column: its kind by its cells, and how queries read them.

    Drop reasons, of cells or columns: `no_value` (cells that do not fit their column's kind, and count as no
    value), `unfit_cells` (too many do not fit: the column is not ranked, bounded or averaged), `unreadable`,
    `undecodable` (texts that are not valid UTF-8).
    Of parts of the database: `other_schema`, `partition`, `internal_table`, `view`, `foreign_table`,
    `unreadable_table`, `foreign_key` (its table is not read).
    Raises BadInput if the database cannot be opened, or an override is not valid.
    """
    profiles = profile_columns(database, params)
    return Drafts(profiles, [*list_losses(profiles), *name_unread(database)])
