"""What the page reads of evaluation_figures.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tasks.errors import BadInput
from tasks.streambench.publish.kind_tables import ConfusionMatrix
from tasks.streambench.publish.stream_cells import StreamTable


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


_FIGURES = TypeAdapter(StreamFigures)
