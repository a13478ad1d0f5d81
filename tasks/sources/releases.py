"""Open a published dataset: a folder, or an archive, which is treated as untrusted."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from tasks.errors import BadInput
from tasks.limits import go_on
from tasks.sources.streams import check_ratio, say

MOST_FILES = 100_000
MOST_BYTES = 16 * 2**30
"""Maximum total size in bytes of an archive's unpacked files."""
BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError,
    # zipfile and tarfile raise these errors if the headers of an archive contradict each other.
    ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
CHUNK = 2**20
MOST_READ = 2 * CHUNK
"""Maximum number of bytes per read: without a limit, tarfile would read a file name of any length."""
PACKED: Mapping[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open,
}  # fmt: skip
"""First bytes of a compressed file that may contain a tar file -> the function that opens the file."""
DEPTH = 3
"""Maximum number of levels between the given folder or archive and the dataset's folder."""


@contextmanager
def open_release(path: Path, *markers: str) -> Iterator[Path]:
    """Yield the folder of a published dataset: the folder that contains one of the files `markers`.

    - `path`: a folder, a zip file, or a tar file (plain, gzip, bzip2 or xz). An archive is unpacked into a
      temporary folder.
    - `markers`: file names in order of priority; the first name that exists determines the folder.

    Raises BadInput if `path` is neither a folder nor an archive, or if it contains none of the files,
    or contains one in several folders. Also raises BadInput for an archive that is too large,
    or that contains links, devices or paths that point outside the archive.
    """
    if path.is_dir():
        yield _find_folder(path, path, markers)
        return
    if not path.is_file():
        raise BadInput(path, "does not exist", hint="give a folder, or an archive of a folder")
    with TemporaryDirectory(prefix="benchloom-release-") as name:
        folder = Path(name)
        try:
            _unpack(path, folder)
        except BROKEN as error:
            raise BadInput(path, f"cannot be unpacked: {say(error)}") from error
        yield _find_folder(path, folder, markers)


def _find_folder(path: Path, folder: Path, markers: Sequence[str]) -> Path:
    for marker in markers:
        for depth in range(DEPTH + 1):
            found = sorted(folder.glob("/".join(["*"] * depth + [marker])))
            if len(found) > 1:
                places = ", ".join(str(path.parent.relative_to(folder)) for path in found[:3])
                raise BadInput(
                    path, f"has {marker} in several folders ({places})", hint="give one of these folders"
                )
            if found:
                return found[0].parent
    raise BadInput(
        path, f"contains no {' or '.join(markers)}", hint="give the original folder or archive of the release"
    )


def _unpack(path: Path, folder: Path) -> None:
    place = _Place(path, folder)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                # The upper 16 bits are the Unix mode, in which the type 0o12 is a symbolic link.
                if member.external_attr >> 28 == 0o12:
                    raise BadInput(path, f"contains a link: {member.filename[:80]}")
                if not member.is_dir():
                    with archive.open(member) as source:
                        place.write(member.filename, source)
        return
    with _open_tar(path) as tar:
        for entry in tar:
            if entry.isdir():
                continue
            content = tar.extractfile(entry) if entry.isreg() and not entry.issparse() else None
            if content is None:
                raise BadInput(path, f"contains something other than files and folders: {entry.name[:80]}")
            place.write(entry.name, content)


@contextmanager
def _open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    with path.open("rb") as file:
        head = file.read(8)
        file.seek(0)
        opener = next((kind for begin, kind in PACKED.items() if head.startswith(begin)), None)
        with opener(file) if opener else nullcontext(file) as unpacked:
            bounded = cast(IO[bytes], _Bounded(unpacked))
            with tarfile.open(fileobj=bounded, mode="r:") as tar:
                yield tar


class _Bounded:
    """A tar file that limits the size of each read, so that no header can exhaust memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self.tell, self.seek, self._read = file.tell, file.seek, file.read

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes. Raises ReadError if `size` is negative or exceeds `MOST_READ`."""
        if not 0 <= size <= MOST_READ:
            raise tarfile.ReadError(f"a header has {size:,} bytes; expected 0 to {MOST_READ:,}")
        return self._read(size)


class _Place:
    """Writes an archive's files into a folder; limits their number, total size and compression ratio."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder
        self._packed, self._files, self._bytes = path.stat().st_size, 0, 0

    def write(self, name: str, source: IO[bytes]) -> None:
        """Write a file. Raises BadInput if the file's path leaves the folder, or if a limit is exceeded."""
        self._files += 1
        if self._files > MOST_FILES:
            raise BadInput(self._path, f"has more than {MOST_FILES:,} files")
        place = PurePosixPath(name.replace("\\", "/"))
        if not place.parts:
            raise BadInput(self._path, f"contains a path without a file name: {name[:80]!r}")
        # On Windows, `C:name` is a path on another drive.
        if place.is_absolute() or ".." in place.parts or "\0" in name or ":" in place.parts[0]:
            raise BadInput(self._path, f"contains a path that points outside the archive: {name[:80]!r}")
        target = self._folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            # The sizes in an archive's headers may be wrong, so the bytes actually written are counted.
            while data := source.read(CHUNK):
                go_on()
                self._bytes += len(data)
                if self._bytes > MOST_BYTES:
                    raise BadInput(self._path, f"is larger than {MOST_BYTES / 2**30:g} GiB when unpacked")
                check_ratio(self._bytes, self._packed)
                out.write(data)
