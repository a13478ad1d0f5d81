"""The sequential agent: one plan, all queries from it without seeing a result, the answer (section 3)."""

from __future__ import annotations

from functools import partial

from tasks.longform.solve.answering import write_answer
from tasks.longform.solve.replies import (
    PLAN_PARTS,
    STATISTIC_TOKENS,
    make_plan_grammar,
    make_queries_grammar,
    parse_plan,
    parse_queries,
)
from tasks.longform.solve.session import AgentSession
from tasks.longform.solve.tools import offer_queries

TOKENS_PER_WORD = 2
"""Names of columns take more tokens than words do."""


async def work_sequentially(session: AgentSession) -> str | None:
    """Plan, write and run all queries, then answer.

    Without a readable plan the queries are written from the question alone, and without queries the answer
    is: what a model cannot do shows in the quality of its answer (section 4.3).
    """
    plan = await _write_plan(session)
    if plan is not None:
        session.plan = plan
        session.note("plan", plan)
    await _run_queries(session)
    return await write_answer(session, session.plan)


async def _write_plan(session: AgentSession) -> str | None:
    params = session.params
    return await session.ask(
        "agent_plan",
        {
            "database": session.describe(session.measure_room()),
            "words": max(8, params.plan_tokens // len(PLAN_PARTS) // TOKENS_PER_WORD),
            "statistics": params.statistics,
        },
        parse=parse_plan,
        grammar=make_plan_grammar(params),
        max_tokens=params.plan_tokens,
    )


async def _run_queries(session: AgentSession) -> None:
    params = session.params
    queries = await session.ask(
        "agent_queries",
        {
            "database": session.describe(session.measure_room(session.plan)),
            "plan": session.plan,
            "queries": params.queries,
            "statistics": params.statistics,
        },
        parse=partial(parse_queries, statistics=params.statistics),
        grammar=make_queries_grammar(params),
        tools=offer_queries(statistics=params.statistics),
        max_tokens=(params.query_tokens + STATISTIC_TOKENS * params.statistics) * params.queries,
    )
    if queries is None:
        return
    if len(queries) > params.queries:
        over = len(queries) - params.queries
        session.leave_out([f"{over} of {len(queries)} queries, over the limit"])
    await session.run(queries[: params.queries])
