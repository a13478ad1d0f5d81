"""Encode tables for a page's record: every figure with the rows that it was computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

from tasks.lineage.derivation import Derivation
from tasks.lineage.figures import encode_figure

APART = ("value", "basis", "why")
"""Fields of a cell that are encoded in a way of their own."""


class RecordedCell(Protocol):
    """A figure, a dataclass. value: None if it is not defined; then `why` says the reason."""

    @property
    def value(self) -> int | float | None: ...  # noqa: D102 - see the class
    @property
    def why(self) -> str: ...  # noqa: D102
    @property
    def basis(self) -> Derivation | None: ...  # noqa: D102


class RecordedLine(Protocol):
    """A line of a table: as many cells as the table has columns."""

    @property
    def label(self) -> Sequence[str]: ...  # noqa: D102 - see the class
    @property
    def cells(self) -> Sequence[RecordedCell]: ...  # noqa: D102


class RecordedTable(Protocol):
    """A table of a report."""

    @property
    def title(self) -> str: ...  # noqa: D102 - see the class
    @property
    def columns(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def lines(self) -> Sequence[RecordedLine]: ...  # noqa: D102


def encode_tables(tables: Mapping[str, RecordedTable]) -> list[dict[str, object]]:
    """Encode tables by key, in their order."""
    return [
        {
            "key": key,
            "title": table.title,
            "lines": [
                {
                    "label": " · ".join(filter(None, line.label)),
                    "cells": [
                        encode_cell(column, cell)
                        for column, cell in zip(table.columns, line.cells, strict=True)
                    ],
                }
                for line in table.lines
            ],
        }
        for key, table in tables.items()
    ]


def encode_cell(column: str, cell: RecordedCell) -> dict[str, object]:
    """Encode a cell; one without a value says why, and is no figure."""
    if cell.value is None:
        return {"step": column, "why": cell.why}
    own: Any = cell
    more = {field.name: getattr(cell, field.name) for field in fields(own) if field.name not in APART}
    return {"step": column, **encode_figure(cell.value, cell.basis), **more}
