"""Define the entries of `longform.databases`, `longform.sets` and `longform.evaluations` in params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from tasks.distinct import Names, check_distinct
from tasks.judging.human_labels import LabelFile
from tasks.settings import Settings

AgentName = Literal["none", "sequential", "iterative", "guess"]


class MeasureWords(Settings):
    """The words that questions use for a numeric column."""

    name: str = ""
    """The column's name in questions, such as `Metacritic score`. If empty, questions use the column's name
    without the unit."""
    more: str = ""
    """Words for rows with a higher value, such as `score higher on Metacritic`."""
    negative: str = ""
    """The word for negative amounts, such as `early` for a delay. If empty, amounts keep the minus sign."""


class SourceDatabase(Settings):
    """One entry of `longform.databases`: a source of schemas and rows."""

    file: Path
    """A SQLite file, the source of the schema and of the rows for the groups in questions."""
    questions: Path
    """A JSON file with a list of the database's questions, as examples for the model."""
    columns: Mapping[str, str] = {}
    """Map each column that the profile misclassifies to the right kind, as in `databases.<name>.columns`."""
    words: Mapping[str, str] = {}
    """Map tables with unclear names to the word for their rows."""
    groups: Mapping[str, str] = {}
    """Map `table.group` to the phrase for membership, with `{}` for the value: `directed by {}`. An empty
    string excludes the group. The default is `whose <group> is {}`."""
    measures: Mapping[str, MeasureWords | None] = {}
    """Map `table.column` to the words for the column; null excludes the column."""
    qualities: Mapping[str, Annotated[tuple[str, ...], Field(min_length=1)]] = {}
    """Map abstract words (`have been more successful`) to the columns that measure what the words mean.

    The prefix `-` marks a column in which a lower value is better. Open questions use the abstract words.
    """

    @field_validator("groups")
    @classmethod
    def _check_groups(cls, groups: Mapping[str, str]) -> Mapping[str, str]:
        for name, phrase in groups.items():
            if phrase and phrase.count("{}") != 1:
                raise ValueError(f"{name}: {phrase!r} must have one {{}} where the value goes")
        return groups


class LongformSet(Settings):
    """An entry of `longform.sets`: questions over some databases."""

    databases: Names
    """The databases: names under `longform.databases`."""
    questions: int = Field(default=6, gt=0)
    """Number of questions to request per database. Later stages may drop some questions."""
    seed: int = 0
    """The seed for choosing and ordering the questions."""


class MorePeers(Settings):
    """A larger number of reviewers for some of the items."""

    items: int = Field(gt=0)
    """Number of items that get more reviewers: the first items by id."""
    reviewers: int = Field(gt=0)
    """Number of reviewers per answer of these items."""
    meta_reviewers: int = Field(gt=0)
    """Number of meta-reviewers per answer of these items."""


class AgentEvaluation(Settings):
    """An entry of `longform.evaluations`: a question set, the answering agents and models, and the judges."""

    set: str
    """The question set: a name under `longform.sets`."""
    agents: Annotated[tuple[AgentName, ...], Field(min_length=1), AfterValidator(check_distinct)] = (
        "none", "sequential", "iterative", "guess",
    )  # fmt: skip
    """The agents to run: `none` (no queries), `sequential`, `iterative`, and `guess`
    (sees the schema only)."""
    models: Names = ("agent",)
    """The models that run the agents: names under `roles:`."""
    judge: str = "judge"
    """The role that compares answers with the reference."""
    reviewer: str = "reviewer"
    """The role of reviewers and meta-reviewers."""
    reviewers: int = Field(default=3, gt=0)
    """Number of reviewers per answer."""
    meta_reviewers: int = Field(default=3, gt=0)
    """Number of meta-reviewers per answer."""
    more: MorePeers | None = None
    """A larger number of reviewers for some of the items; null uses the same number for all items."""
    labels: LabelFile | None = None
    """A file in data/labels with human labels for answers and steps. The columns are id, label and, if
    several people labelled, rater."""

    def count_peers(self, rank: int) -> tuple[int, int]:
        """Return (reviewers, meta-reviewers): the number of each for an answer to an item.

        rank: the item's rank by id, from 0.
        """
        if self.more is not None and rank < self.more.items:
            return self.more.reviewers, self.more.meta_reviewers
        return self.reviewers, self.meta_reviewers
