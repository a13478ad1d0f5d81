"""Implement `benchloom snapshot`: record the content of database servers in files that DVC hashes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flows.settings import find_project, get_section, load_params, parse_database
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput, DatabaseGone


def snapshot_command(names: Sequence[str]) -> int:
    """Run `benchloom snapshot`; return the exit code."""
    root = find_project()
    servers = find_servers(root, load_params(root))
    unknown = [name for name in names if name not in servers]
    if unknown:
        known = ", ".join(sorted(servers)) or "none"
        raise BadInput(unknown[0], "is not a database with a URL in params.yaml", hint=f"known: {known}")
    wanted = list(names) or sorted(servers)
    for name in wanted:
        servers[name].require_driver()  # a missing driver is reported before the first, slow read
    for name in wanted:
        for line in list_unread_lines(servers[name]):
            print(line, file=sys.stderr)
        print(refresh_record(servers[name]), file=sys.stderr)
    return 0


def find_servers(root: Path, params: Mapping[str, Any]) -> dict[str, DatabaseEntry]:
    """Return the databases in params.yaml that have a URL.

    Raises BadInput if an entry is invalid, or has no file for its record.
    """
    entries = {name: parse_database(params, name) for name in get_section(params, "databases") or {}}
    servers = {name: entry for name, entry in entries.items() if entry.url is not None}
    for name, entry in servers.items():
        if entry.file is None:
            raise BadInput(
                entry.label,
                "has a `url` but no `file` in which to record its content",
                hint=f"add `file: snapshots/{name}.json`",
            )
    return {name: entry.resolve_under(root) for name, entry in servers.items()}


def refresh_records(
    servers: Mapping[str, DatabaseEntry], names: Iterable[str], say: Callable[[str], None]
) -> None:
    """Read the content of the named database servers, and update the records that changed.

    If a server does not answer, its last record is used, and a message reports this. Raises DatabaseGone if
    the server does not answer and has no record, and BadInput if a record cannot be read.
    """
    for name in sorted({*names} & {*servers}):
        try:
            say(refresh_record(servers[name]))
        except DatabaseGone as error:
            if not (servers[name].file or Path()).is_file():
                raise
            say(f"{error}; the last recorded snapshot is used until the database is available again")


def list_unread_lines(entry: DatabaseEntry) -> list[str]:
    """Return one line with the reason for each unread object of a server's database."""
    from tasks.databases.reflection import list_unread

    return [
        f"{entry.label}: {part.what} not read: {part.why}" + (f" ({part.hint})" if part.hint else "")
        for part in list_unread(entry)
    ]


def refresh_record(entry: DatabaseEntry) -> str:
    """Update one record; return a line that describes the changes."""
    from tasks.databases.content import DatabaseContent, load_record, read_content, write_record

    content = read_content(entry)
    before = load_record(entry) if (entry.file or Path()).is_file() else DatabaseContent(tables={})
    changed = content.compare(before)
    if changed:
        write_record(entry, content)
    held = f"{len(content.tables)} tables, {content.count_rows():,} rows"
    unread = [
        f"; {table}.{column} was not read: {why}"
        for table, found in content.tables.items()
        for column, why in found.unread.items()
    ]
    state = f"changed: {', '.join(changed)}" if changed else "unchanged"
    return f"{entry.label}: {held}; {state}{''.join(unread)}"
