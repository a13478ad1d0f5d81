"""What pages read of a JSON file of figures: warnings and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.reports.figure_cells import FigureTable


@dataclass(frozen=True)
class FileOfTables:
    """`evaluation_figures.json`; what else it has is ignored. tables: by key, such as `5-released`."""

    tables: Mapping[str, FigureTable]
    warnings: tuple[str, ...] = ()


def read_file_of_tables(path: Path) -> FileOfTables:
    """Read a file. Raises BadInput if it is missing, or of another form."""
    try:
        return _TABLES.validate_python(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInput(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (OSError, ValueError) as error:
        raise BadInput(path, "is no JSON file", hint=f"run the stage {path.stem}") from error


_TABLES = TypeAdapter(FileOfTables)
