from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts
from tests.flows.trial.answers import Answer


def page(answers: Path, settings: Mapping[str, Any], limit: int | None, out: Path) -> Counts:
    """Write the answers with the settings that produced them."""
    rows = read_rows(answers, Answer)
    shown = rows[:limit]
    out.mkdir()
    (out / "page.txt").write_text("\n".join([repr(dict(settings)), *(row.text for row in shown)]))
    return Counts(len(rows), len(shown), {"cut": len(rows) - len(shown)})
