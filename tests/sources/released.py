"""A small StreamBench in the layout of the release: seven configurations, as Parquet and JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.sources.importers.streambench import DIAGNOSES
from tests.sources.published import CODE_CONTEXT, ask_size, make_sqlite, make_toolbench

SQL = ("spider", "cosql", "bird")
Rows = Sequence[Mapping[str, Any]]


def make_rows(count: int = 7) -> dict[str, dict[str, Rows]]:
    """Return the rows of all configurations: configuration -> split -> rows."""
    asked = [ask_size(number) for number in range(count)]
    cities = [
        {"question": text, "SQL": sql, "db_id": ("towns", "cities")[number % 2]}
        for number, (text, sql) in enumerate(asked)
    ]
    train = [
        {"question": f"Old {number}?", "SQL": f"SELECT {number}", "db_id": "gone"} for number in range(40)
    ]
    paragraphs = {"title": ["Ann", "Bo"], "sentences": [["Ann lives in Ulm.", " She sings."], ["Bo ran."]]}
    questions = [
        {
            "id": f"h{number}",
            "question": f"Where does Ann {number} live?",
            "answer": f"Town {number}",
            "type": "bridge",
            "level": "hard",
            "context": paragraphs,
            "supporting_facts": {"title": ["Ann"], "sent_id": [0]},
        }
        for number in range(count + 20)
    ]
    patients = [
        {"PATIENT_PROFILE": f"Age: {number}\nSex: F", "PATHOLOGY": DIAGNOSES[number % 49]}
        for number in range(60)
    ]
    return {
        **{
            # Only one configuration has two databases, since a separate process inspects each database.
            name: {
                "test": cities if name == "bird" else [{**row, "db_id": "cities"} for row in cities],
                "train": train,
            }
            for name in SQL
        },
        "ds_1000": {
            "test": [
                {
                    "prompt": f"Problem:\nDouble {number}.",
                    "reference_code": "result = x * 2",
                    "code_context": CODE_CONTEXT.format(number=number),
                    "metadata": {"problem_id": number, "library": "Numpy"},
                }
                for number in range(count)
            ]
        },
        "toolbench": {
            "test": [
                {
                    "query": f"{number} days on?",
                    "api_name": "add_date",
                    "api_input": json.dumps({"days": number}),
                }
                for number in range(count)
            ]
        },
        "ddxplus": {"test": patients[:count], "validate": patients[count:]},
        "hotpotqa_distract": {"validation": questions[:count], "train": questions[count:]},
    }


def write_split(folder: Path, split: str, rows: Rows, *, parquet: bool) -> None:
    """Write a split like `datasets`: two Parquet files, or JSON Lines."""
    folder.mkdir(parents=True, exist_ok=True)
    if not parquet:
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        name = f"{split}-{number:05}-of-00002.parquet"
        pq.write_table(pa.Table.from_pylist([dict(row) for row in part]), folder / name)


def make_released(
    folder: Path, *, parquet: Collection[str], rows: Mapping[str, Mapping[str, Rows]] | None = None
) -> Path:
    """Write the release with databases and ToolBench's descriptions. parquet: configurations in Parquet."""
    for configuration, splits in (rows or make_rows()).items():
        for split, listed_split in splits.items():
            write_split(folder / configuration, split, listed_split, parquet=configuration in parquet)
    for name in ("cities", "towns"):
        make_sqlite(folder.parent / f"databases/{name}/{name}.sqlite")
    make_toolbench(folder.parent / "ste")
    return folder
