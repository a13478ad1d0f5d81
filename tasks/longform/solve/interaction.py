"""Define an interaction: the steps by which an agent or a user's system answers an item's question."""

from __future__ import annotations

from dataclasses import dataclass

from tasks.artifacts.rows import Origin

STATISTIC = "statistic"
"""The kind of a step in which a statistic was computed for the agent."""
UNFIT = "records do not fit"
"""Start of the problem text if the records are too long for the prompt of the agent `none`."""


@dataclass(frozen=True)
class AgentStatistic:
    """A statistic that an agent requested for a query's result, with the figures or an error."""

    request: str
    """The kind of statistic, and the columns of the result: `pearson(seats, concerts)`."""
    figures: str
    """The figures by name, as JSON.

    The figures cover all rows of the result, even if the agent saw fewer rows.
    """
    error: str
    """The reason why the statistic was not computed; empty if it was computed."""


@dataclass(frozen=True)
class AgentQuery:
    """A query that an agent wrote, with its result or an error."""

    sql: str
    columns: tuple[str, ...]
    rows: str
    """The rows that the agent saw, as JSON: a list of lists."""
    n_rows: int
    """The total number of rows in the result."""
    error: str
    """The reason why the query has no result; empty if it has a result."""
    statistics: tuple[AgentStatistic, ...] = ()


@dataclass(frozen=True)
class AgentStep:
    """One step of an agent. An interaction lists its steps in the order in which the agent took them."""

    kind: str
    """The kind of step: `plan`, `need`, `query`, `statistic`, `reasoning` or `answer`."""
    text: str


@dataclass(frozen=True)
class Interaction:
    """Row of the stage `interactions`: the work of one agent on one item."""

    id: str
    item: str
    agent: str
    """The agent: `none`, `sequential`, `iterative` or `guess`; `system` for a user's system."""
    model: str
    """The role whose model ran the agent, or the name of a user's system."""
    plan: str
    """The agent's plan.

    For the iterative agent, this is the list of information needs, one per line. For `none` and `guess`, the
    plan is empty.
    """
    queries: tuple[AgentQuery, ...]
    answer: str | None
    """The answer; None if the agent gave no answer, and `problem` then has the reason."""
    steps: tuple[AgentStep, ...]
    left_out: tuple[str, ...]
    """The omitted parts, such as a table that did not fit into a prompt, or queries over the limit."""
    problem: str
    origin: tuple[Origin, ...]


def tell_statistics(interaction: Interaction) -> str:
    """Write the statistics that were computed for an agent, one per line."""
    return "\n".join(taken.text for taken in interaction.steps if taken.kind == STATISTIC)


def find_gap(interaction: Interaction) -> str:
    """Describe the missing plan or answer of an interaction; empty if both are present.

    Reviewers judge only interactions with a plan and an answer.
    """
    if not interaction.plan.strip():
        return _explain("no plan", interaction)
    return find_no_answer(interaction)


def find_no_answer(interaction: Interaction) -> str:
    """Describe why an interaction has no answer; empty if there is an answer.

    Whitespace alone is not an answer.
    """
    return "" if (interaction.answer or "").strip() else _explain("no answer", interaction)


def _explain(gap: str, interaction: Interaction) -> str:
    return f"{gap}: {interaction.problem}" if interaction.problem else gap
