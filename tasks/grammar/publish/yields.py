"""How many texts and questions each linguistic criterion came to, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tasks.artifacts.statistics import name_beside


@dataclass(frozen=True)
class CriterionYield:
    """One criterion's way through the stages, in rows."""

    criterion: str
    written: int
    """Text templates that hold what they must."""
    confirmed: int
    """Those of them that the back-check read as meant."""
    unbalanced: int
    balanced: int
    """Questions in the two sets."""

    @property
    def rate(self) -> float | None:
        """The share of written texts that was confirmed; None where none was written."""
        return self.confirmed / self.written if self.written else None


def count_yields(
    text_templates: Path, back_check: Path, unbalanced: Path, balanced: Path
) -> list[CriterionYield]:
    """Count rows per criterion in the four artifacts, criteria by name."""
    steps = [_count_criteria(path) for path in (text_templates, back_check, unbalanced, balanced)]
    names = sorted({name for step in steps for name in step})
    return [CriterionYield(name, *(step[name] for step in steps)) for name in names]


def count_templates(sets: Path) -> int:
    """Count the distinct SQL templates that a set of questions rests on."""
    return len(set(pq.read_table(sets, columns=["sql_template"])["sql_template"].to_pylist()))


def describe_drops(artifacts: Iterable[Path]) -> list[dict[str, Any]]:
    """List every dropped row: artifact, id, reason, detail and origin, artifacts in their order."""
    drops = []
    for artifact in artifacts:
        path = name_beside(artifact, "dropped")
        if path.is_file():
            drops += [{"artifact": artifact.stem, **row} for row in pq.read_table(path).to_pylist()]
    return drops


def _count_criteria(path: Path) -> Counter[str]:
    return Counter(pq.read_table(path, columns=["criterion"])["criterion"].to_pylist())
