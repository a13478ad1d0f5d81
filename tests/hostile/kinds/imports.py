"""Hostile files for `benchloom import`: `importer`, `files` by name, further `words`.

A file has a `body` in parts of Latin-1 text ([text, times]), or `zip` or `tar` with members in order. `pack`:
gz, bz2 or xz. A member has `name` and `body`; a tar member may have any header field by name (`type`, `size`,
..., as Latin-1 text), and `raw` for no padding.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile.subject import Kind, Outcome, Subject
from tests.hostile.wire import SCALARS, join_parts, make_value

MOST_MEMORY = 512
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
HEADER = {
    "name": (0, 100), "mode": (100, 8), "uid": (108, 8), "gid": (116, 8), "size": (124, 12),
    "mtime": (136, 12), "checksum": (148, 8), "type": (156, 1), "link": (157, 100), "magic": (257, 8),
    "prefix": (345, 155),
    "sparse": (386, 97), "extended": (482, 1), "real": (483, 12),
}  # fmt: skip


class Imports:
    """Imports each input into one project; a refused input must leave no files."""

    limit_s = 20.0

    def __init__(self, folder: Path, server: subprocess.Popen[str]) -> None:
        self._folder, self._server = folder, server
        self._root = folder / "project"
        self._root.mkdir()
        (self._root / "params.yaml").write_text("databases: {}\n")
        (self._root / "dvc.yaml").write_text("stages: {}\n")
        self._project = self._list_project()

    def throw(self, value: dict[str, Any]) -> Outcome:
        own = self._folder / "own"
        own.mkdir()
        for name, file in value["files"].items():
            (own / name).write_bytes(make_file(file))
        path = own / next(iter(value["files"])) if len(value["files"]) == 1 else own
        words = ["import", value["importer"], str(path), *value.get("words", [])]
        said = self._folder / "said"
        try:
            answer = self._ask({"words": words, "folder": str(self._root), "file": str(said)})
            lines = said.read_text("utf-8", errors="surrogateescape").replace(str(own), "own").splitlines()
            assert answer["memory"] < MOST_MEMORY, f"{answer['memory']:.0f} MiB"
            assert answer["seconds"] < self.limit_s, f"{answer['seconds']:.1f} s"
            assert answer["code"] in {0, 1, 2}, f"exit {answer['code']}: {lines[-1:]}"
            assert not any("Traceback" in line for line in lines), lines[-1]
            assert all(line.isprintable() for line in lines), lines
            if answer["code"] == 2:
                assert self._list_project() == self._project, f"left: {self._list_project()}"
            return Outcome(("read", "ended", "refused")[answer["code"]], lines[-1])
        finally:
            shutil.rmtree(own)
            shutil.rmtree(self._root / "data", ignore_errors=True)

    def look(self) -> object:
        return sorted(path.name for path in self._root.iterdir() if path.name != ".benchloom")

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin
        assert self._server.stdout
        print(json.dumps(request), file=self._server.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def _list_project(self) -> list[tuple[str, bytes]]:
        files = (path for path in self._root.rglob("*") if path.is_file() and path.suffix != ".lock")
        return sorted((str(path), path.read_bytes()) for path in files if ".benchloom" not in path.parts)


def make_file(file: dict[str, Any]) -> bytes:
    """Return a file's bytes."""
    if "zip" in file:
        content = make_zip(file["zip"])
    elif "tar" in file:
        content = b"".join(map(make_member, file["tar"])) + bytes(1024)
    else:
        content = join_parts(file["body"])
    return PACKERS[file["pack"]](content) if "pack" in file else content


def make_member(member: dict[str, Any]) -> bytes:
    """Return a member of a tar file: header, body and padding."""
    body = join_parts(member.get("body", []))
    fields = {
        "mode": "0000644\0", "uid": "0000000\0", "gid": "0000000\0", "mtime": "00000000000\0", "type": "0",
        "magic": "ustar\x0000", "size": f"{len(body):011o}\0", **member,
    }  # fmt: skip
    header = bytearray(512)
    for name, (begin, size) in HEADER.items():
        text = fields.get(name, "").encode("latin-1")[:size]
        header[begin : begin + len(text)] = text
    if "checksum" not in member:
        header[148:156] = b" " * 8
        header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header) + body + bytes(0 if member.get("raw") else -len(body) % 512)


def make_zip(members: list[dict[str, Any]]) -> bytes:
    """Return a zip file with the given names and sizes, even if they are false."""
    out, index = io.BytesIO(), io.BytesIO()
    for member in members:
        name, body = member["name"].encode("latin-1"), join_parts(member.get("body", []))
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(body) + packer.flush()
        fields = (
            20, member.get("flags", 0), member.get("method", 8), 0, 0, member.get("crc", zlib.crc32(body)),
            member.get("packed", len(packed)), member.get("size", len(body)), len(name),
        )  # fmt: skip
        place = out.tell()
        out.write(b"PK\3\4" + struct.pack("<5H3LHH", *fields, 0) + name + packed)
        rest = struct.pack("<4H2L", 0, 0, 0, 0, member.get("attributes", 0), member.get("place", place))
        index.write(b"PK\1\2" + struct.pack("<H5H3LH", 20, *fields) + rest + name)
    begin, content = out.tell(), index.getvalue()
    end = struct.pack("<4H2LH", 0, 0, len(members), len(members), len(content), begin, 0)
    return out.getvalue() + content + b"PK\5\6" + end


