"""Inputs of a question set: the artifacts of a source database, and questions by a scripted model."""

import asyncio
import json
from pathlib import Path

from tasks.artifacts.parquet import write_rows
from tasks.databases.profile.kinds import ColumnRules
from tasks.longform.build.columns import columns
from tasks.longform.build.conjecture import ConjectureSettings
from tasks.longform.build.control import Control, ControlledQuestion, control
from tasks.longform.build.foci import Foci, Focus, foci
from tasks.longform.build.seeds import seeds
from tasks.longform.build.source_columns import SourceColumn, source_columns
from tasks.longform.build.source_rows import WholeRow, source_rows
from tasks.longform.entries import LongformSet, SourceDatabase
from tests.longform.by_grammar import write_by_grammar
from tests.longform.scripted_judges import Asked, ScriptedJudges

SET = LongformSet(databases=("kennel",))
GUESSED = ConjectureSettings()


def read_source(database: SourceDatabase) -> list[SourceColumn]:
    """Profile a database, and read its columns."""
    profiles = columns(database, database.file.stem, ColumnRules()).rows
    return list(source_columns(database, list(profiles)).rows)


def write_sources(database: SourceDatabase, root: Path) -> Path:
    """Write the artifacts of a database into a folder with its name, like the first four stages."""
    folder = root / database.file.stem
    folder.mkdir(parents=True)
    own = read_source(database)
    found = list(foci(database, own, Foci()).rows)
    write_rows(folder / "source_columns.parquet", SourceColumn, own)
    write_rows(folder / "foci.parquet", Focus, found)
    write_rows(folder / "source_rows.parquet", WholeRow, source_rows(database, own, found).rows)
    database.questions.write_text(json.dumps(["Which dogs are  heavy?", "Which dogs are heavy?", "?" * 999]))
    seeds(database, folder / "seeds.json")
    return root


def reply(asked: Asked) -> str:
    """Reply like a model with grammar-constrained decoding."""
    if asked.prompt == "confirm":
        return "Verdict: 1 Yes\nVerdict: 2 Yes\nVerdict: 3 Yes"
    if asked.prompt == "classify":
        return "Kind: Interpretive"
    return write_by_grammar(asked.grammar)


def write_questions(
    sources: Path, ask: ScriptedJudges, count: int = 9, seed: int = 0, database: str = "kennel"
) -> list[ControlledQuestion]:
    """Write the questions of a set on one database."""
    entry = LongformSet(databases=(database,), questions=count, seed=seed)
    return list(asyncio.run(control(sources, entry, Control(), ask)).rows)
