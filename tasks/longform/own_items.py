"""Read a user's long-form items from a folder with items.parquet, or with items.jsonl and databases."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.artifacts.rows import Origin, make_id
from tasks.databases.execution import SafeDatabase
from tasks.databases.scratch.scratch import ScratchLimits, build_scratch, write_database
from tasks.errors import BadInput
from tasks.longform.build.items import LongformItem
from tasks.longform.build.sql import write_literal
from tasks.longform.build.statement import Claim
from tasks.longform.labels import KINDS
from tasks.longform.solve.describe_database import read_database
from tasks.scoring.items import BadItem, Record
from tasks.systems.own_items import LINES, ItemReader, ItemSource, check_choice, take_text

LIMITS = ScratchLimits(timeout_s=30.0, memory_mb=512, rows=50_000, characters=5_000_000, bytes=100_000)
"""Limits for building a database from a user's script, which may contain any statement."""
CREATE = re.compile(
    r"""CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:\w+|"[^"]+"|`[^`]+`|\[[^\]]+\])\s*\(""", re.IGNORECASE
)
"""Matches CREATE TABLE, the only allowed statement except INSERT. The pattern does not match TEMP or VIRTUAL
tables, or CREATE TABLE AS."""
TOKEN = re.compile(
    r"""'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;""",
    re.DOTALL,
)
"""Matches a string literal, a quoted name, a comment, or a semicolon that ends a statement.

An unterminated string, name or comment extends to the end of the script, so that matching takes linear time.
"""


def _make_item(record: Record, source: ItemSource) -> LongformItem:
    question, reference, kind = (take_text(record, name) for name in ("question", "reference", "kind"))
    stated = record.get("script") is not None
    script = take_text(record, "script", LIMITS.characters) if stated else _dump(record, source.file.parent)
    name, item_id = (take_text(record, field, default="") for field in ("database", "id"))
    claims = record.get("claims") or []
    if not isinstance(claims, list) or not all(isinstance(claim, dict) for claim in claims):
        raise BadItem("claims is not a list of objects with `text` and `sql`")
    unread = tuple(Claim(take_text(claim, "text"), take_text(claim, "sql"), (), "") for claim in claims)
    own = Origin("file", LINES)
    return LongformItem(
        item_id or make_id("own item", question, script),
        name,
        question,
        kind,
        reference,
        unread,
        script,
        "",
        (own,),
    )


def _dump(record: Record, folder: Path) -> str:
    """Convert a record's SQLite file into a script. Raises BadItem if the file cannot be used."""
    if record.get("database") is None:
        raise BadItem("has neither `script` nor `database`")
    name = take_text(record, "database")
    file = _find_file(folder, name)
    if file is None:
        raise BadItem(f"database {name[:60]!r} has no file in the same folder as the items file")
    try:
        tables = read_database(file).tables
    except sqlite3.Error as error:
        raise BadItem(f"database {name!r} cannot be read: {error}") from None
    # If the last line ends with a comment, a semicolon on that line would be part of the comment.
    lines = [f"{table.sql}\n;" if "--" in table.sql else f"{table.sql};" for table in tables]
    for table in tables:
        head = 'INSERT INTO "{}" VALUES'.format(table.name.replace('"', '""'))
        lines += [f"{head} ({', '.join(map(write_literal, row))});" for row in table.rows]
    return "\n".join(lines)


def _find_file(folder: Path, name: str) -> Path | None:
    """Find a file inside a folder; None if there is no such file, or if the name is not valid."""
    try:
        # `resolve` follows links, so a link cannot lead out of the folder.
        file = (folder / name).resolve()
        return file if file.is_relative_to(folder.resolve()) and file.is_file() else None
    except (OSError, ValueError):
        return None


def _check(item: LongformItem) -> LongformItem:
    """Check an item's kind, build its database, and run its claims' queries.

    Raises BadItem or SqlError if the item is invalid.
    """
    check_choice("kind", item.kind, KINDS)
    if not item.question.strip() or not item.reference.strip():
        raise BadItem("the question or the reference is empty")
    if (size := len(item.script)) > LIMITS.characters:
        raise BadItem(f"the script has {size:,} characters; at most {LIMITS.characters:,} are allowed")
    create, inserts = _split(item.script)
    if not create or not inserts:
        raise BadItem(f"the script has no {'INSERT' if create else 'CREATE TABLE'}")
    try:
        script = build_scratch(create, inserts, LIMITS).script
    except BadInput as error:
        said = str(error).rpartition(" (")[0].split(": ", 2)[-1]
        raise BadItem(f"a CREATE TABLE statement in the script fails: {said}") from error
    return replace(item, script=script, claims=_run_claims(item.claims, script))


def _split(script: str) -> tuple[list[str], str]:
    """Split a script into its CREATE TABLE statements and the other statements, which should be INSERTs.

    Raises BadItem for any other CREATE statement.
    """
    create, inserts = [], []
    ends = [token.end() for token in TOKEN.finditer(script) if token[0] == ";"]
    for start, end in pairwise([0, *ends, len(script)]):
        text = script[start:end].strip()
        if CREATE.match(text):
            create.append(text)
        elif text.upper().startswith("CREATE"):
            raise BadItem(f"the script may contain only CREATE TABLE and INSERT, not {text[:60]!r}")
        elif text:
            inserts.append(text)
    return create, "\n".join(inserts)


def _run_claims(claims: Sequence[Claim], script: str) -> tuple[Claim, ...]:
    if not claims:
        return ()
    with TemporaryDirectory(prefix="benchloom-items-") as folder:
        file = Path(folder) / "item.sqlite"
        write_database(script, file)
        # The queries run one after the other, so one process suffices.
        with SafeDatabase(file, children=1) as safe:
            results = [safe.query(claim.sql) for claim in claims]
    return tuple(
        replace(claim, columns=result.columns, rows=json.dumps([list(row) for row in result.rows]))
        for claim, result in zip(claims, results, strict=True)
    )


READER = ItemReader(_make_item, _check, LongformItem, page="docs/longform.md")
