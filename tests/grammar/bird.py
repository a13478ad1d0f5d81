"""Load BIRD's mini-dev queries and schemas, which are published without databases."""

import json
from collections.abc import Iterator
from functools import cache

from tasks.databases.columns import Column, make_column_id
from tests.shared_data import SHARED

TYPES = {"INTEGER": "integer", "REAL": "real", "DATE": "date", "DATETIME": "date"}


def list_bird_queries() -> Iterator[tuple[str, str]]:
    for question in json.loads((SHARED / "bird" / "mini_dev_sqlite.json").read_text()):
        yield question["db_id"], question["SQL"]


@cache
def list_bird_columns(database: str) -> tuple[Column, ...]:
    tables = _read_schemas()[database]["tables"].values()
    return tuple(
        Column(
            make_column_id(table["name"], column["name"]), table["name"], column["name"],
            TYPES.get(column["type"].upper(), "text"), True, column["primary_key"], None, True,
        )
        for table in tables
        if not table["name"].startswith("sqlite_")
        for column in table["columns"]
    )  # fmt: skip


@cache
def _read_schemas() -> dict:
    return json.loads((SHARED / "bird" / "mini_dev_sqlite_schema.json").read_text())
