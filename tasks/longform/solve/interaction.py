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
    """A query that an agent wrote, and what came of it."""

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
    """A step of an agent, in the order in which it was taken."""

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


def tell_statistics(interaction: Interaction) -> str:
    """Write the statistics that an agent had computed, one a line."""
    return "\n".join(taken.text for taken in interaction.steps if taken.kind == STATISTIC)


def find_gap(interaction: Interaction) -> str:
    """Say what an interaction lacks to be reviewed, a plan or an answer; empty if it lacks nothing."""
    if not interaction.plan.strip():
        return _explain("no plan", interaction)
    return find_no_answer(interaction)


def find_no_answer(interaction: Interaction) -> str:
    """Say that an interaction has no answer, and why; empty if it has one. White space is not an answer."""
    return "" if (interaction.answer or "").strip() else _explain("no answer", interaction)


def _explain(gap: str, interaction: Interaction) -> str:
    return f"{gap}: {interaction.problem}" if interaction.problem else gap
