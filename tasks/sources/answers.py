"""Cache a server's responses as files, so that no request is repeated and DVC can track the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from tasks.errors import BadInput, DatabaseGone
from tasks.files import write_beside

ASKED_AGAIN = "delete the file; the next run repeats the request"


class KeptAnswers:
    """The cached responses of the server at `url`: files `<name>.json` in `folder` or its subfolders."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self._url = folder, url

    def has(self, name: str) -> bool:
        """Return whether the response with this name is cached."""
        return self.find(name).exists()

    def find(self, name: str) -> Path:
        """Return the path of the file for this name, whether or not the file exists."""
        return self.folder / f"{name}.json"

    def read(self, name: str) -> object:
        """Return the cached response. Raises BadInput if the file is not valid JSON."""
        path = self.find(name)
        try:
            return orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise BadInput(path, f"is not valid JSON: {error}", hint=ASKED_AGAIN) from error

    def ask_once(self, fields: Mapping[str, str], ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the cached response to a request; on a cache miss, call `ask` and cache the response.

        `fields`: the parameters of the request. Raises BadInput if the file is not a cached response, and any
        error that `ask` or `keep` raises.
        """
        # Keys are sorted, so that the same fields in a different order have the same hash, and therefore the
        # same file.
        key = orjson.dumps([self._url, fields], option=orjson.OPT_SORT_KEYS)
        name = hashlib.sha256(key).hexdigest()[:32]
        if self.has(name):
            record = self.read(name)
            answer = record.get("answer") if isinstance(record, dict) else None
            if not isinstance(answer, dict):
                raise BadInput(self.find(name), "is not a cached response", hint=ASKED_AGAIN)
            return answer
        answer = ask()
        self.keep(name, {"url": self._url, "parameters": dict(fields), "answer": answer})
        return answer

    def keep(self, name: str, record: object) -> None:
        """Cache a record as a file; equal records give files with equal bytes.

        Raises DatabaseGone if the record is nested too deeply.
        """
        path = self.find(name)
        try:
            content = orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        except orjson.JSONEncodeError as error:
            raise DatabaseGone(f"{self._url}: {path.stem}: the response is nested too deeply") from error
        with write_beside(path) as draft:
            draft.write_bytes(content)
