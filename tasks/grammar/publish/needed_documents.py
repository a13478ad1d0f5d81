"""Count the documents that each question needs, and the distractors, which only look relevant."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq

from tasks.artifacts.card import CardSection

MANY = 4
"""The number of documents in the last row of the table. The last row counts all questions that need this many
documents or more."""


def describe_needed(questions: Path, documents: Path, fill_in: Path) -> CardSection | None:
    """Return a table with one row per number of needed documents.

    Each row contains the number of questions, and the median and maximum number of distractors per question.
    A distractor is a document that contains a value from the question as whole words, although the question
    does not need the document. Returns None if no question has known true documents.
    """
    asked = pq.read_table(questions, columns=["id", "group", "true_document_ids"]).to_pylist()
    known = [row for row in asked if row["true_document_ids"]]
    if not known:
        return None
    texts = dict(zip(*_read(documents, "id", "text"), strict=True))
    fillings = dict(zip(*_read(fill_in, "id", "fillings"), strict=True))
    saying: dict[str, frozenset[str]] = {}
    found: dict[int, list[int]] = defaultdict(list)
    for row in known:
        needed = set(row["true_document_ids"])
        values = [filling["value"] for filling in fillings[row["group"]]]
        for value in values:
            saying[value] = saying[value] if value in saying else _find_saying(value, texts)
        others = frozenset[str]().union(*(saying[value] for value in values)) - needed
        found[min(len(needed), MANY)].append(len(others))
    rows = [
        (f"{number} or more" if number == MANY else number, len(counts), f"{median(counts):g}", max(counts))
        for number, counts in sorted(found.items())
    ]
    unknown = len(asked) - len(known)
    return CardSection(
        "Documents that a question needs",
        ("documents", "questions", "distractors per question, median", "distractors per question, maximum"),
        [*rows, *([("unknown", unknown, "-", "-")] if unknown else [])],
        "A distractor is a document that the question does not need but that contains a value from the "
        "question.",
    )


def _read(path: Path, *columns: str) -> Sequence[Sequence[object]]:
    table = pq.read_table(path, columns=list(columns))
    return [table[column].to_pylist() for column in columns]


def _find_saying(value: str, texts: Mapping[str, str]) -> frozenset[str]:
    pattern = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)
    return frozenset(document for document, text in texts.items() if pattern.search(text))