@contextmanager
def open_subject(folder: Path) -> Iterator[Subject]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.import_server"], cwd=Path(__file__).parents[3], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "TMPDIR": str(folder)},
    )  # fmt: skip
    with process:
        yield Imports(folder, process)
        assert process.stdin
        process.stdin.close()


FILES = {
    "tanq": "test.jsonl", "qampari": "dev.jsonl", "hotpotqa": "hotpot_dev_distractor_v1.json",
    "bird": "dev.json", "ds1000": "ds1000.jsonl", "cosql": "dev.json", "toolbench": "test.json",
    "mtrag": "evaluations.json",
    "wikidata": "dump.json", "wikipedia": "pages.json", "ddxplus": "release_test_patients.csv",
}  # fmt: skip
FIELDS = [
    "_id", "id", "question", "answer", "context", "title", "sentences", "db_id", "SQL", "prompt", "metadata",
    "code_context", "reference_code", "answers", "entities", "claims", "labels", "type", "models", "tasks",
    "documents", "metrics", "evaluations", "input", "targets", "contexts", "text", "value",
]  # fmt: skip
NAMES = [
    "", ".", "./", "/", "..", "../x", "a/../../x", "c:/x", "\xff\xfe", "a\x1b[2Jb", "a\nb", "dev.json",
    "dev.json/x",     "a\\b", "x" * 99, "\x00",
]  # fmt: skip
SIZES = [
    "\xff" * 12, "\x80" + "\0" * 3 + "\x7f" * 8, "77777777777\0", "-0000000001\0", "0000000000x\0", "\0" * 12,
    "\x80" + "\0" * 11,
]  # fmt: skip
TYPES = ["0", "1", "2", "3", "5", "6", "7", "L", "K", "x", "g", "S", "V", "D", "\xff", "\0"]


def make(random: Random) -> dict[str, Any]:
    """Generate a file of nested odd values, of very many repetitions, or an archive with odd headers."""
    importer = random.choice(list(FILES))
    chance = random.random()
    if chance < 0.45:
        archive = random.choice(["zip", "tar"])
        importer = random.choice(["hotpotqa", "bird", "spider", "cosql", "ds1000", "toolbench"])
        members = [make_odd_member(random, archive) for _ in range(random.randint(1, 4))]
        file: dict[str, Any] = {archive: members}
        if archive == "tar" and random.random() < 0.4:
            file["pack"] = random.choice(list(PACKERS))
        words = ["--all"] if importer == "spider" else []
        return {"importer": importer, "files": {f"x.{archive}": file}, "words": words}
    if chance < 0.7:
        record = (
            "{"
            + ",".join(f'"{name}":{make_value(random, FIELDS)}' for name in random.sample(FIELDS, 6))
            + "}"
        )
        body: list[Any] = [
            random.choice(["", "[", "\n", '{"data":[']),
            record,
            random.choice(["", "]", "\n", "]}"]),
        ]
    else:
        piece = random.choice(
            ["[", "{", '{"a":', "[[],", '{"_id":"', "1\n", "{}\n", "[]\n", " ", "\n", "\0", '"', "\\", "\xff",
             "-", "1", "<page>", "[1,", '"a",', '{"question":"q","answer":"a"}\n', "null,"],
        )  # fmt: skip
        times = random.choice([1, 1_000, 40_000, 1_000_000, 5_000_000])
        times = min(times, 50_000_000 // len(piece))
        body = [
            random.choice(["", "[", "[[", "[{", "{", '[{"context":']),
            [piece, times],
            random.choice(SCALARS),
        ]
    file = {"body": body}
    name = FILES[importer]
    if random.random() < 0.3 and importer not in {"mtrag"}:
        pack = random.choice(["gz", "bz2"])
        file, name = {**file, "pack": pack}, f"{name}.{pack}"
    words = ["--judge", "judge"] if importer == "mtrag" else []
    return {"importer": importer, "files": {name: file}, **({"words": words} if words else {})}


def make_odd_member(random: Random, archive: str) -> dict[str, Any]:
    """Generate a member with up to two odd header fields."""
    name = random.choice([*NAMES, *FILES.values(), "tables.json"])
    member: dict[str, Any] = {
        "name": name,
        "body": [random.choice(["", "[]", "[{}]", "x", make_value(random, FIELDS)])],
    }
    if archive == "zip":
        odd = {
            "flags": [0x800, 0x1, 0x40, 0xFFFF], "method": [0, 1, 12, 14, 99],
            "size": [0, 1 << 31, 0xFFFFFFFF], "packed": [0, 0xFFFFFFFF], "crc": [0],
            "place": [0, 1 << 30, 0xFFFFFFFF],
            "attributes": [0xA1FF0000, 0x10, 0x61FF0000],
        }  # fmt: skip
    else:
        odd = {
            "size": SIZES, "type": TYPES, "magic": ["", "ustar  \0"], "extended": ["\1"],
            "sparse": ["\xff" * 97, "00000000000\0" * 8], "real": SIZES, "prefix": NAMES,
            "checksum": ["0000000\0"], "mtime": SIZES, "uid": ["\xff" * 8],
        }  # fmt: skip
    for field in random.sample(list(odd), random.choice([0, 1, 1, 2])):
        member[field] = random.choice(odd[field])
    return member


KIND = Kind(at_least=200, open=open_subject, make=make)
