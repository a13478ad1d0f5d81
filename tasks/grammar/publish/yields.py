"""Count the texts and questions of each linguistic criterion, stage by stage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

AS_WRITTEN = ("", "same")
"""What `reading` says of texts that nobody read otherwise."""


@dataclass(frozen=True)
class CriterionYield:
    """The numbers of rows that one criterion has at each stage."""

    criterion: str
    written: int
    """Text templates that passed the rules."""
    confirmed: int
    """Those of them that passed the back-check."""
    read: int
    """Those of these that were read the same a second time; all of them if nobody reads."""
    unbalanced: int
    balanced: int
    """Numbers of questions in the two sets."""

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
    """Count the distinct values of a column of a set of questions."""
    return len(pq.read_table(sets, columns=[column])[column].unique())


def count_same(second_reading: Path) -> int:
    """Count the texts that were read the same a second time; a person's is kept if it was not."""
    return _count_criteria(second_reading, read=True).total()


def _count_criteria(path: Path, *, read: bool) -> Counter[str]:
    filters = [("reading", "in", AS_WRITTEN)] if read else None
    return Counter(pq.read_table(path, columns=["criterion"], filters=filters)["criterion"].to_pylist())
