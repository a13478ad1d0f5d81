"""What the page reads of evaluation_figures.json, and its record's figures with their rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.lineage.figures import encode_figure
from tasks.streambench.publish.kind_tables import ConfusionMatrix
from tasks.streambench.publish.stream_cells import StreamCell, StreamTable


@dataclass(frozen=True)
class StreamFigures:
    """The artifact; what else it has is ignored."""

    stream: str
    kind: str
    methods: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    k: tuple[int, ...]
    warnings: tuple[str, ...]
    tables: Mapping[str, StreamTable]
    confusions: tuple[ConfusionMatrix, ...]


def read_stream_figures(path: Path) -> StreamFigures:
    """Read the artifact. Raises BadInput if it is missing, or of another form."""
    try:
        return _FIGURES.validate_python(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise BadInput(path, "is no JSON file", hint="run the stage evaluation_figures") from error


def encode_tables(figures: StreamFigures) -> list[dict[str, object]]:
    """Encode all tables for the page's record: each value with the rows that it was computed from."""
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
        for key, table in figures.tables.items()
    ]


def encode_cell(column: str, cell: StreamCell) -> dict[str, object]:
    """Encode a cell; one without a value says why, and is no figure."""
    if cell.value is None:
        return {"step": column, "why": cell.why}
    return {
        "step": column,
        **encode_figure(cell.value, cell.basis),
        "n": cell.n,
        "of": cell.of,
        "failed": cell.failed,
        "unjudged": cell.unjudged,
        "interval": cell.interval,
    }


_FIGURES = TypeAdapter(StreamFigures)
