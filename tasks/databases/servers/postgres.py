"""The reader process's engine for PostgreSQL: read-only transactions and a server-side cursor.

In PostgreSQL, `(value).name` and `alias.name` may be hidden function calls. If no column has this name, these
expressions call the function `name` or cast to the type `name`: `(4711).pg_advisory_lock`, `(title).md5`,
`books.row_to_json` and, in `FROM abs(0.3) AS x`, `x.pg_sleep`.

Only the server can distinguish a column from a call. A query plan does not help, because immutable functions
are called before the plan is printed, and because the plan omits limits and frames. The server prints the
resolved statement only to its log.

However, `ORDER BY name` over a UNION can only refer to a column of the result. If a name after a dot is also
the name of a function or type, the statement is first prepared. Preparation resolves the names, but does not
run the statement. The prepared statement contains the condition `EXISTS (SELECT owner.* UNION ALL SELECT
owner.* ORDER BY name)` for each ambiguous name. If preparation fails, the name is not provably a column, and
the statement is refused.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import psycopg
from psycopg.pq import ExecStatus
from psycopg.types.string import TextLoader
from sqlglot import Dialect, TokenType, exp
from sqlglot.tokenizer_core import Token

from tasks.databases.checking import is_own_type
from tasks.databases.messages import ServerSetup
from tasks.databases.servers.server_engine import AccountMayWrite
from tasks.errors import SqlRefused

DIALECT = "postgres"
MAX_PROOFS = 100
"""Maximum number of conditions in a prepared statement."""
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
"""Types whose values are returned in the server's text form."""
SETTINGS = {
    "default_transaction_read_only": "on",
    "standard_conforming_strings": "on",  # as the parser assumes: a backslash does not escape a quote
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "hash_mem_multiplier": "1",  # hash tables may use `work_mem` times this number
    "max_parallel_workers_per_gather": "0",  # `work_mem` applies to each worker separately
    "jit": "off",
    "cursor_tuple_fraction": "1",  # the default plans for a tenth of the rows, but all rows are fetched
    "lock_timeout": "1s",
    "client_connection_check_interval": "500ms",  # the server ends a statement whose client is gone
}
"""Settings of every session: read-only transactions, fixed text formats, no parallel workers, short lock
waits."""
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
"""Query for functions that are neither built in nor part of an extension. A user-defined function may do
anything, even if its name is `upper`."""
OWN_TYPES = """
SELECT t.typname::text FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND (t.typtype IN ('e', 'c')
  OR (t.typtype = 'd' AND NOT EXISTS (SELECT FROM pg_constraint k JOIN pg_depend d ON d.objid = k.oid
    AND d.classid = 'pg_constraint'::regclass AND d.refclassid = 'pg_proc'::regclass
    WHERE k.contypid = t.oid))
  OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid
    AND d.deptype = 'e'))
"""
"""Query for enums, composite types, extension types, and domains whose constraints call no user-defined
function."""
CALLABLE = """
SELECT proname::text FROM pg_proc WHERE proname::text = ANY(%s::text[]) AND pronargs > 0
  AND (pronargs - pronargdefaults <= 1 OR provariadic <> 0)
UNION SELECT typname::text FROM pg_type WHERE typname::text = ANY(%s::text[])
"""
"""Query that returns the given names that belong to a type, or to a function that accepts one argument."""
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
"""SQLSTATE -> kind of error."""
SHUTDOWN = ("57P", "08")
"""SQLSTATE prefixes for a server shutdown and for a failed connection."""


def list_dotted(sql: str) -> Counter[str]:
    """Return how often each name occurs after a dot; names are in PostgreSQL's spelling."""
    pairs = _list_pairs(sql)
    return Counter(_spell(token) for before, token in pairs if before.token_type == TokenType.DOT)


def list_called(sql: str) -> Counter[str]:
    """Return how often each name occurs before an opening parenthesis; names are in PostgreSQL's spelling."""
    pairs = _list_pairs(sql)
    return Counter(_spell(token) for token, after in pairs if after.token_type == TokenType.L_PAREN)


def _list_pairs(sql: str) -> Iterator[tuple[Token, Token]]:
    return pairwise(Dialect.get_or_raise(DIALECT).tokenize(sql))


