"""Read dates of PostgreSQL that Python cannot hold as text: infinity, before Christ, after 9999."""

from __future__ import annotations

from datetime import date, datetime

from psycopg import Connection, DataError
from psycopg.abc import Buffer
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader


class _Date(DateLoader):
    def load(self, data: Buffer) -> date:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()  # type: ignore[return-value]  # the text stands for the date


class _Timestamp(TimestampLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()  # type: ignore[return-value]  # the text stands for the time


class _Timestamptz(TimestamptzLoader):
    def load(self, data: Buffer) -> datetime:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()  # type: ignore[return-value]  # the text stands for the time


def read_odd_dates(connection: Connection[object]) -> None:
    """Have a connection give such dates as text, instead of an error for the whole result."""
    connection.adapters.register_loader("date", _Date)
    connection.adapters.register_loader("timestamp", _Timestamp)
    connection.adapters.register_loader("timestamptz", _Timestamptz)
