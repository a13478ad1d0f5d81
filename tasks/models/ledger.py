"""The ledger: every model call ever made, by the hash of its request.

It has two layers. Shipped ledgers are read-only and looked up first: a replay then gives the project's
bytes, whatever else this user has recorded. The live ledger is one SQLite file that all processes of a
user share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from tasks.errors import BadInput
from tasks.models.committer import Committer, Statement
from tasks.models.entries import LedgerEntry, compute_checksum, write_extra
from tasks.models.incoming import plain
from tasks.models.shipped import iterate_shipped, read_shipped

SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, finish_reason TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, estimated INTEGER NOT NULL,
    extra TEXT NOT NULL, latency_s REAL NOT NULL, attempts INTEGER NOT NULL, at REAL NOT NULL,
    model TEXT NOT NULL DEFAULT '', batch INTEGER NOT NULL DEFAULT 0, checksum TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS possibly_paid (
    key TEXT NOT NULL, model TEXT NOT NULL, problem TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, max_tokens INTEGER NOT NULL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS batches (
    token TEXT PRIMARY KEY, model TEXT NOT NULL, id TEXT NOT NULL, keys TEXT NOT NULL, at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS unfinished (
    project TEXT NOT NULL, stage TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (project, stage, key)
) WITHOUT ROWID;
"""
ADDED = {
    "model": "TEXT NOT NULL DEFAULT ''",
    "batch": "INTEGER NOT NULL DEFAULT 0",
    "checksum": "TEXT NOT NULL DEFAULT ''",
}
"""Columns that ledgers of earlier versions lack."""
COLUMNS = (
    "key, text, finish_reason, prompt_tokens, completion_tokens, estimated, extra, latency_s, attempts, at, "
    "model, batch, checksum"
)
BUSY_S = 60
IMPORTED_AT_ONCE, IMPORTED_CHARACTERS = 1_000, 10_000_000
"""How many entries of a shipped ledger are held in memory, and of how much text."""
BESIDE = ("", "-wal", "-shm", "-claims")
"""The endings of the files of a ledger, itself and its locks."""


@dataclass(frozen=True)
class PossiblyPaid:
    """A sent call without a usable reply, for which the provider may have charged."""

    key: str
    model: str
    problem: str
    prompt_tokens: int
    max_tokens: int
    at: float


@dataclass(frozen=True)
class OpenBatch:
    """A batch that was submitted, or was about to be (`id` is empty), and is not collected yet."""

    token: str
    """A random name in the batch's metadata, to find a batch whose id was lost with its process."""
    model: str
    id: str
    keys: tuple[str, ...]
    at: float


@dataclass(frozen=True)
class ModelStats:
    """The live calls of one model, with or without the Batch API; `model` is empty if unknown."""

    model: str
    batch: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class LedgerStats:
    """The size of a ledger, in calls and tokens."""

    path: str
    live_calls: int
    shipped_calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated_calls: int
    possibly_paid: int
    open_batches: int
    bytes: int


def find_ledger(setting: Path | None = None) -> Path:
    """Return the live ledger's path: BENCHLOOM_LEDGER, else the setting, else the user's data folder."""
    if named := os.environ.get("BENCHLOOM_LEDGER"):
        return Path(named).expanduser()
    return setting or Path(platformdirs.user_data_dir("benchloom", appauthor=False)) / "ledger.sqlite"


