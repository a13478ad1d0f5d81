"""Mount a small file system that a drill can fill."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BALLAST = "ballast"


@contextmanager
def mount_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of the given size; skip the test if this is impossible."""
    folder.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() or mount is None:
        pytest.skip("mounting a tmpfs takes root")
    size = f"size={megabytes}m"
    if subprocess.run([mount, "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def leave_room(disk: Path, size: int) -> None:
    """Fill a disk until `size` bytes are free."""
    free = shutil.disk_usage(disk).free
    with (disk / BALLAST).open("ab") as ballast:
        os.posix_fallocate(ballast.fileno(), ballast.tell(), free - size)
