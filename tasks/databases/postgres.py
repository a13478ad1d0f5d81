"""PostgreSQL engine of the reading process: read-only transactions, server-side cursor."""

from __future__ import annotations

import contextlib

import psycopg
from psycopg.types.string import TextLoader

from tasks.databases.messages import ServerSetup
from tasks.databases.server_engine import AccountMayWrite

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

    def connect(self) -> None:
        """Open the connection and set its limits."""
        self.connection = psycopg.connect(**{"connect_timeout": 10, **self.address}, autocommit=True)
        for name in AS_TEXT:
            self.connection.adapters.register_loader(name, TextLoader)
        rights = self.connection.execute(PRIVILEGES).fetchone()
        if rights is not None and rights[0] is not None:
            raise AccountMayWrite(rights[0])
        for name, value in SETTINGS.items():
            self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        self._set("work_mem", f"{max(1, self.memory >> 24)}MB")  # a plan may take several times as much
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            self._set("temp_file_limit", f"{max(self.disk, self.memory) >> 10}kB")

    def begin(self, sql: str, seconds: float, *, whole: bool) -> list[str]:
        """Declare a cursor for one SELECT; return its column names. The server refuses several statements."""
        self.connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.extend(seconds)
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

    def _set(self, name: str, value: str) -> None:
        self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
