"""BIRD (Li et al., 2023; CC BY-SA 4.0) in its published layout; evidence is not read (StreamBench, 3.2).

`dev.json` holds `question_id`, `db_id`, `question` and `SQL`, `dev_databases/<id>/<id>.sqlite` the databases,
`dev_tables.json` their tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tasks.sources.json_records import read_records
from tasks.sources.sql_questions import Placed, read_pairs, write_table_list

TITLE, LICENCE, SOURCE = "BIRD", "CC BY-SA 4.0", "https://bird-bench.github.io"
DEV, TRAIN = ("dev.json", "mini_dev_sqlite.json"), ("train.json",)
TABLES = ("dev_tables.json", "tables.json", "train_tables.json")
FOLDERS = ("dev_databases", "databases", "database", "train_databases")


def read_bird_questions(path: Path) -> Placed:
    """Read the questions of a file."""
    return read_pairs(path, "SQL", "question_id")


def read_bird_tables(path: Path) -> dict[str, str]:
    """Read CREATE statements by database from a list of tables; empty for a file that is none."""
    found: dict[str, str] = {}
    for _, record in read_records(path):
        if isinstance(record, Mapping) and isinstance(record.get("db_id"), str):
            found[str(record["db_id"])] = write_table_list(record)
    return found
