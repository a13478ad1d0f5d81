"""Hostile files of parameters: lists of parts (bytes as Latin-1 text) with numbers of repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from flows.params_file import parse_params
from tasks.errors import BadInput
from tests.hostile.subject import Kind, Outcome, Subject

NAMED = {"databases", "ragcheck.sets"}
SECTIONS = {"databases", "run", "models"}
PIECES = [
    "databases", "run", "ragcheck", "sets", ":", ": ", ":\n", "\n", "\n  ", "\n\t", "  ", "- ", "{", "}", "[",
    "]", ",", "&a ", "*a", "<<: ", "!!python/name:os.system ", "!!binary ", "!!set ", "!!timestamp ", "? ",
    "|\n", ">-\n", "'", '"', "\\u0000", "\\x1b", "\x00", "\x1b[2J", "\xef\xbb\xbf", "\xff\xfe", "\xe9",
    "---\n", "...\n", "%YAML 9.9\n", "# x\n", "~", "yes", "0x10", "1_0", "1e999", ".nan", "2020-13-45",
    "12:30:45", "$(touch pwned)", "../x", "\xe2\x80\xae", "\xe2\x80\xa8", "a", "files", "@", "`", "=",
    "9" * 30,
]  # fmt: skip


class Parameters:
    """Reads files of parameters in a separate folder."""

    limit_s = 10.0

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def throw(self, value: list[str | list[object]]) -> Outcome:
        content = "".join(
            part if isinstance(part, str) else str(part[0]) * int(str(part[1])) for part in value
        )
        try:
            found = parse_params(content.encode("latin-1"), self.folder / "params.yaml", NAMED, SECTIONS)
        except BadInput as error:
            return Outcome("refused", str(error))
        return Outcome("read", f"{len(found)} keys")

    def look(self) -> object:
        return sorted(map(str, self.folder.rglob("*"))), sorted(Path.cwd().glob("pwned*"))


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    yield Parameters(folder)


def make(random: Random) -> list[str | list[object]]:
    """Generate a file from pieces of YAML syntax, some of them repeated."""
    parts: list[str | list[object]] = []
    for _ in range(random.randint(3, 14)):
        piece = random.choice(PIECES)
        parts.append([piece, random.choice([3, 60, 2_000])] if random.random() < 0.08 else piece)
    return parts


KIND = Kind(at_least=60, open=open_subject, make=make)
