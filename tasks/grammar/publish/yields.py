"""Count the texts and questions of each linguistic criterion, stage by stage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

AS_WRITTEN = ("", "same")
"""The values of `reading` for texts whose reading gave the same answers, and for texts that were not read."""


@dataclass(frozen=True)
class CriterionYield:
    """The numbers of rows of one criterion at each stage."""

    criterion: str
    written: int
    """The text templates that passed the rules."""
    confirmed: int
    """The written texts that passed the back-check."""
    read: int
    """The confirmed texts whose second reading gave the same answers.

    If nobody reads, these are all confirmed texts.
    """
    unbalanced: int
    balanced: int
    """`unbalanced` and `balanced` are the numbers of questions in the two sets."""

    @property
    def rate(self) -> float | None:
        """The share of written texts that was confirmed; None if none was written."""
        return self.confirmed / self.written if self.written else None


def count_yields(
    text_templates: Path, back_check: Path, second_reading: Path, unbalanced: Path, balanced: Path
) -> list[CriterionYield]:
    """Count rows per criterion in the five artifacts; criteria are sorted by name."""
    paths = (text_templates, back_check, second_reading, unbalanced, balanced)
    steps = [_count_criteria(path, read=path == second_reading) for path in paths]
    names = sorted({name for step in steps for name in step})
    return [CriterionYield(name, *(step[name] for step in steps)) for name in names]


def count_distinct(sets: Path, column: str) -> int:
    """Count the distinct values of a column in a set of questions."""
    return len(pq.read_table(sets, columns=[column])[column].unique())


def count_same(second_reading: Path) -> int:
    """Count the texts whose second reading gave the same answers.

    A person's text is kept even if its reading gave other answers, but such a text is not counted.
    """
    return _count_criteria(second_reading, read=True).total()


def _count_criteria(path: Path, *, read: bool) -> Counter[str]:
    filters = [("reading", "in", AS_WRITTEN)] if read else None
    return Counter(pq.read_table(path, columns=["criterion"], filters=filters)["criterion"].to_pylist())
