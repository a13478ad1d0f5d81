"""Count the texts and questions per linguistic criterion at each stage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

AS_WRITTEN = ("", "same")
"""The values of `reading` that `CriterionYield.read` counts.

The value is empty for a text without a second reading, and `same` if the second reading has the same answers
as the text's groups.
"""


@dataclass(frozen=True)
class CriterionYield:
    """The numbers of rows of one criterion at each stage."""

    criterion: str
    written: int
    """The number of text templates that passed the rules."""
    confirmed: int
    """The number of text templates that passed the back-check."""
    read: int
    """The number of confirmed texts whose second reading has the same answers as the text's groups.

    If there is no second reading, all confirmed texts are counted.
    """
    unbalanced: int
    balanced: int
    """The number of questions in the balanced set. `unbalanced` counts the unbalanced set."""

    @property
    def rate(self) -> float | None:
        """The share of written texts that were confirmed; None if there are no written texts."""
        return self.confirmed / self.written if self.written else None


def count_yields(
    text_templates: Path, back_check: Path, second_reading: Path, unbalanced: Path, balanced: Path
) -> list[CriterionYield]:
    """Count rows per criterion in the five artifacts. Criteria are sorted by name."""
    paths = (text_templates, back_check, second_reading, unbalanced, balanced)
    steps = [_count_criteria(path, read=path == second_reading) for path in paths]
    names = sorted({name for step in steps for name in step})
    return [CriterionYield(name, *(step[name] for step in steps)) for name in names]


def count_distinct(sets: Path, column: str) -> int:
    """Count the distinct values of a column in a set of questions."""
    return len(pq.read_table(sets, columns=[column])[column].unique())


def count_same(second_reading: Path) -> int:
    """Count texts that have no second reading, or whose second reading has the same answers as their groups.

    A user-written text is kept even if its second reading has different answers, but this text is not
    counted.
    """
    return _count_criteria(second_reading, read=True).total()


def _count_criteria(path: Path, *, read: bool) -> Counter[str]:
    filters = [("reading", "in", AS_WRITTEN)] if read else None
    return Counter(pq.read_table(path, columns=["criterion"], filters=filters)["criterion"].to_pylist())
