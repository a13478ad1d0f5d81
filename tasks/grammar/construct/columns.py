"""Stage: profile the cells of every column to determine the column's kind. No prompt contains a cell."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile, ColumnRules
from tasks.databases.profile.profiling import list_losses, name_unread, profile_columns


def columns(database: DatabaseEntry, params: ColumnRules) -> Drafts[ColumnProfile]:
    """Return a profile of every column: the kind that its cells imply, and how queries read the cells.

    Drop reasons for cells and columns:

    - `no_value`: cells that do not fit their column's kind count as missing;
    - `unfit_cells`: too many cells do not fit, so no query ranks, bounds or averages the column;
    - `undecodable`: some texts are not valid UTF-8;
    - `unreadable`: the column's cells cannot be read.

    Drop reasons for parts of the database are `other_schema`, `partition`, `internal_table`, `view`,
    `foreign_table`, `unreadable_table`, and `foreign_key` (the key's table is not read). Raises BadInput if
    the database cannot be opened, or an override is not valid.
    """
    profiles = profile_columns(database, params)
    return Drafts(profiles, [*list_losses(profiles), *name_unread(database)])
