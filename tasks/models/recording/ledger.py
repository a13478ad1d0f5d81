"""The ledger: a store of every recorded model call, looked up by the hash of its request.

The ledger has two layers. Shipped ledgers are read-only and take precedence, so that a replay produces the
published artifacts byte for byte, regardless of other recorded calls. The live ledger is one SQLite file that
all processes of a user share, or a PostgreSQL database that several machines share.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.models.recording.committer import Committer, Statement
from tasks.models.recording.entries import LedgerEntry, compute_checksum, write_extra
from tasks.models.recording.ledger_address import Address
from tasks.models.recording.ledger_tables import (
    ANY,
    COUNT_CALLS,
    INSERT_ASKED_AGAIN,
    INSERT_BATCH,
    INSERT_CALL,
    INSERT_POSSIBLY_PAID,
    REPLACE_CALL,
    SELECT_CALL,
    SELECT_CALLS,
)
from tasks.models.recording.shipped import iterate_shipped, read_shipped
from tasks.models.recording.stores import CallLocks, open_store

ROOM = 1 << 20
"""Number of bytes to write as a test before the first paid call, to detect a full disk in time."""
IMPORTED_AT_ONCE, IMPORTED_CHARACTERS = 1_000, 10_000_000
"""Maximum numbers of entries, and of characters in their texts, per commit of an import."""
INSERT_UNFINISHED = "INSERT INTO unfinished VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
NOTED_AT_ONCE = 200
"""Number of reused calls after which their usage marks are written in one commit.

A crash may lose marks that are not written yet, but no paid reply: this run did not pay for reused calls.
"""


@dataclass(frozen=True)
class PossiblyPaid:
    """A call that got no usable reply, although the provider may have billed it."""

    key: str
    model: str
    problem: str
    prompt_tokens: int
    max_tokens: int
    at: float


@dataclass(frozen=True)
class OpenBatch:
    """A batch that is being created, or whose results are not collected yet.

    `id` is empty until the provider has confirmed the batch.
    """

    token: str
    """A random token in the batch's metadata, which identifies the batch if its process ended before
    recording the batch's id."""
    model: str
    id: str
    keys: tuple[str, ...]
    at: float


@dataclass(frozen=True)
class ModelStats:
    """Totals of one model's live calls, either with or without the Batch API; `model` is "" if unknown."""

    model: str
    batch: bool
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class LedgerStats:
    """The size of a ledger in calls, tokens and bytes.

    `unanswered_calls`: calls without an answer, which a live run repeats.
    """

    path: str
    live_calls: int
    shipped_calls: int
    prompt_tokens: int
    completion_tokens: int
    estimated_calls: int
    unanswered_calls: int
    possibly_paid: int
    open_batches: int
    bytes: int


