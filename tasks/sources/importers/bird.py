"""Import BIRD (Li et al., 2023; CC BY-SA 4.0) from its published layout.

`dev.json` contains `question_id`, `db_id`, `question` and `SQL`. The databases are
`dev_databases/<id>/<id>.sqlite`, and `dev_tables.json` describes their tables. The field `evidence` is not
read (STREAMBENCH, section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tasks.sources.base_importer import option
from tasks.sources.json_records import read_records
from tasks.sources.sql_importer import SqlImporter
from tasks.sources.sql_questions import Placed, read_pairs, write_table_list
from tasks.sources.stream_dataset import tidy_line

TABLES = ("dev_tables.json", "tables.json", "train_tables.json", "mini_dev_sqlite_schema.json")


class Bird(SqlImporter):
    """Import BIRD's development split as a dataset for streambench.

    Example: benchloom import bird dev --databases dev/dev_databases
    """

    name = "bird"
    title, licence, source = "BIRD", "CC BY-SA 4.0", "https://bird-bench.github.io"
    files = ("dev.json", "mini_dev_sqlite.json")
    train = ("train.json",)
    database_folders = ("dev_databases", "databases", "database", "train_databases")

    keep: bool = option("Keep questions without a database; they are asked but not judged.", default=False)

    def read_questions(self, path: Path) -> Placed:
        """Yield the questions of a file."""
        return read_pairs(path, "SQL", "question_id")

    def read_schemas(self) -> Mapping[str, str]:
        """Return database id -> CREATE statements; if two files describe a database, the first is used."""
        return {name: text for file in reversed(self.tables) for name, text in read_bird_tables(file).items()}

    def list_read(self) -> Sequence[Path]:
        """List the split files and the table descriptions, whose checksums the dataset stores."""
        return [*super().list_read(), *self.tables]

    @cached_property
    def tables(self) -> list[Path]:
        """Return the existing files that describe tables."""
        return [self.folder / name for name in TABLES if (self.folder / name).is_file()]


def read_bird_tables(path: Path) -> dict[str, str]:
    """Return database id -> CREATE statements, read from a list of databases or an object (id -> database).

    The result is empty for any other file content.
    """
    found: dict[str, str] = {}
    for _, record in read_records(path):
        own = record if isinstance(record, Mapping) else {}
        if isinstance(own.get("db_id"), str):
            found[str(own["db_id"])] = write_table_list(own)
            continue
        for name, database in own.items():
            if isinstance(database, Mapping) and isinstance(database.get("tables"), Mapping):
                found[name] = _write_tables(database["tables"])
    return found


def _write_tables(tables: Mapping[str, object]) -> str:
    """Return CREATE statements for tables; `tables` maps each name to a list of columns."""
    statements = []
    for name, table in tables.items():
        columns = table.get("columns") if isinstance(table, Mapping) else None
        lines = [
            f'  "{tidy_line(column.get("name"))}" {tidy_line(column.get("type"))}'.rstrip()
            for column in (columns if isinstance(columns, list) else [])
            if isinstance(column, Mapping)
        ]
        statements.append(f'CREATE TABLE "{tidy_line(name)}" (\n' + ",\n".join(lines) + "\n);")
    return "\n\n".join(statements)
