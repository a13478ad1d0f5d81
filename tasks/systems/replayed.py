"""A system whose answers are published: it replays them, with the passages that they were written from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import make_id
from tasks.errors import BadInput
from tasks.systems.contract import Passage, Response, System, Turn
from tasks.systems.entries import ReplayEntry


class ReplayedSystem:
    """Answers by a file's lines of one model, and asks nobody."""

    def __init__(self, name: str, entry: ReplayEntry, searcher: System | None = None) -> None:
        """Read the lines of the entry's model. Raises BadInput if the file is another than was imported.

        searcher: what retrieves for `retrieve`; without it nothing is retrieved.
        """
        self._searcher = searcher
        self.name, self.version = name, f"{entry.version[:16]} {entry.model}"
        self._answers = read_answers(entry)

    async def answer(self, question: str, *, row: str, history: Sequence[Turn] = ()) -> Response:
        """Return the recorded answer to a question after these turns; without text if there is none."""
        found = self._answers.get(name_question(question, [(turn.question, turn.answer) for turn in history]))
        return found or Response(None, None, (), "no answer to this question was published")

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve passages, best first; None if the entry has no `search`.

        They are not what the answer was written from: the file names that.
        """
        return await self._searcher.retrieve(query, row=row) if self._searcher else None


def name_question(question: str, history: Sequence[tuple[str, str]]) -> str:
    """Name a question with the turns before it."""
    return make_id("replayed", question, [list(turn) for turn in history])


def read_answers(entry: ReplayEntry) -> dict[str, Response]:
    """Read a model's answers by `name_question`. Raises BadInput."""
    path = Path(entry.file)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(path, (error.strerror or "cannot be read").lower(), hint="import it again") from error
    if hashlib.sha256(content).hexdigest() != entry.version:
        raise BadInput(path, "is not the file that params.yaml names by `version`", hint="import it again")
    found = {}
    for line in content.decode().splitlines():
        record: dict[str, Any] = json.loads(line)
        if record["model"] == entry.model:
            passages = tuple(
                Passage(passage["document"], passage["title"], passage["text"], 0.0)
                for passage in record["passages"]
            )
            found[record["question"]] = Response(record["text"], passages, ())
    return found