class Ledger:
    """The shipped ledgers and the live ledger of a run. Threads and processes may share a live ledger."""

    def __init__(self, live: Address, shipped: Sequence[Path] = ()) -> None:
        """Open the live ledger (created if missing) and read the shipped ledgers.

        Raises BadInput if a file or database is not a ledger, and DatabaseGone if the database server cannot
        be reached.
        """
        self.address = live
        self._shipped: dict[str, LedgerEntry] = {}
        for path in shipped:
            self._shipped |= read_shipped(path)
        self._store = open_store(live)
        self._committer = Committer(self._store.open_writer)
        self._replaced = set(self.list_asked_again(ANY, ANY)) if self._shipped else set()

    def get(self, key: str) -> LedgerEntry | None:
        """Return a call's entry in the shipped or live ledgers, or None.

        A live entry takes precedence if the shipped call has no answer or was repeated. Raises BadInput if
        the entry is damaged.
        """
        shipped = self._shipped.get(key)
        if shipped is not None and not shipped.is_unanswered and key not in self._replaced:
            return shipped
        return _read_row(self.address, next(self._store.select(SELECT_CALL, (key,)), None)) or shipped

    def require_room(self) -> None:
        """Write ROOM bytes next to the ledger's file, or into the database's tables, and delete them.

        Without this check, a full disk or a read-only database would be detected only after a reply was paid
        for. Raises BadInput or DatabaseGone if the bytes cannot be written.
        """
        if not isinstance(self.address, Path):
            # The data is random because PostgreSQL compresses repeated data.
            row = (f"room-{secrets.token_hex(8)}", "", secrets.token_hex(ROOM // 2), 0, 0, 0.0)
            delete = ("DELETE FROM possibly_paid WHERE key = ?", row[:1])
            self._committer.submit([(INSERT_POSSIBLY_PAID, row), delete]).result()
            return
        try:
            with tempfile.NamedTemporaryFile(dir=self.address.parent, prefix=".room-") as draft:
                draft.write(bytes(ROOM))
                draft.flush()
                os.fsync(draft.fileno())
        except OSError as error:
            what = f"cannot record a reply ({(error.strerror or '').lower()}); no model was called"
            hint = "free disk space, or set BENCHLOOM_LEDGER to another file"
            raise BadInput(self.address, what, hint=hint) from error

    def open_locks(self) -> CallLocks:
        """Open the locks on the live ledger's calls; the caller closes the locks before the ledger."""
        return self._store.open_locks()

    def put(self, entry: LedgerEntry) -> None:
        """Record a call; on return, it is on disk. An existing answer is not replaced."""
        self.put_many([entry])

    def put_many(self, entries: Iterable[LedgerEntry]) -> None:
        """Record calls in one commit; on return, they are on disk."""
        self._committer.submit([(INSERT_CALL, _write_row(entry)) for entry in entries]).result()

    def import_shipped(self, path: Path) -> int:
        """Copy all calls of a shipped ledger into the live ledger; return the number of calls in the file.

        The file may be larger than memory. Raises BadInput and copies nothing if any line is not valid.
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

    async def put_async(
        self, entries: Iterable[LedgerEntry], again: Sequence[tuple[str, str, str]] = ()
    ) -> None:
        """Record calls without blocking the event loop; on return, they are on disk.

        `again`: (project, stage, key) of repeated calls; their answers replace the recorded answers.
        """
        replaced = {key for _, _, key in again}
        statements: list[Statement] = [
            (REPLACE_CALL if entry.key in replaced else INSERT_CALL, _write_row(entry)) for entry in entries
        ]
        marks = [*again, *((ANY, ANY, key) for key in sorted(replaced))]
        # The shield ensures that a paid reply is recorded even if the waiting task is cancelled.
        future = self._committer.submit([*statements, *((INSERT_ASKED_AGAIN, mark) for mark in marks)])
        await asyncio.shield(asyncio.wrap_future(future))
        self._replaced |= replaced

    def list_asked_again(self, project: str, stage: str) -> list[str]:
        """Return the sorted keys of the calls that an unfinished stage has repeated."""
        query = "SELECT key FROM asked_again WHERE project = ? AND stage = ? ORDER BY key"
        return [key for (key,) in self.read(query, (project, stage))]

    def forget_asked_again(self, project: str, stage: str) -> None:
        """Delete the list of calls that a stage has repeated, because the stage has finished."""
        self.submit([("DELETE FROM asked_again WHERE project = ? AND stage = ?", (project, stage))])

    def record_possibly_paid(self, call: PossiblyPaid) -> None:
        """Record a call that the provider may have billed although no answer arrived."""
        row = (call.key, call.model, call.problem, call.prompt_tokens, call.max_tokens, call.at)
        self._committer.submit([(INSERT_POSSIBLY_PAID, row)])

    def list_possibly_paid(self) -> list[PossiblyPaid]:
        """List the calls that may have been billed without an answer, oldest first."""
        self._committer.flush()
        rows = self._store.select("SELECT * FROM possibly_paid ORDER BY at, key")
        return [PossiblyPaid(*row) for row in rows]

    async def book_batch(self, batch: OpenBatch) -> None:
        """Record an open batch, or add the batch's id once known; on return, the record is on disk."""
        row = (batch.token, batch.model, batch.id, json.dumps(batch.keys), batch.at)
        future = self._committer.submit([(INSERT_BATCH, row)])
        await asyncio.shield(asyncio.wrap_future(future))

    async def close_batch(self, token: str, entries: Iterable[LedgerEntry] = ()) -> None:
        """Record a batch's answers and remove it from the open batches, in one commit."""
        inserts = [(INSERT_CALL, _write_row(entry)) for entry in entries]
        future = self._committer.submit([*inserts, ("DELETE FROM batches WHERE token = ?", (token,))])
        await asyncio.shield(asyncio.wrap_future(future))

    def list_batches(self) -> list[OpenBatch]:
        """List the batches that are not collected yet, oldest first.

        Raises BadInput if a record is damaged.
        """
        rows = self._store.select("SELECT token, model, id, keys, at FROM batches ORDER BY at, token")
        try:
            return [
                OpenBatch(token, model, id_, tuple(json.loads(keys)), at)
                for token, model, id_, keys, at in rows
            ]
        except (ValueError, TypeError) as error:
            raise BadInput(self.address, "an open batch is damaged", hint="restore the ledger") from error

    def iterate(self) -> Iterator[LedgerEntry]:
        """Yield the live entries, sorted by key. Raises BadInput if an entry is damaged."""
        for row in self._store.scan(SELECT_CALLS):
            if (entry := _read_row(self.address, row)) is not None:
                yield entry

    def list_damaged(self) -> list[str]:
        """Return the sorted keys of the live entries that do not match their checksums."""
        self._committer.flush()
        rows = self._store.scan(SELECT_CALLS)
        return [row[0] for row in rows if not _is_sound(row)]

    def delete(self, keys: Iterable[str]) -> None:
        """Delete live entries by key."""
        # Keys are compared as bytes, because a damaged key may not be valid text.
        delete = f"DELETE FROM calls WHERE {self._store.key_bytes} = ?"  # noqa: S608 - the engine's own words
        self._committer.submit([(delete, (key.encode("utf-8", "surrogateescape"),)) for key in keys]).result()

    def shipped_keys(self) -> frozenset[str]:
        """Return the keys of all calls in the shipped ledgers."""
        return frozenset(self._shipped)

    def prune(self, before: float, *, model: str | None = None, dry_run: bool = False) -> list[ModelStats]:
        """Delete calls recorded before a time, including possibly paid calls; return the totals by model.

        `before`: Unix time in seconds. `model`: delete only calls to this model. `dry_run`: delete nothing.
        The totals exclude possibly paid calls; if only possibly paid calls match, nothing is deleted.
        """
        found = self.count_models(before, model)
        if not dry_run and found:
            chosen, values = _choose(before, model)
            deletes = (f"DELETE FROM calls WHERE {chosen}", f"DELETE FROM possibly_paid WHERE {chosen}")  # noqa: S608 - our own conditions
            self._committer.submit([(delete, values) for delete in deletes]).result()
            self._store.compact()
        return found

    def count_models(self, before: float = math.inf, model: str | None = None) -> list[ModelStats]:
        """Return the totals of the live calls by model and by use of the Batch API."""
        self._committer.flush()
        chosen, values = _choose(before, model)
        rows = self._store.select(
            # PostgreSQL's sum of BIGINT is numeric, which psycopg would return as Decimal.
            "SELECT model, batch, count(*), CAST(sum(prompt_tokens) AS BIGINT), "  # noqa: S608 - our own conditions
            f"CAST(sum(completion_tokens) AS BIGINT) FROM calls WHERE {chosen} "
            "GROUP BY model, batch ORDER BY model, batch",
            values,
        )
        return [ModelStats(name, bool(batch), *counts) for name, batch, *counts in rows]

    def submit(self, statements: Iterable[Statement]) -> None:
        """Queue SQL statements for one commit; they are written before statements that are queued later."""
        self._committer.submit(list(statements))

    def read(self, query: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """Return a query's result rows, which reflect all statements queued earlier."""
        self._committer.flush()
        return list(self._store.select(query, values))

    def stats(self) -> LedgerStats:
        """Return the size of the ledger; the token counts cover only live calls."""
        self._committer.flush()
        ((calls, prompt, completion, estimated, unanswered),) = self._store.select(COUNT_CALLS)
        ((possibly_paid,),) = self._store.select("SELECT count(*) FROM possibly_paid")
        ((batches,),) = self._store.select("SELECT count(*) FROM batches")
        return LedgerStats(
            str(self.address),
            calls,
            len(self._shipped),
            prompt,
            completion,
            estimated,
            unanswered,
            possibly_paid,
            batches,
            self._store.measure(),
        )

    def close(self) -> None:
        """Finish pending writes and close the connections."""
        self._committer.close()
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _choose(before: float, model: str | None) -> tuple[str, tuple[object, ...]]:
    """Return an SQL condition for calls recorded before a time, and the condition's values.

    `model`: the condition also requires this model; None accepts all models.
    """
    return ("at < ?", (before,)) if model is None else ("at < ? AND model = ?", (before, model))


def _write_row(entry: LedgerEntry) -> tuple[object, ...]:
    return (entry.key, entry.text, entry.finish_reason, entry.prompt_tokens, entry.completion_tokens,
            int(entry.estimated), write_extra(entry.extra), entry.latency_s, entry.attempts, entry.at,
            entry.model, int(entry.batch), entry.checksum)  # fmt: skip


def _is_sound(row: tuple[Any, ...]) -> bool:
    """Return whether a row matches its checksum or, if it has no checksum, is readable."""
    extra, checksum = row[6], row[-1]
    try:
        if checksum:
            return bool(checksum == compute_checksum(*row[:7]))
        json.loads(extra)
        "".join(row[:3]).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _read_row(address: Address, row: tuple[Any, ...] | None) -> LedgerEntry | None:
    if row is None:
        return None
    if not _is_sound(row):
        hint = "`benchloom ledger prune --damaged` deletes such calls, and the next run repeats the calls"
        raise BadInput(address, f"call {row[0][:12]!r} is damaged", hint=hint)
    key, text, finish, prompt, completion, estimated, extra, latency, attempts, at, model, batch, _ = row
    more = json.loads(extra) if extra != "{}" else {}
    return LedgerEntry(
        key, text, finish, prompt, completion, bool(estimated), more, latency, attempts, at, model,
        bool(batch),
    )  # fmt: skip


class Unfinished:
    """Marks the calls of a project's stage in the live ledger until the stage has finished.

    The artifact of a finished stage lists its calls. The calls of a running or stopped stage are only in the
    live ledger, whose entries name neither project nor stage. The table `unfinished` therefore stores the
    project and stage of these calls.
    """

    def __init__(self, ledger: Ledger, project: str, stage: str) -> None:
        """Store the project and the stage, without marking calls.

        `project`: the project's folder; several projects may have a stage with the same name.
        """
        self._ledger, self._project, self._stage = ledger, project, stage
        self._waiting: set[str] = set()

    def note(self, keys: Iterable[str], *, asked: bool) -> None:
        """Mark calls as used by the stage.

        `asked`: whether to write the marks immediately, because the calls are about to be billed. Otherwise,
        marks are written in groups of at least NOTED_AT_ONCE.
        """
        self._waiting.update(keys)
        if asked or len(self._waiting) >= NOTED_AT_ONCE:
            rows = [(self._project, self._stage, key) for key in sorted(self._waiting)]
            self._waiting.clear()
            self._ledger.submit((INSERT_UNFINISHED, row) for row in rows)

    def forget(self) -> None:
        """Delete the marks of the stage's calls, because the stage has finished."""
        self._waiting.clear()
        chosen = (self._project, self._stage)
        self._ledger.submit([("DELETE FROM unfinished WHERE project = ? AND stage = ?", chosen)])


def list_unfinished(ledger: Ledger, project: str, flow: str) -> list[str]:
    """Return the sorted keys of the calls of a flow's unfinished stages, with or without an answer."""
    rows = ledger.read(
        "SELECT DISTINCT key FROM unfinished WHERE project = ? AND stage >= ? AND stage < ? ORDER BY key",
        (project, f"{flow}-", f"{flow}."),  # "." follows "-" in ASCII, so this matches the prefix
    )
    return [key for (key,) in rows]
