"""Define the entries of `longform.systems`, and the limits and judges of a user's system."""

from __future__ import annotations

from pydantic import Field

from tasks.databases.execution import QueryLimits
from tasks.settings import Settings


class OwnAgent(Settings):
    """One entry of `longform.systems`: the evaluation of your system on a question set."""

    set: str
    """The question set: a name under `longform.sets`."""
    system: str
    """Your system: a name under `systems`."""


class SystemLimits(Settings):
    """The settings in params.yaml under `longform.system_interactions`.

    These settings limit your system and select the judges of its answers.
    """

    queries: int = Field(default=16, gt=0)
    """Maximum number of queries that are run per answer of the system."""
    shown_rows: int = Field(default=8, gt=0)
    """Maximum number of rows in a query's result that reviewers see."""
    limits: QueryLimits = QueryLimits()
    judge: str = "judge"
    """The role that compares answers with the reference."""
    reviewer: str = "reviewer"
    """The role of reviewers and meta-reviewers."""
    reviewers: int = Field(default=3, gt=0)
    """Number of reviewers per answer."""
    meta_reviewers: int = Field(default=3, gt=0)
    """Number of meta-reviewers per answer."""
