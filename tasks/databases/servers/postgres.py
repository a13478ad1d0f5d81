"""PostgreSQL engine of the reading process: read-only transactions, server-side cursor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psycopg
from psycopg.pq import ExecStatus
from psycopg.types.string import TextLoader
from sqlglot import exp

from tasks.databases.messages import ServerSetup
from tasks.databases.servers.attributes import list_called, write_proof
from tasks.databases.servers.server_engine import AccountMayWrite
from tasks.errors import SqlRefused

AS_TEXT = (
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "json",
    "jsonb",
    "inet",
    "cidr",
)
"""Types whose text form from the server is kept."""
SETTINGS = {
    "default_transaction_read_only": "on",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "hash_mem_multiplier": "1",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "cursor_tuple_fraction": "1",
    "lock_timeout": "1s",
    "client_connection_check_interval": "500ms",  # the server ends a statement whose client is gone
}
PRIVILEGES = """
SELECT CASE
  WHEN bool_or(r.rolsuper) THEN 'is a superuser'
  WHEN bool_or(r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls)
    THEN 'may create roles, databases or replicas'
  WHEN bool_or(r.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
    'pg_signal_backend', 'pg_write_all_data', 'pg_checkpoint')) THEN 'is a member of ' || min(r.rolname)
    FILTER (WHERE r.rolname LIKE 'pg\\_%%')
  WHEN has_database_privilege(current_database(), 'CREATE') THEN 'may create schemas'
  ELSE (SELECT 'may write to ' || min(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
    AND n.nspname NOT LIKE 'pg\\_%%'
    AND (has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
      OR has_any_column_privilege(c.oid, 'INSERT, UPDATE'))) END
FROM pg_roles r WHERE pg_has_role(current_user, r.oid, 'MEMBER')
""".replace("%%", "%")
OWN_FUNCTIONS = """
SELECT proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND NOT EXISTS (SELECT FROM pg_depend d
  WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
"""
"""The functions that neither PostgreSQL nor an extension brought: another `upper` may do anything."""
CALLABLE = """
SELECT proname::text FROM pg_proc WHERE proname::text = ANY(%s::text[]) AND pronargs > 0
  AND (pronargs - pronargdefaults <= 1 OR provariadic <> 0)
UNION SELECT typname::text FROM pg_type WHERE typname::text = ANY(%s::text[])
"""
"""The names that are a function's of one argument, or a type's, to which a value may be cast."""
PREPARED = ExecStatus.COMMAND_OK
KINDS = {
    "57014": "timeout",  # statement_timeout
    "55P03": "timeout",  # lock_timeout
    "25006": "refused",  # a write in a read-only transaction
    "42501": "refused",  # no such privilege
    "53200": "large",  # the server's memory
    "53400": "large",  # temp_file_limit
    "54000": "large",  # a value of more than a gigabyte
    "54001": "large",  # the server's stack
    "22023": "failed",
}
SHUTDOWN = ("57P", "08")


class Postgres:
    """One connection to PostgreSQL."""

    def __init__(self, setup: ServerSetup) -> None:
        self.address = setup["connect"]
        self.memory: int = setup["memory"]
        self.disk: int = setup["disk"]
        self.any_account = setup["any_account"]

    def connect(self) -> None:
        """Open the connection and set its limits."""
        self.connection = psycopg.connect(**{"connect_timeout": 10, **self.address}, autocommit=True)
        for name in AS_TEXT:
            self.connection.adapters.register_loader(name, TextLoader)
        rights = self.connection.execute(PRIVILEGES).fetchone()
        if rights is not None and rights[0] is not None and not self.any_account:
            raise AccountMayWrite(rights[0])
        self.own = {name for (name,) in self.connection.execute(OWN_FUNCTIONS).fetchall()}
        for name, value in SETTINGS.items():
            self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        self._set("work_mem", f"{max(1, self.memory >> 24)}MB")  # a plan may take several times as much
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            self._set("temp_file_limit", f"{max(self.disk, self.memory) >> 10}kB")

    def begin(self, sql: str, tree: exp.Query, seconds: float, *, whole: bool) -> list[str]:
        """Declare a cursor for one SELECT; return its column names. The server refuses several statements."""
        self.connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.extend(seconds)
        if own := self.own & set(list_called(sql)):
            raise SqlRefused(f"the database's own function {min(own)[:40]} is not allowed")
        proof = write_proof(tree, sql, self._find_callable)
        if proof is not None and self.connection.pgconn.prepare(b"", proof.encode()).status != PREPARED:
            raise SqlRefused("a name behind a dot is a function's, and cannot be shown to be a column's")
        self.cursor = psycopg.RawServerCursor(self.connection, "benchloom", scrollable=False)
        self.cursor.execute(sql.encode())
        return [column.name for column in self.cursor.description or ()]

    def extend(self, seconds: float) -> None:
        """Limit the time of each further fetch, in seconds; the process's alarm limits their sum."""
        self._set("statement_timeout", f"{max(1, round(seconds * 1000))}ms")

    def fetchmany(self, wanted: int) -> list[tuple[object, ...]]:
        """Fetch the next rows."""
        return self.cursor.fetchmany(wanted)

    def end(self, *, finished: bool) -> None:
        """Roll back the transaction."""
        self.connection.execute("ROLLBACK")

    def cancel(self) -> None:
        """Ask the server to cancel the statement."""
        with contextlib.suppress(psycopg.Error):
            self.connection.cancel_safe(timeout=0.3)

    def classify_error(self, error: Exception) -> str:
        """Classify an error by its SQLSTATE."""
        state = getattr(error, "sqlstate", None) or ""
        if state in KINDS:
            return KINDS[state]
        if "multiple commands" in str(error):
            return "refused"
        lost = isinstance(error, psycopg.OperationalError) and (self.connection.closed or not state)
        return "gone" if lost or state.startswith(SHUTDOWN) else "failed"

    def describe(self, error: Exception) -> str:
        """Return the server's message, in one line."""
        message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return " ".join((message or str(error)).split()) or type(error).__name__

    def _find_callable(self, names: Iterable[str]) -> set[str]:
        found = self.connection.execute(CALLABLE, [[*names]] * 2).fetchall()
        return {name for (name,) in found}

    def _set(self, name: str, value: str) -> None:
        self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
