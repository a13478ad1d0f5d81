"""An interaction: what an agent, or a system of the user, did with an item."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

STATISTIC = "statistic"
"""The kind of an agent's step that had a statistic computed."""
UNFIT = "records do not fit"
"""How a problem of the agent `none` begins whose records are too many for its prompt."""


@dataclass(frozen=True)
class AgentStatistic:
    """A statistic of a query's result that an agent asked for, and what came of it."""

    request: str
    """Such as `pearson(seats, concerts)`: its kind, and columns of the result."""
    figures: str
    """By name, as JSON; of a whole result, also where the agent was shown fewer rows."""
    error: str
    """Why there are none; empty where there are."""


@dataclass(frozen=True)
class AgentQuery:
    """One query that an agent wrote, and what came of it."""

    sql: str
    columns: tuple[str, ...]
    rows: str
    """The rows as the agent was shown them, as JSON: a list of lists."""
    n_rows: int
    """Rows of the result in all."""
    error: str
    """Why there is no result; empty where there is one."""
    statistics: tuple[AgentStatistic, ...] = ()


@dataclass(frozen=True)
class AgentStep:
    """One step of an agent, in the order in which it was taken."""

    kind: str
    """`plan`, `need`, `query`, `statistic`, `reasoning` or `answer`"""
    text: str


@dataclass(frozen=True)
class Interaction:
    """Stage interactions: what one agent did with one item."""

    id: str
    item: str
    agent: str
    """`none`, `sequential`, `iterative`, `guess`, or `system` for one of the user's"""
    model: str
    """The role that the agent was asked as; of a system its name."""
    plan: str
    """Its plan; of the iterative agent the needs one after the other; empty for `none` and `guess`."""
    queries: tuple[AgentQuery, ...]
    answer: str | None
    """None if it gave none; `problem` says why."""
    steps: tuple[AgentStep, ...]
    left_out: tuple[str, ...]
    """What its prompts did not have for lack of room: tables, rows of a result."""
    problem: str
    origin: tuple[Origin, ...]
