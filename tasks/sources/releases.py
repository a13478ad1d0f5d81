"""Open a published dataset: a folder, or an archive of one, which is taken for hostile."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO

from tasks.errors import BadInput

MOST_FILES = 100_000
MOST_BYTES = 16 * 2**30
"""Of all files of an archive, unpacked."""
BROKEN = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError)
CHUNK = 2**20
DEPTH = 3
"""How far below the folder or archive the dataset's own folder may lie."""


@contextmanager
def open_release(path: Path, *markers: str) -> Iterator[Path]:
    """Give the folder of a published dataset, which has one of the files `markers` in it.

    path: a folder, or a zip file or a tar file with any compression, which is unpacked. markers: the first
    that is anywhere says where. Raises BadInput for a path that is none of them, has no such file, or holds
    more than an archive of data may: links, devices, paths that lead out.
    """
    if path.is_dir():
        yield _find_folder(path, path, markers)
        return
    if not path.is_file():
        raise BadInput(path, "is not there", hint="a folder, or an archive of it")
    with TemporaryDirectory(prefix="benchloom-release-") as name:
        folder = Path(name)
        try:
            _unpack(path, folder)
        except (*BROKEN, OSError, RuntimeError) as error:
            raise BadInput(path, f"cannot be unpacked: {' '.join(str(error).split())}") from error
        yield _find_folder(path, folder, markers)


def _find_folder(path: Path, folder: Path, markers: Sequence[str]) -> Path:
    for marker in markers:
        for depth in range(DEPTH + 1):
            found = sorted(folder.glob("/".join(["*"] * depth + [marker])))
            if len(found) > 1:
                places = ", ".join(str(one.parent.relative_to(folder)) for one in found[:3])
                raise BadInput(path, f"has {marker} in several folders ({places})", hint="name one of them")
            if found:
                return found[0].parent
    raise BadInput(path, f"holds no {' nor '.join(markers)}", hint="the folder or archive as it is published")


def _unpack(path: Path, folder: Path) -> None:
    left = MOST_BYTES
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            _check_count(path, len(members))
            for member in members:
                if member.external_attr >> 28 == 0o12:
                    raise BadInput(path, f"has a link in it: {member.filename[:80]}")
                with archive.open(member) as source:
                    left = _write(path, folder, member.filename, source, left)
        return
    with tarfile.open(path) as archive:
        for number, entry in enumerate(archive):
            _check_count(path, number)
            if entry.isdir():
                continue
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is None:
                raise BadInput(path, f"has something in it that is no file: {entry.name[:80]}")
            left = _write(path, folder, entry.name, content, left)


def _check_count(path: Path, count: int) -> None:
    if count > MOST_FILES:
        raise BadInput(path, f"has more than {MOST_FILES:,} files")


def _write(path: Path, folder: Path, name: str, source: IO[bytes], left: int) -> int:
    """Write a member below the folder; return how many bytes more may come."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or "\0" in name or ":" in place.parts[0]:
        raise BadInput(path, f"has a path in it that leads out: {name[:80]!r}")
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        # Whatever an archive says of its sizes, no more than is allowed is written.
        while data := source.read(CHUNK):
            left -= len(data)
            if left < 0:
                raise BadInput(path, f"holds more than {MOST_BYTES / 2**30:g} GiB unpacked")
            out.write(data)
    return left
