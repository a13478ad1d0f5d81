"""Parameters of the agents: `longform.interactions` in params.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tasks.databases.execution import QueryLimits


class AgentLimits(BaseModel):
    """Parameters of the stage `longform.interactions`: how much agents may ask, see and write."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: int = Field(default=3, gt=0)
    """Maximum number of queries of the sequential agent."""
    rounds: int = Field(default=3, gt=0)
    """Maximum number of rounds of the iterative agent, each with one query."""
    shown_rows: int = Field(default=8, gt=0)
    """Maximum number of rows of a result that an agent is shown."""
    records_tokens: int = Field(default=2200, gt=0)
    """Maximum size of the records that the agent without queries is shown; a larger database is not asked."""
    prompt_tokens: int = Field(default=3200, gt=0)
    """Maximum size of a prompt, by `estimate_tokens`; the rest of the window is for the reply."""
    plan_tokens: int = Field(default=160, gt=0)
    """Maximum length of a plan, and of the reasoning before the answer of the agent without queries."""
    query_tokens: int = Field(default=120, gt=0)
    """Maximum length of one query."""
    answer_tokens: int = Field(default=160, gt=0)
    answer_words: int = Field(default=80, gt=0)
    """What agents are told about the length of an answer."""
    statistics: bool = False
    """Whether agents that query may also ask for correlations, regressions and quantiles."""
    at_once: int = Field(default=200, gt=0)
    """Maximum number of items under way, which bounds memory; each round of a batch has no more of them."""
    limits: QueryLimits = QueryLimits()
