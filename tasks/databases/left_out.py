"""List catalogue objects that are not read as tables, such as partitions, views and other schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from sqlalchemy import Connection, text

READ_THROUGH = """
WITH RECURSIVE up (child, above) AS (
  SELECT inhrelid, inhparent FROM pg_inherits JOIN pg_class p ON p.oid = inhparent AND relkind IN ('r', 'p')
  UNION SELECT up.child, inhparent FROM up JOIN pg_inherits ON inhrelid = up.above),
heirs (child, root) AS (
  SELECT child, above FROM up WHERE pg_table_is_visible(above) AND NOT EXISTS (
    SELECT FROM up higher WHERE higher.child = up.above AND pg_table_is_visible(higher.above)))
"""
"""WITH clause for PostgreSQL. `heirs` lists partitions and tables with INHERITS, each with its topmost
visible parent table."""
CHILDREN = f"""{READ_THROUGH}
SELECT c.oid::regclass::text AS name, c.relname AS raw, pg_table_is_visible(c.oid) AS visible,
  (SELECT string_agg(root::regclass::text, ', ' ORDER BY 1) FROM heirs WHERE child = c.oid) AS roots,
  (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attname NOT IN (
      SELECT attname FROM pg_attribute JOIN heirs ON attrelid = root WHERE child = c.oid)) AS own
FROM pg_class c WHERE c.oid IN (SELECT child FROM heirs) ORDER BY 1
"""  # noqa: S608 (constants)
SCHEMAS = f"""{READ_THROUGH}
SELECT quote_ident(nspname), count(*) FILTER (WHERE NOT relispartition),
  nspname = ANY (current_schemas(false))
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('r', 'p', 'f', 'v', 'm') AND c.oid NOT IN (SELECT child FROM heirs)
  AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg\\_%'
  AND NOT pg_table_is_visible(c.oid) GROUP BY nspname ORDER BY 1
"""  # noqa: S608 (constants)
PATH = "SELECT quote_ident(unnest(current_schemas(false)))"
MYSQL_VIEWS = """
SELECT table_name, LOWER(table_type) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type LIKE '%VIEW' ORDER BY 1
"""
KINDS = {
    "sqlite": "SELECT name, type FROM sqlite_master WHERE type = 'view' ORDER BY 1",
    "postgresql": f"""{READ_THROUGH}
SELECT c.oid::regclass::text, CASE relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view'
  ELSE 'foreign table' END
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind IN ('v', 'm', 'f') AND pg_table_is_visible(c.oid) AND c.oid NOT IN (SELECT child FROM heirs)
  AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg\\_%' ORDER BY 1
""",  # noqa: S608 (constants)
    "mysql": MYSQL_VIEWS,
    "mariadb": MYSQL_VIEWS,
}
"""Engine -> the query that lists views and foreign tables, each with its kind."""
TABLES = "SELECT name, coalesce(sql, '') FROM sqlite_master WHERE type = 'table' ORDER BY 1"
VIRTUAL = re.compile(r"CREATE VIRTUAL TABLE .*?\bUSING\s+[\"'`\[]?(\w+)", re.IGNORECASE | re.DOTALL)
CONTENT = re.compile(r"\bcontent\s*=\s*[\"'`\[]?(\w+)", re.IGNORECASE)
"""Matches the option of a full-text index that names the indexed table."""
SHADOWS = {
    "fts3": ("content", "docsize", "segdir", "segments", "stat"),
    "fts4": ("content", "docsize", "segdir", "segments", "stat"),
    "fts5": ("config", "content", "data", "docsize", "idx"),
    "rtree": ("node", "parent", "rowid"),
    "rtree_i32": ("node", "parent", "rowid"),
    "geopoly": ("node", "parent", "rowid"),
}
"""Virtual-table module -> name suffixes of the tables that store the module's index."""
LISTINGS = frozenset({"fts5vocab", "fts4aux", "fts3tokenize"})
"""Modules whose virtual tables list the contents of an index."""


@dataclass(frozen=True)
class UnreadPart:
    """A part of a database that is not read.

    `reason`: the reason's code in the list of dropped rows. `what` and `why`: the two halves of the message
    "<what> not read: <why>".
    """

    reason: str
    what: str
    why: str
    hint: str = ""


def list_inner(connection: Connection) -> dict[str, UnreadPart]:
    """Map the name of each partition and each internal table to its `UnreadPart`.

    Names have the catalogue's spelling. A name includes the schema if the table is not visible on
    the search path.
    """
    if connection.dialect.name == "sqlite":
        tables = {str(name): str(sql) for name, sql in connection.exec_driver_sql(TABLES)}
        return {
            name: UnreadPart("internal_table", f"table {name} is", why)
            for name in tables
            if (why := _explain_internal(name, tables))
        }
    if connection.dialect.name != "postgresql":
        return {}
    found = {}
    for row in connection.execute(text(CHILDREN)).mappings():
        own = f"; its own columns {row['own']} are not" if row["own"] else ""
        why = f"its rows are rows of {row['roots']}, which is read{own}"
        key = str(row["raw"] if row["visible"] else row["name"])
        found[key] = UnreadPart("partition", f"table {row['name']} is", why)
    return found


def list_schemas(connection: Connection) -> list[UnreadPart]:
    """List PostgreSQL schemas with tables or views that are not visible on the search path."""
    if connection.dialect.name != "postgresql":
        return []
    schemas = [
        (str(name), int(count), bool(listed)) for name, count, listed in connection.execute(text(SCHEMAS))
    ]
    path = [*connection.scalars(text(PATH)), *(name for name, _, listed in schemas if not listed)]
    # In a connection option, a backslash escapes blanks and backslashes.
    option = re.sub(r"([\\\s])", r"\\\1", "search_path=" + ",".join(path))
    hint = f"to read it, add ?options={quote('-c' + option, safe=',')} to the url"
    return [
        UnreadPart(
            "other_schema",
            f"{'a part of ' if listed else ''}schema {name} is",
            f"{_say_held(count)} "
            + ("with names that an earlier schema has, too" if listed else "outside of the search path"),
            "" if listed else hint,
        )
        for name, count, listed in schemas
    ]


def _say_held(count: int) -> str:
    if not count:
        return "partitions of tables"
    return "1 table or view" if count == 1 else f"{count} tables and views"


def list_kinds(connection: Connection) -> list[UnreadPart]:
    """Return the views and foreign tables, which are not read."""
    query = KINDS.get(connection.dialect.name)
    return [
        UnreadPart("view" if "view" in kind else "foreign_table", f"{kind} {name} is", "only tables are")
        for name, kind in (connection.execute(text(query)) if query else ())
    ]


def _explain_internal(name: str, tables: Mapping[str, str]) -> str:
    """Explain why a SQLite table stores no user data; return "" if it stores user data.

    `tables`: table name -> CREATE statement.
    """
    if name.startswith("sqlite_"):
        return "SQLite stores its own records in this table"
    known = {table.lower() for table in tables}
    if found := VIRTUAL.match(tables[name]):
        over = CONTENT.search(tables[name])
        if over and over[1].lower() in known - {name.lower()}:
            return f"it is an index over {over[1]}, which is read"
        return "it lists the index of a virtual table" if found[1].lower() in LISTINGS else ""
    owner, _, ending = name.rpartition("_")
    sql = next((sql for table, sql in tables.items() if table.lower() == owner.lower()), "")
    owned = (found := VIRTUAL.match(sql)) and ending.lower() in SHADOWS.get(found[1].lower(), ())
    return "a virtual table keeps its index there" if owned else ""