def _spell(token: Token) -> str:
    return token.text if token.token_type == TokenType.IDENTIFIER else token.text.lower()


def write_proof(root: exp.Query, sql: str, is_callable: Callable[[Iterable[str]], set[str]]) -> str | None:
    """Return a statement that can be prepared only if every suspicious name after a dot is a column.

    A name is suspicious if a function or type has the same name. `is_callable`: returns the suspicious names
    among its arguments. Returns None if no name is suspicious. Raises SqlRefused if a suspicious name is not
    found in the parse tree or cannot be tested.
    """
    dotted = list_dotted(sql)
    suspects = is_callable(dotted)
    if not suspects:
        return None
    seen: Counter[str] = Counter()
    conditions: dict[tuple[int, str], tuple[exp.Select, str]] = {}
    proof = root.copy()
    for node in proof.find_all(exp.Column, exp.Dot, exp.Table):
        seen.update(_read_name(node.args[part]) for part in ("db", "table") if _is_qualified(node, part))
        name, owner = _split(node)
        seen[name] += 1
        if name not in suspects or isinstance(node, exp.Table):
            continue
        select = node.find_ancestor(exp.Select)
        if select is None:
            raise SqlRefused(
                f"cannot verify that the name {name[:40]} is a column, because the name is not in a SELECT"
            )
        quoted = exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)
        condition = f"EXISTS (SELECT {owner}.* UNION ALL SELECT {owner}.* ORDER BY {quoted})"
        conditions[id(select), condition] = select, condition
    if any(seen[name] < dotted[name] for name in suspects) or len(conditions) > MAX_PROOFS:
        raise SqlRefused(f"cannot verify that the name {min(suspects)[:40]} is a column")
    for select, condition in conditions.values():
        select.where(condition, dialect=DIALECT, copy=False)
    return proof.sql(dialect=DIALECT)


def _split(node: exp.Expr) -> tuple[str, str]:
    """Return the name after a node's last dot, and the SQL before the dot; ("", "") without a dot."""
    if isinstance(node, exp.Dot):
        return _read_name(node.expression), f"({node.this.sql(dialect=DIALECT)})"
    if not node.args.get("table" if isinstance(node, exp.Column) else "db"):
        return "", ""
    parts = [node.args.get(part) for part in ("catalog", "db", "table")]
    return _read_name(node.this), ".".join(part.sql(dialect=DIALECT) for part in parts if part is not None)


def _is_qualified(node: exp.Expr, part: str) -> bool:
    """Return whether a node has the given part (`db` or `table`) and a qualifier in front of this part."""
    before = {"db": "catalog", "table": "db"}[part]
    return node.args.get(part) is not None and node.args.get(before) is not None


def _read_name(node: exp.Expr) -> str:
    return node.name if node.args.get("quoted") else node.name.lower()


def _read_type(node: exp.DataType) -> str:
    """Return the name of a type that sqlglot does not know, in the spelling that PostgreSQL uses."""
    kind = node.args.get("kind")
    name = kind.sql(dialect=DIALECT) if isinstance(kind, exp.Expr) else str(kind or node.sql(dialect=DIALECT))
    return name[1:-1] if name.startswith('"') and name.endswith('"') else name.lower()