class Ledger:
    """Shipped ledgers over a live one. Safe for threads and for several processes on one file."""

    def __init__(self, live: Path, shipped: Sequence[Path] = ()) -> None:
        """Open the live ledger's file (created if missing) and read the shipped ones.

        Raises BadInput for a file that is not a ledger.
        """
        self.path = live
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._shipped: dict[str, LedgerEntry] = {}
        for path in shipped:
            self._shipped |= read_shipped(path)
        self._prepare()
        self._committer = Committer(self._connect)

    def get(self, key: str) -> LedgerEntry | None:
        """Look up a call: shipped first, then live. Raises BadInput for one that is damaged."""
        if (entry := self._shipped.get(key)) is not None:
            return entry
        rows = self._select(f"SELECT {COLUMNS} FROM calls WHERE key = ?", (key,))  # noqa: S608 - constant columns
        return _read_row(self.path, next(rows, None))

    def put(self, entry: LedgerEntry) -> None:
        """Record a call; it is on disk on return. A call that is already there stays as it is."""
        self.put_many([entry])

    def put_many(self, entries: Iterable[LedgerEntry]) -> None:
        """Record calls in one commit, which is on disk on return."""
        self._committer.submit([(INSERT, _write_row(entry)) for entry in entries]).result()

    def import_shipped(self, path: Path) -> int:
        """Copy a shipped ledger's calls, which may be many; return how many it has.

        Raises BadInput for a file of which any line is bad; then nothing is copied.
        """
        for _ in iterate_shipped(path):
            pass
        count, waiting, size = 0, [], 0
        for entry in iterate_shipped(path):
            waiting.append(entry)
            count, size = count + 1, size + len(entry.text)
            if len(waiting) == IMPORTED_AT_ONCE or size > IMPORTED_CHARACTERS:
                self.put_many(waiting)
                waiting, size = [], 0
        self.put_many(waiting)
        return count

    async def put_async(self, entries: Iterable[LedgerEntry]) -> None:
        """Record calls without blocking the event loop; they are on disk on return."""
        # Shielded: a paid reply is recorded even if the waiting task has been cancelled.
        future = self._committer.submit([(INSERT, _write_row(entry)) for entry in entries])
        await asyncio.shield(asyncio.wrap_future(future))

    def record_possibly_paid(self, call: PossiblyPaid) -> None:
        """Record that a call may have been charged without an answer."""
        row = (call.key, call.model, call.problem, call.prompt_tokens, call.max_tokens, call.at)
        self._committer.submit([("INSERT INTO possibly_paid VALUES (?, ?, ?, ?, ?, ?)", row)])

    def list_possibly_paid(self) -> list[PossiblyPaid]:
        """List the calls that may have been charged without an answer, oldest first."""
        self._committer.flush()
        rows = self._select("SELECT * FROM possibly_paid ORDER BY at, key")
        return [PossiblyPaid(*row) for row in rows]

    async def book_batch(self, batch: OpenBatch) -> None:
        """Record an open batch, or its id once it is known; it is on disk on return."""
        row = (batch.token, batch.model, batch.id, json.dumps(batch.keys), batch.at)
        future = self._committer.submit([("INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)", row)])
        await asyncio.shield(asyncio.wrap_future(future))

    async def close_batch(self, token: str, entries: Iterable[LedgerEntry] = ()) -> None:
        """Record a batch's answers and that it is collected, in one commit."""
        inserts = [(INSERT, _write_row(entry)) for entry in entries]
        future = self._committer.submit([*inserts, ("DELETE FROM batches WHERE token = ?", (token,))])
        await asyncio.shield(asyncio.wrap_future(future))

    def list_batches(self) -> list[OpenBatch]:
        """List the batches that are not collected yet, oldest first."""
        rows = self._select("SELECT token, model, id, keys, at FROM batches ORDER BY at, token")
        try:
            return [
                OpenBatch(token, model, id_, tuple(json.loads(keys)), at)
                for token, model, id_, keys, at in rows
            ]
        except (ValueError, TypeError) as error:
            raise BadInput(self.path, "an open batch is damaged", hint="restore the file") from error

    def iterate(self) -> Iterator[LedgerEntry]:
        """Yield the live entries by key. Raises BadInput for one that is damaged."""
        for row in self._select(f"SELECT {COLUMNS} FROM calls ORDER BY key"):  # noqa: S608 - constant columns
            if (entry := _read_row(self.path, row)) is not None:
                yield entry

    def list_damaged(self) -> list[str]:
        """List the keys of the live entries that do not have their checksums, sorted."""
        self._committer.flush()
        rows = self._select(f"SELECT {COLUMNS} FROM calls ORDER BY key")  # noqa: S608 - constant columns
        return [row[0] for row in rows if not _is_sound(row)]

    def delete(self, keys: Iterable[str]) -> None:
        """Delete live entries."""
        # By its bytes, since a damaged key may be no text.
        delete = "DELETE FROM calls WHERE CAST(key AS BLOB) = ?"
        self._committer.submit([(delete, (key.encode("utf-8", "surrogateescape"),)) for key in keys]).result()

    def shipped_keys(self) -> frozenset[str]:
        """Return the keys in the shipped ledgers."""
        return frozenset(self._shipped)

    def prune(self, before: float, *, model: str | None = None, dry_run: bool = False) -> list[ModelStats]:
        """Delete live entries recorded before a time (Unix seconds); return their counts by model.

        model: delete only entries of this model.
        """
        found = self.count_models(before, model)
        if not dry_run and found:
            chosen, values = "at < ? AND (? IS NULL OR model = ?)", (before, model, model)
            deletes = (f"DELETE FROM calls WHERE {chosen}", f"DELETE FROM possibly_paid WHERE {chosen}")  # noqa: S608 - our own conditions
            self._committer.submit([(delete, values) for delete in deletes]).result()
            self._connection().execute("VACUUM")
        return found

    def count_models(self, before: float = math.inf, model: str | None = None) -> list[ModelStats]:
        """Count the live calls by model and by use of the Batch API."""
        self._committer.flush()
        rows = self._select(
            "SELECT model, batch, count(*), sum(prompt_tokens), sum(completion_tokens) FROM calls "
            "WHERE at < ? AND (? IS NULL OR model = ?) GROUP BY model, batch ORDER BY model, batch",
            (before, model, model),
        )
        return [ModelStats(name, bool(batch), *counts) for name, batch, *counts in rows]

    def submit(self, statements: Iterable[Statement]) -> None:
        """Hand over statements that belong together; on disk they come before what is handed over later."""
        self._committer.submit(list(statements))

    def read(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """Read rows, of what was handed over before too."""
        self._committer.flush()
        return list(self._select(query, values))

    def stats(self) -> LedgerStats:
        """Count the entries. Tokens are those of the live calls."""
        self._committer.flush()
        ((calls, prompt, completion, estimated),) = self._select(
            "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), "
            "coalesce(sum(estimated), 0) FROM calls"
        )
        ((possibly_paid,),) = self._select("SELECT count(*) FROM possibly_paid")
        ((batches,),) = self._select("SELECT count(*) FROM batches")
        size = self.path.stat().st_size
        return LedgerStats(
            str(self.path),
            calls,
            len(self._shipped),
            prompt,
            completion,
            estimated,
            possibly_paid,
            batches,
            size,
        )

    def close(self) -> None:
        """Finish pending writes and close the file."""
        self._committer.close()
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._local = threading.local()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _select(self, query: str, values: tuple[object, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield rows. Raises BadInput where the file cannot be read."""
        try:
            # Row by row: to delegate would close the cursor with the generator, perhaps after its connection.
            for row in self._connection().execute(query, values):  # noqa: UP028
                yield row
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise BadInput(
                self.path, f"cannot be read: {plain(str(error))}", hint="restore the file"
            ) from error

    def _prepare(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _keep_private(self.path)
            with contextlib.closing(self._connect()) as connection:
                connection.executescript(SCHEMA)
                _add_columns(connection)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise BadInput(
                self.path, f"cannot be used as the ledger: {plain(str(error))}", hint="move the file away"
            ) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        # Bytes that are no text make an entry damaged, not the file unreadable.
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA journal_mode = WAL")
        # A paid call must survive a power cut, not only a killed process. Commits are grouped, so that
        # the disk is waited for once per group.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            with self._lock:
                self._opened.append(connection)
        return connection


INSERT = f"INSERT OR IGNORE INTO calls ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constant columns


def _add_columns(connection: sqlite3.Connection) -> None:
    """Migrate the table of an earlier version; another process may be doing the same."""
    there = {row[1] for row in connection.execute("PRAGMA table_info(calls)")}
    for name in ADDED.keys() - there:
        try:
            connection.execute(f"ALTER TABLE calls ADD COLUMN {name} {ADDED[name]}")
        except sqlite3.OperationalError as error:
            if "duplicate column" not in str(error):
                raise


def _keep_private(path: Path) -> None:
    """Let nobody else read a ledger, nor what lies beside it; SQLite gives those files its modes."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for ending in BESIDE:
        with contextlib.suppress(FileNotFoundError, PermissionError):  # another user's, who shares it with us
            file = path.with_name(path.name + ending)
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)


def _write_row(entry: LedgerEntry) -> tuple[object, ...]:
    return (entry.key, entry.text, entry.finish_reason, entry.prompt_tokens, entry.completion_tokens,
            int(entry.estimated), write_extra(entry.extra), entry.latency_s, entry.attempts, entry.at,
            entry.model, int(entry.batch), entry.checksum)  # fmt: skip


def _is_sound(row: tuple[Any, ...]) -> bool:
    """Tell whether a row has its checksum; of one that was recorded without, whether it can be read."""
    extra, checksum = row[6], row[-1]
    try:
        if checksum:
            return bool(checksum == compute_checksum(*row[:7]))
        json.loads(extra)
        "".join(row[:3]).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _read_row(path: Path, row: tuple[Any, ...] | None) -> LedgerEntry | None:
    if row is None:
        return None
    if not _is_sound(row):
        hint = "`benchloom ledger prune --damaged` deletes such calls, and the next run asks them again"
        raise BadInput(path, f"call {row[0][:12]!r} is damaged", hint=hint)
    key, text, finish, prompt, completion, estimated, extra, latency, attempts, at, model, batch, _ = row
    more = json.loads(extra) if extra != "{}" else {}
    return LedgerEntry(
        key, text, finish, prompt, completion, bool(estimated), more, latency, attempts, at, model,
        bool(batch),
    )  # fmt: skip
