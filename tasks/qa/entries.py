"""Entries of the sections `qa.sets` and `qa.systems` of params.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tasks.qa.columns import QaColumns
from tasks.settings import Settings

Scoring = Literal["rules", "judge", "both"]


class QaSet(Settings):
    """An entry of `qa.sets`: a table of questions and answers."""

    file: Path
    """A CSV, TSV, JSON Lines or Parquet file, or a folder that the package `datasets` saved."""
    columns: QaColumns = QaColumns()
    """The columns of the item's fields; columns that are not named are guessed."""


class QaSystem(Settings):
    """An entry of `qa.systems`: a system, a set of questions, and the method for scoring the answers."""

    set: str
    """The question set: a name under `qa.sets`."""
    system: str
    """The system: a name under `systems`."""
    score: Scoring = "rules"
    """The scoring of answers: by `rules`, by the `judge`, or by `both`."""
    judge: str = "judge"
    """The judge: a name under `roles`; not used if `score` is `rules`."""
    contexts: bool = True
    """Whether an item's contexts are sent after its question."""

    @property
    def ruled(self) -> bool:
        """Whether rules score the answers."""
        return self.score != "judge"

    @property
    def judged(self) -> bool:
        """Whether the judge scores the answers."""
        return self.score != "rules"
