"""SQL tables and statements of a live ledger for SQLite; the PostgreSQL store translates them."""

from __future__ import annotations

from tasks.models.recording.entries import UNANSWERED

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
CREATE TABLE IF NOT EXISTS asked_again (
    project TEXT NOT NULL, stage TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (project, stage, key)
) WITHOUT ROWID;
"""
COLUMNS = (
    "key, text, finish_reason, prompt_tokens, completion_tokens, estimated, extra, latency_s, attempts, at, "
    "model, batch, checksum"
)
SELECT_CALL = f"SELECT {COLUMNS} FROM calls WHERE key = ?"  # noqa: S608 - constant columns
SELECT_CALLS = f"SELECT {COLUMNS} FROM calls ORDER BY key"  # noqa: S608 - constant columns
REPLACE_CALL = (
    f"INSERT INTO calls ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "  # noqa: S608 - constant columns
    "ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in COLUMNS.split(", ")[1:])
)
"""Inserts a call, or replaces the recorded call. Used for calls that `--ask-again` repeats."""
INSERT_CALL = f"{REPLACE_CALL} WHERE calls.finish_reason = '{UNANSWERED}'"
"""Inserts a call; replaces a recorded call only if that call has no answer."""
INSERT_ASKED_AGAIN = "INSERT INTO asked_again VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
ANY = ""
"""Value of `project` and `stage` in the permanent mark of a repeated call.

For a call with this mark, the live answer is used instead of a shipped answer.
"""
INSERT_POSSIBLY_PAID = "INSERT INTO possibly_paid VALUES (?, ?, ?, ?, ?, ?)"
INSERT_BATCH = (
    "INSERT INTO batches VALUES (?, ?, ?, ?, ?) ON CONFLICT (token) DO UPDATE SET "
    "model = excluded.model, id = excluded.id, keys = excluded.keys, at = excluded.at"
)
_UNANSWERED = f"CASE WHEN finish_reason = '{UNANSWERED}' THEN 1 ELSE 0 END"
# PostgreSQL's sum of BIGINT is numeric, which psycopg would return as Decimal.
COUNT_CALLS = (
    "SELECT count(*), "  # noqa: S608 - constant columns
    + ", ".join(
        f"CAST(coalesce(sum({counted}), 0) AS BIGINT)"
        for counted in ("prompt_tokens", "completion_tokens", "estimated", _UNANSWERED)
    )
    + " FROM calls"
)
