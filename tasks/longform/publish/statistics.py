"""Stage: compute the statistics of a question set (Table 1 of the paper), and count drop reasons by stage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts, Dropped
from tasks.files import write_text
from tasks.longform.build.conclude import Conclusion
from tasks.longform.build.construct import SyntheticDatabase
from tasks.longform.build.control import ControlledQuestion
from tasks.longform.build.items import LongformItem
from tasks.longform.labels import CONCLUSIVE, INTERPRETIVE, UNREAD
from tasks.longform.solve.describe_database import read_script


def statistics(
    items: list[LongformItem],
    control: list[ControlledQuestion],
    construct: list[SyntheticDatabase],
    conclude: list[Conclusion],
    control_dropped: Path,
    condense_dropped: Path,
    confirm_dropped: Path,
    conjecture_dropped: Path,
    construct_dropped: Path,
    classify_dropped: Path,
    out: Path,
) -> Counts:
    """Write Table 1, the row counts of the building stages, and the drop reasons as JSON.

    Answer lengths are in words. Raises BadInput if a script does not run.
    """
    kept = {item.id for item in items}
    made = [database for database in construct if database.id in kept]
    dropped = {
        path.name.partition(".")[0]: dict(
            sorted(Counter(row.reason for row in read_rows(path, Dropped)).items())
        )
        for path in (
            control_dropped,
            condense_dropped,
            confirm_dropped,
            conjecture_dropped,
            construct_dropped,
            classify_dropped,
        )
    }
    figures = {
        "items": len(items),
        "by_kind": {
            kind: _describe([i for i in items if i.kind == kind]) for kind in (CONCLUSIVE, INTERPRETIVE)
        },
        "answer_words": _describe(items)["answer_words"],
        "databases": _measure_databases(made),
        "claims": sum(len(item.claims) for item in items),
        "borne_out": sum(all(database.borne_out) for database in made),
        "measures_borne_out": [
            sum(sum(database.borne_out) for database in made),
            sum(len(database.borne_out) for database in made),
        ],
        "rounds": sum(database.rounds for database in made),
        "written_by": {
            by: sum(answer.by == by for answer in conclude if answer.id in kept) for by in ("model", "plain")
        },
        "questions_written": len(control),
        "reviewed_by_people": sum(item.confirmed_by not in UNREAD for item in items),
        "dropped": dropped,
    }
    write_text(out, json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return Counts(len(items), len(items), {})


def _describe(items: Sequence[LongformItem]) -> dict[str, float | int | None]:
    words = [len(item.reference.split()) for item in items]
    return {"items": len(items), "answer_words": round(fmean(words), 1) if words else None}


def _measure_databases(made: Sequence[SyntheticDatabase]) -> dict[str, float | int | None]:
    """Compute the median number of tables per database, and of columns and rows per table."""
    databases = [read_script(database.script).tables for database in made]
    tables = [table for database in databases for table in database]
    return {
        "tables": _median([len(database) for database in databases]),
        "all_tables": len(tables),
        "columns_per_table": _median([len(table.columns) for table in tables]),
        "rows_per_table": _median([len(table.rows) for table in tables]),
    }


def _median(values: Sequence[float]) -> float | None:
    return round(float(median(values)), 2) if values else None
