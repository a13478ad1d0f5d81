"""Stage: profile the columns of a source, to determine the kind of each column from its cells."""

from __future__ import annotations

from tasks.artifacts.rows import Drafts
from tasks.databases.entry import DatabaseEntry
from tasks.databases.profile.kinds import ColumnProfile, ColumnRules
from tasks.databases.profile.profiling import list_losses, name_unread, profile_columns
from tasks.longform.entries import SourceDatabase


def columns(entry: SourceDatabase, key: str, params: ColumnRules) -> Drafts[ColumnProfile]:
    """Profile every column of a source, as the stage `grammar.columns` does for `databases`.

    key: the source's name in `longform.databases`. Drop reasons: `no_value`, `unfit_cells`, `unreadable`,
    `undecodable`, `internal_table`, `view`, `unreadable_table`, `foreign_key`. Raises BadInput if the file is
    not a database, or if an override is not valid.
    """
    source = DatabaseEntry(name=key, file=entry.file, columns=entry.columns)
    profiles = profile_columns(source, params, f"params.yaml: longform.databases.{key}.columns")
    return Drafts(profiles, [*list_losses(profiles), *name_unread(source)])
