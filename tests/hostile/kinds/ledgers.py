"""Hostile ledgers and archives: `as` (how the file is used), `body` in parts of Latin-1 text ([text, times]).

`import`: for `benchloom ledger import`. `shipped`: below a live ledger. Both are compressed unless `plain`,
and may be truncated by `cut` bytes. `batch`: a file of the Batch API's results; `{0}` and `{1}` are the keys
of its two calls. `live`: the live ledger's file, with bytes flipped at `flips`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from openai.types import Batch

from tasks.errors import BadInput
from tasks.models.ask import Request
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import Ledger
from tasks.models.recording.shipped import read_shipped, write_shipped
from tasks.models.sending.batch_files import read_results
from tasks.models.sending.replies import UnusableReply
from tests.hostile.subject import Kind, Outcome, Subject
from tests.hostile.wire import SCALARS, join_parts, make_value

REQUESTS = [Request("m", ({"role": "user", "content": f"question {number}"},)) for number in range(40)]
ENTRIES = {
    request.key(): LedgerEntry(
        request.key(), f"Verdict: Correct, of {number}", "stop", 7, 3, model="m", at=1.0
    )
    for number, request in enumerate(REQUESTS)
}
KEYS = list(ENTRIES)[:2]
DONE = Batch(
    id="b", completion_window="24h", created_at=0, endpoint="/v1/chat/completions", input_file_id="f",
    object="batch", status="completed",
)  # fmt: skip


class Archives:
    """Reads each file in a separate folder; entries must be valid, and a refused file must leave no files."""

    limit_s = 3.0

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        with Ledger(folder / "sound.sqlite") as ledger:
            ledger.put_many(ENTRIES.values())

    def throw(self, value: dict[str, Any]) -> Outcome:
        own = self._folder / "own"
        own.mkdir()
        try:
            return getattr(self, f"_meet_{value['as']}")(value, own)
        except BadInput as error:
            return Outcome("refused", str(error).replace(str(own), "own"))
        finally:
            shutil.rmtree(own)

    def look(self) -> object:
        sound = hashlib.sha256((self._folder / "sound.sqlite").read_bytes()).hexdigest()
        return sound, sorted(path.name for path in self._folder.iterdir())

    def _meet_import(self, value: dict[str, Any], own: Path) -> Outcome:
        archive = write_archive(value, own)
        with Ledger(own / "l.sqlite") as ledger:
            try:
                ledger.import_shipped(archive)
            except BadInput:
                assert ledger.stats().live_calls == 0
                raise
            entries = {entry.key: entry for entry in ledger.iterate()}
            assert entries.keys() == read_shipped(archive).keys()
        write_shipped(own / "again.jsonl.gz", entries.values())
        assert read_shipped(own / "again.jsonl.gz").keys() == entries.keys()
        return Outcome("read", f"{len(entries)} calls")

    def _meet_shipped(self, value: dict[str, Any], own: Path) -> Outcome:
        with Ledger(own / "l.sqlite", [write_archive(value, own)]) as ledger:
            found = [ledger.get(key) for key in ledger.shipped_keys()]
            json.dumps([entry and entry.to_line() for entry in found], ensure_ascii=False).encode()
            return Outcome("read", f"{len(found)} calls")

    def _meet_batch(self, value: dict[str, Any], own: Path) -> Outcome:
        raw = join_parts(value["body"]).replace(b"{0}", KEYS[0].encode()).replace(b"{1}", KEYS[1].encode())
        try:
            outcomes = read_results([raw], KEYS, dict(zip(KEYS, REQUESTS, strict=False)), DONE)
        except UnusableReply as error:
            return Outcome("refused", str(error))
        assert list(outcomes) == KEYS
        entries = [outcome for outcome in outcomes.values() if isinstance(outcome, LedgerEntry)]
        with Ledger(own / "l.sqlite") as ledger:
            ledger.put_many(entries)
            assert [ledger.get(entry.key) for entry in entries] == entries
        problems = [outcome.problem for outcome in outcomes.values() if not isinstance(outcome, LedgerEntry)]
        return Outcome("failed" if problems else "read", "; ".join(problems) or "all are answered")

    def _meet_live(self, value: dict[str, Any], own: Path) -> Outcome:
        content = bytearray((self._folder / "sound.sqlite").read_bytes())
        for place, mask in value["flips"]:
            content[place % len(content)] ^= mask
        (own / "l.sqlite").write_bytes(content)
        with Ledger(own / "l.sqlite") as ledger:
            for key, entry in ENTRIES.items():
                found = ledger.get(key)
                assert found is None or found.to_line() == entry.to_line()
            return Outcome("read", f"{ledger.stats().live_calls} calls, none of them changed")


def write_archive(value: dict[str, Any], own: Path) -> Path:
    """Write a shipped ledger's file."""
    content = join_parts(value["body"])
    if not value.get("plain"):
        packer = zlib.compressobj(level=1, wbits=31)
        content = packer.compress(content) + packer.flush()
    path = own / "x.jsonl.gz"
    path.write_bytes(content[: len(content) - value.get("cut", 0)])
    return path


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    yield Archives(folder)


FIELDS = [
    "key",
    "text",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "estimated",
    "extra",
    "checksum",
]
GOOD = ['"k"', '"yes"', '"stop"', "7", "3", "true", "{}", None]
NAMES = [*FIELDS, "logprobs", "embedding", "content", "response", "body", "error", "message", "status_code"]


def make(random: Random) -> dict[str, Any]:
    """Generate lines with odd values, results with odd values, or flipped bytes of a ledger."""
    chance = random.random()
    if chance < 0.3:
        flips = [
            [random.randrange(1 << 20), random.randint(1, 255)] for _ in range(random.choice([1, 5, 60]))
        ]
        return {"as": "live", "flips": flips}
    if chance < 0.6:
        response = (
            f'{{"status_code":{random.choice(["200", "200", *SCALARS])},"body":{make_value(random, NAMES)}}}'
        )
        odd = random.choice([response, make_value(random, NAMES)])
        line = f'{{"custom_id":"{{0}}","response":{odd},"error":{make_value(random, NAMES)}}}\n'
        return {"as": "batch", "body": [line, make_value(random, NAMES)] if random.random() < 0.3 else [line]}
    odd = random.choice(FIELDS)
    fields = [
        f'"{name}":{make_value(random, NAMES) if name == odd else good}'
        for name, good in zip(FIELDS, GOOD, strict=True)
        if name == odd or good is not None
    ]
    value: dict[str, Any] = {
        "as": random.choice(["import", "shipped"]),
        "body": ["{" + ",".join(fields) + "}\n"],
    }
    if random.random() < 0.2:
        value["cut"] = random.randint(1, 30)
    return value


KIND = Kind(at_least=40, open=open_subject, make=make)
