"""Answers of a server, kept as files: nothing is asked for twice, and a folder of them can be tracked."""

from __future__ import annotations

from pathlib import Path

import orjson

from tasks.errors import BadInput, DatabaseGone
from tasks.files import write_beside

ASKED_AGAIN = "delete it, and it is asked for again"


class KeptAnswers:
    """The answers of the server at `url`, in a folder: `<name>.json`, where a name may begin with folders."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url

    def has(self, name: str) -> bool:
        """Tell whether an answer is kept."""
        return self.find(name).exists()

    def find(self, name: str) -> Path:
        """Find the place of an answer, which need not be there."""
        return self._folder / f"{name}.json"

    def read(self, name: str) -> object:
        """Read an answer that is kept. Raises BadInput for a file that is no JSON."""
        path = self.find(name)
        try:
            return orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise BadInput(path, f"is no JSON: {error}", hint=ASKED_AGAIN) from error

    def keep(self, name: str, record: object) -> None:
        """Keep an answer: the same one as the same bytes. Raises DatabaseGone for one that is too deep."""
        path = self.find(name)
        try:
            content = orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        except orjson.JSONEncodeError as error:
            raise DatabaseGone(f"{self._url}: {path.stem}: answered too deeply nested") from error
        with write_beside(path) as draft:
            draft.write_bytes(content)
