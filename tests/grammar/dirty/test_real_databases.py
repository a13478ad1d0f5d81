"""Tests that answers over real databases equal a plain computation from the raw cells."""

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from sqlalchemy import make_url

from tasks.databases.entry import DatabaseEntry
from tests.databases.servers import ADDRESSES, PASSWORD, PASSWORD_ENV, open_place
from tests.grammar.dirty.answers import Made
from tests.shared_data import SHARED, needs

SAKILA = {
    "postgresql": ("postgres-sakila-schema.sql", "postgres-sakila-insert-data-using-copy.sql"),
    "mariadb": ("mariadb-sakila-mv-schema.sql", "mariadb-sakila-mv-data.sql"),
}


def make_northwind(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SHARED / "northwind" / "create.sql").read_text(encoding="utf-8"))


def make_chinook(path):
    shutil.copyfile(SHARED / "chinook" / "Chinook_Sqlite.sqlite", path)


def make_library(path):
    script = SHARED / "library" / "make_library.py"
    subprocess.run([sys.executable, str(script), str(path)], check=True, stdout=subprocess.DEVNULL)


OWN = re.compile(r"^(DROP SCHEMA|CREATE SCHEMA|USE)\b.*;", re.MULTILINE | re.IGNORECASE)
FILES = {"northwind": make_northwind, "chinook": make_chinook, "library": make_library}
EACH = [pytest.param(name, marks=needs(name)) for name in FILES]


def make(name, folder):
    path = folder / f"{name}.sqlite"
    FILES[name](path)
    return DatabaseEntry(name=name, file=path)


@needs("chinook")
def test_some_of_chinook(tmp_path):
    assert Made(make("chinook", tmp_path)).check()


@pytest.mark.drill  # hundreds of answers of each database: a minute or two
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", EACH)
def test_files(name, tmp_path):
    assert sum(Made(make(name, tmp_path), few=150).check().values()) > 100


@pytest.mark.drill  # loads 46,000 rows into a server; hundreds of answers: some minutes
@pytest.mark.timeout(1800)
@needs("sakila")
@pytest.mark.parametrize("kind", list(SAKILA))
def test_sakila(kind, monkeypatch):
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    client = shutil.which({"postgresql": "psql", "mariadb": "mariadb"}[kind])
    if client is None:
        pytest.skip(f"no client of {kind} to load Sakila with")
    with open_place(kind) as place:
        url = make_url(ADDRESSES[kind])
        at = ["-h", str(url.host), "-u" if kind == "mariadb" else "-U", str(url.username)]
        at += ["-P" if kind == "mariadb" else "-p", str(url.port)]
        at += ["--force"] if kind == "mariadb" else []  # a view names the schema
        for name in SAKILA[kind]:
            # Use a test database, since the script would drop the server's database.
            script = OWN.sub("", (SHARED / "sakila" / name).read_text(encoding="utf-8"))
            subprocess.run(
                [client, *at, place.name], input=script, text=True, check=False, capture_output=True
            )
        place.grant()
        made = Made(place.entry, few=150)
        assert sum(made.check().values()) > 100
    if kind == "postgresql":
        assert {reason for reason, _ in made.list_losses()} >= {"partition"}