class Postgres:
    """A connection to PostgreSQL; see `Engine`."""

    def __init__(self, setup: ServerSetup) -> None:
        self.address = setup["connect"]
        self.memory: int = setup["memory"]
        self.disk: int = setup["disk"]
        self.any_account = setup["any_account"]

    def connect(self) -> None:
        """Open the connection and set its limits.

        Raises AccountMayWrite if the account has more than read access.
        """
        options = {"connect_timeout": 10, "client_encoding": "utf8", **self.address}
        self.connection = psycopg.connect(**options, autocommit=True)
        for name in AS_TEXT:
            self.connection.adapters.register_loader(name, TextLoader)
        rights = self.connection.execute(PRIVILEGES).fetchone()
        if rights is not None and rights[0] is not None and not self.any_account:
            raise AccountMayWrite(rights[0])
        self.own = {name for (name,) in self.connection.execute(OWN_FUNCTIONS).fetchall()}
        self.own_types = {name for (name,) in self.connection.execute(OWN_TYPES).fetchall()}
        for name, value in SETTINGS.items():
            self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        self._set("work_mem", f"{max(1, self.memory >> 24)}MB")  # a plan may use several times this amount
        with contextlib.suppress(psycopg.errors.InsufficientPrivilege):
            self._set("temp_file_limit", f"{max(self.disk, self.memory) >> 10}kB")

    def set_clock(self, clock: int | None) -> None:
        """Do nothing, because the server's clock cannot be set."""

    def begin(self, sql: str, tree: exp.Query, seconds: float, *, whole: bool) -> list[str]:
        """Declare a cursor for one SELECT; return its column names. The server accepts only one statement."""
        self.connection.execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self.extend(seconds)
        if own := self.own & set(list_called(sql)):
            raise SqlRefused(f"the user-defined function {min(own)[:40]} is not allowed")
        self._check_types(tree)
        proof = write_proof(tree, sql, self._find_callable)
        if proof is not None and self.connection.pgconn.prepare(b"", proof.encode()).status != PREPARED:
            raise SqlRefused("cannot verify that a name after a dot is a column, not a function or type")
        self.cursor = psycopg.RawServerCursor(self.connection, "benchloom", scrollable=False)
        self.cursor.execute(sql.encode())
        return [column.name for column in self.cursor.description or ()]

    def list_types(self) -> list[str]:
        """Return the type of each result column, with `[]` after array types; "" for an unknown type."""
        types = self.connection.adapters.types
        found = [(column.type_code, types.get(column.type_code)) for column in self.cursor.description or ()]
        return ["" if info is None else info.name + "[]" * (info.oid != oid) for oid, info in found]

    def extend(self, seconds: float) -> None:
        """Set the time limit, in seconds, for each later fetch; the process's alarm limits the total time."""
        self._set("statement_timeout", f"{max(1, round(seconds * 1000))}ms")

    def fetchmany(self, wanted: int) -> list[tuple[object, ...]]:
        """Fetch at most `wanted` more rows."""
        return self.cursor.fetchmany(wanted)

    def end(self, *, finished: bool) -> None:
        """Roll back the transaction."""
        self.connection.execute("ROLLBACK")

    def cancel(self) -> None:
        """Ask the server to cancel the running statement."""
        with contextlib.suppress(psycopg.Error):
            # The parent kills this process 0.6 s after the alarm (GRACE_S - ALARM_S).
            self.connection.cancel_safe(timeout=0.3)

    def classify_error(self, error: Exception) -> str:
        """Return an error's kind, determined by its SQLSTATE."""
        state = getattr(error, "sqlstate", None) or ""
        if state in KINDS:
            return KINDS[state]
        if "multiple commands" in str(error):
            return "refused"
        lost = isinstance(error, psycopg.OperationalError) and (self.connection.closed or not state)
        return "gone" if lost or state.startswith(SHUTDOWN) else "failed"

    def describe(self, error: Exception) -> str:
        """Return the server's error message on one line."""
        if isinstance(error, psycopg.Error) and error.sqlstate is None and self._lacked_memory():
            return "out of memory: a row exceeds the memory limit of the reading process"
        message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
        return " ".join((message or str(error)).split()) or type(error).__name__

    def _lacked_memory(self) -> bool:
        """Return whether the client library closed the connection because memory for a row ran out."""
        said = self.connection.pgconn.error_message if hasattr(self, "connection") else b""
        return b"allocate memory" in said or b"out of memory" in said

    def _check_types(self, tree: exp.Query) -> None:
        """Raise SqlRefused for a type that sqlglot does not know and `OWN_TYPES` does not list.

        Some of PostgreSQL's built-in types reveal information about the server.
        """
        for node in tree.find_all(exp.DataType):
            if is_own_type(node) and (name := _read_type(node)) not in self.own_types:
                raise SqlRefused(f"the type {name[:40]} is not allowed")

    def _find_callable(self, names: Iterable[str]) -> set[str]:
        found = self.connection.execute(CALLABLE, [[*names]] * 2).fetchall()
        return {name for (name,) in found}

    def _set(self, name: str, value: str) -> None:
        self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
