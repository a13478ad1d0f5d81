"""Import CoSQL (Yu et al., 2019; CC BY-SA 4.0) from its published layout: dialogues of questions.

`sql_state_tracking/cosql_dev.json` (or `dev.json`) contains dialogues with `database_id` and `interaction`, a
list of turns with `utterance` and `query`. StreamBench flattens the turns into pairs (STREAMBENCH, appendix
F.2.2). The tokens of a query are separated by spaces; `> =` is not valid SQL and is joined into `>=`, except
in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tasks.sources.json_records import BrokenRecord, read_records
from tasks.sources.sql_importer import SqlImporter
from tasks.sources.sql_questions import Placed, make_question
from tasks.sources.stream_dataset import LeftOutRecord

SPLIT = re.compile(r"""('[^']*'|"[^"]*")|([<>!])\s+=""")


class Cosql(SqlImporter):
    """Import CoSQL as a dataset for streambench. Each turn of a dialogue becomes a question.

    Example: benchloom import cosql cosql_dataset.zip
    """

    name = "cosql"
    title, licence, source = "CoSQL", "CC BY-SA 4.0", "https://yale-lily.github.io/cosql"
    files = ("cosql_dev.json", "dev.json", "cosql_dev.jsonl")
    train = ("cosql_train.json", "train.json")
    database_folders = ("database", "../database")
    """Folders to search for databases. In the release, the databases are in the parent folder of the splits.
    """

    def read_questions(self, path: Path) -> Placed:
        """Yield the turns of all dialogues; the key `dev-3-1` joins file, dialogue index and turn index."""
        for count, (where, record) in enumerate(read_records(path)):
            if isinstance(record, BrokenRecord):
                yield where, LeftOutRecord("broken", record.why)
                continue
            own = record if isinstance(record, Mapping) else {}
            turns = own.get("interaction")
            if not isinstance(turns, list) or not turns:
                yield where, LeftOutRecord("incomplete", f"{path.stem}-{count}: no interaction")
                continue
            for number, turn in enumerate(turns):
                pair = turn if isinstance(turn, Mapping) else {}
                key = f"{path.stem}-{count}-{number}"
                asked = make_question(
                    key, own.get("database_id"), pair.get("utterance"), join_tokens(pair.get("query"))
                )
                yield f"{where}, turn {number + 1}", asked


def join_tokens(query: object) -> object:
    """Join `> =`, `< =` and `! =` in a query into one operator each, except in quotes.

    Values that are not text are returned unchanged.
    """
    if not isinstance(query, str):
        return query
    return SPLIT.sub(lambda found: found[1] or f"{found[2]}=", query)
