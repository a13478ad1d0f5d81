"""Return, as text, PostgreSQL dates and times that Python cannot represent, such as 44 BC or infinity."""

from __future__ import annotations

from psycopg import Connection, DataError
from psycopg.abc import Buffer, Loader
from psycopg.types import datetime as own

LOADERS: dict[str, type[Loader]] = {
    "date": own.DateLoader,
    "time": own.TimeLoader,
    "timetz": own.TimetzLoader,
    "timestamp": own.TimestampLoader,
    "timestamptz": own.TimestamptzLoader,
    "interval": own.IntervalLoader,
}
"""PostgreSQL type -> psycopg's loader. The loader raises an error for values that Python cannot represent."""


def read_odd_dates(connection: Connection[object]) -> None:
    """Configure a connection to return dates and times as text if Python cannot represent them."""
    for name, loader in LOADERS.items():
        connection.adapters.register_loader(name, _make_lenient(loader))


def _make_lenient(loader: type[Loader]) -> type[Loader]:
    class Lenient(loader):  # type: ignore[misc, valid-type]  # a class that is known at run time alone
        def load(self, data: Buffer) -> object:
            try:
                return super().load(data)
            except (DataError, OverflowError):
                return bytes(data).decode()

    return Lenient
