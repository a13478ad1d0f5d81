"""Spider (Yu et al., 2018; CC BY-SA 4.0) in its published layout: databases, and questions with their SQL.

`tables.json` lists the databases, `database/<id>/<id>.sqlite` holds them; `dev.json`, `train_spider.json` and
their like hold questions, each with the database's `db_id`, the `question` and its `query`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput

MARKER = "tables.json"
TEST_MARKER = "test_tables.json"
"""Of the databases that only the test split is about; the release of 2024 has it."""
SPLITS = {
    "dev.json": "dev",
    "train_spider.json": "train",
    "train_others.json": "train",
    "train.json": "train",
    "test.json": "test",
}
"""File of questions -> its split."""
FOLDERS = ("database", "test_database")
LICENCE = "CC BY-SA 4.0"
ATTRIBUTION = "Spider (Yu et al., 2018)"


@dataclass(frozen=True)
class SpiderQuestion:
    """A question of Spider's. id: split, number in its file from 0 on, as `dev-12`."""

    id: str
    split: str
    database: str
    question: str
    query: str


@dataclass(frozen=True)
class Release:
    """What a release holds.

    databases: id -> its SQLite file, None where that is missing. problems: what cannot be read, a line each.
    """

    databases: Mapping[str, Path | None]
    questions: Sequence[SpiderQuestion]
    problems: Sequence[str]


def read_release(folder: Path) -> Release:
    """Read a release. Raises BadInput where tables.json or a file of questions is not what it must be."""
    ids = [str(table["db_id"]) for table in _read_list(folder / MARKER, ("db_id",))]
    if (folder / TEST_MARKER).is_file():
        ids += [str(table["db_id"]) for table in _read_list(folder / TEST_MARKER, ("db_id",))]
    databases = {name: _find_database(folder, name) for name in dict.fromkeys(ids)}
    questions: list[SpiderQuestion] = []
    problems: list[str] = []
    for file, split in SPLITS.items():
        if (folder / file).is_file():
            for question, problem in _read_questions(folder / file, split, databases):
                questions += [question] if question else []
                problems += [problem] if problem else []
    return Release(databases, questions, problems)


def _find_database(folder: Path, name: str) -> Path | None:
    if Path(name).name != name:
        raise BadInput(folder / MARKER, f"names a database {name[:80]!r}, which is no name")
    places = (folder / part / name / f"{name}.sqlite" for part in FOLDERS)
    return next((place for place in places if place.is_file()), None)


def _read_questions(
    path: Path, split: str, databases: Mapping[str, object]
) -> Iterator[tuple[SpiderQuestion | None, str]]:
    """Yield each question, or what is wrong with it."""
    for number, record in enumerate(_read_list(path, ())):
        texts = [record.get(name) for name in ("db_id", "question", "query")]
        where = f"{path.name}, question {number}"
        if not all(isinstance(text, str) and text.strip() for text in texts):
            yield None, f"{where}: has no db_id, question or query"
        elif texts[0] not in databases:
            yield None, f"{where}: is about {str(texts[0])[:80]!r}, which {MARKER} does not have"
        else:
            name, question, query = (" ".join(str(text).split()) for text in texts)
            yield SpiderQuestion(f"{path.stem}-{number}", split, name, question, query), ""


def _read_list(path: Path, needed: Sequence[str]) -> list[dict[str, object]]:
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(path, f"cannot be read as JSON: {' '.join(str(error).split())}") from error
    if not isinstance(records, list):
        raise BadInput(path, "holds no list of records")
    for number, record in enumerate(records):
        if not isinstance(record, dict) or any(not isinstance(record.get(name), str) for name in needed):
            raise BadInput(
                path, f"record {number} is none of Spider's", hint=", ".join(needed) or "an object"
            )
    return records
