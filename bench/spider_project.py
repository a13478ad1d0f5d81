"""Create a copy of a checkout with many databases: Spider's SQLite files as entries of `databases:`."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import yaml

MODEL = "qwen25-coder-1b5"


def copy_checkout(source: Path, root: Path) -> None:
    """Copy the tracked files of a checkout and, if present, its artifacts and DVC's cache."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (source / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, root / name)
    for name in ("data", ".dvc/cache"):
        if (source / name).is_dir():
            shutil.copytree(source / name, root / name, dirs_exist_ok=True)


def add_databases(root: Path, spider: Path, count: int, url: str, outside: Path | None = None) -> list[str]:
    """Add databases and the endpoint to params.yaml, and commit. Returns the names of the databases.

    If Spider has too few databases, its files are copied under new names. outside: a folder outside of the
    project for the files; params.yaml then has their absolute paths.
    """
    path = root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    files = sorted(file for file in spider.rglob("*.sqlite") if has_rows(file))
    if not files:
        raise SystemExit(f"bench.many: no SQLite database with rows under {spider}")
    names = []
    for number in range(count):
        turn, place = divmod(number, len(files))
        name = files[place].stem + (f"_{turn + 1}" if turn else "")
        own = (outside or root / "data/raw/spider") / f"{name}.sqlite"
        own.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files[place], own)
        params["databases"][name] = {
            "file": str(own if outside else own.relative_to(root).as_posix()),
            "title": name,
        }
        names.append(name)
    params["run"]["endpoints"][MODEL] = {"kind": "openai", "url": url, "in_flight": 16, "retries": 0}
    path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "Measure")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return names


def has_rows(file: Path) -> bool:
    """Return whether any table has a row; some of Spider's published files are empty."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return any(connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone() for (name,) in tables)
