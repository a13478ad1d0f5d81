"""Count the requests to a scripted endpoint, and those already in the ledger (which would be paid twice)."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from tasks.models.sending.client import KEY_HEADER


@dataclass
class Asked:
    """Counts the requests to a handler, and the requests that the live ledger already contained."""

    ledger: Path
    answer: Callable
    requests: int = 0
    after_commit: int = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        if self.ledger.exists():
            with (
                suppress(sqlite3.OperationalError),
                sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True) as db,
            ):
                for key in request.headers[KEY_HEADER].split(","):
                    found = db.execute("SELECT 1 FROM calls WHERE key = ?", (key,)).fetchone()
                    self.after_commit += bool(found)
        return await self.answer(request)
