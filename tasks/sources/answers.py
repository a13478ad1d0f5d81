"""Cache the answers of a server as files, so that no request is repeated and DVC can track the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from tasks.errors import BadInput, DatabaseGone
from tasks.files import write_beside

ASKED_AGAIN = "delete it, and it is asked for again"


class KeptAnswers:
    """The answers of the server at `url`, in a folder: `<name>.json`, where a name may begin with folders."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self._url = folder, url

    def has(self, name: str) -> bool:
        """Return whether an answer is kept."""
        return self.find(name).exists()

    def find(self, name: str) -> Path:
        """Find the place of an answer, which need not be there."""
        return self.folder / f"{name}.json"

    def read(self, name: str) -> object:
        """Read an answer that is kept. Raises BadInput for a file that is not valid JSON."""
        path = self.find(name)
        try:
            return orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise BadInput(path, f"is not valid JSON: {error}", hint=ASKED_AGAIN) from error

    def ask_once(self, fields: Mapping[str, str], ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the answer to a request of these fields: the kept one, or else `ask`'s, which is kept then.

        Raises BadInput for a file that is not a kept answer, and what `ask` and `keep` raise.
        """
        # Sorted by name, so that the order in which fields are written makes no other file of them.
        key = orjson.dumps([self._url, fields], option=orjson.OPT_SORT_KEYS)
        name = hashlib.sha256(key).hexdigest()[:32]
        if self.has(name):
            record = self.read(name)
            answer = record.get("answer") if isinstance(record, dict) else None
            if not isinstance(answer, dict):
                raise BadInput(self.find(name), "is not a kept answer", hint=ASKED_AGAIN)
            return answer
        answer = ask()
        self.keep(name, {"url": self._url, "parameters": dict(fields), "answer": answer})
        return answer

    def keep(self, name: str, record: object) -> None:
        """Keep an answer: the same one as the same bytes. Raises DatabaseGone for one that is too deep."""
        path = self.find(name)
        try:
            content = orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        except orjson.JSONEncodeError as error:
            raise DatabaseGone(f"{self._url}: {path.stem}: answered too deeply nested") from error
        with write_beside(path) as draft:
            draft.write_bytes(content)
