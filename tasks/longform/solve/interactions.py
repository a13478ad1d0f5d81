"""Stage: have every agent answer every item with every model.

Two agents query the database (section 3 of the paper), and two do not (section 4.1 and Figure 2 of the
paper).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.databases.scratch.scratch import write_database
from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.solve.describe_database import (
    Database,
    describe_database,
    describe_records,
    read_database,
)
from tasks.longform.solve.interaction import UNFIT, Interaction
from tasks.longform.solve.replies import (
    ENOUGH,
    NEED_TOKENS,
    PLAN_PARTS,
    STATISTIC_TOKENS,
    AgentLimits,
    Round,
    make_answer_grammar,
    make_plan_grammar,
    make_queries_grammar,
    make_round_grammar,
    offer_queries,
    offer_round,
    parse_plan,
    parse_queries,
    parse_reasoned,
    parse_round,
)
from tasks.longform.solve.session import AgentSession, FoundResult
from tasks.models.ask import Ask

NO_LIMIT = "as many as that takes"
"""The prompt's wording for an unlimited number of queries."""
TOKENS_PER_WORD = 2
"""Tokens per word of a plan. The number is high because column names take more tokens than ordinary words."""
Agent = Callable[[AgentSession], Awaitable[str | None]]
"""An agent: a function that works on an item through a session, and returns its answer or None.

After the agent returns, the session contains the agent's calls, queries, steps and failures.
"""


async def interactions(
    items: list[LongformItem], entry: AgentEvaluation, params: AgentLimits, ask: Ask
) -> Drafts[Interaction]:
    """Have every agent of an evaluation answer every item with every model.

    The result has one row per item, agent and model. If an agent gave no answer, `answer` is None and
    `problem` has the reason.
    """
    under_way = asyncio.Semaphore(params.at_once)

    async def work_on(item: LongformItem) -> list[Interaction]:
        async with under_way:
            with TemporaryDirectory(prefix="benchloom-item-") as folder:
                database = open_item(item, Path(folder) / "item.sqlite")
                return await asyncio.gather(
                    *(
                        interact(item, database, agent, model, params, ask)
                        for model in entry.models
                        for agent in entry.agents
                    )
                )

    # The requests about one item are sent together, because they begin with the same database description.
    worked = await asyncio.gather(*map(work_on, items))
    return Drafts([row for rows in worked for row in rows])


def open_item(item: LongformItem, file: Path) -> Database:
    """Write an item's database to a file and read its tables."""
    write_database(item.script, file)
    return read_database(file)


async def interact(
    item: LongformItem, database: Database, agent: str, model: str, params: AgentLimits, ask: Ask
) -> Interaction:
    """Have one agent answer one item. agent: a name in AGENTS. model: a role."""
    row = make_id(item.id, agent, model)
    session = AgentSession(row, model, item.question, database, params, ask)
    answer = await AGENTS[agent](session)
    return Interaction(
        id=row,
        item=item.id,
        agent=agent,
        model=model,
        plan=session.plan,
        queries=session.queries,
        answer=answer,
        steps=tuple(session.steps),
        left_out=tuple(session.left_out),
        problem="; ".join(session.problems),
        origin=(
            Origin("row", f"items#{item.id}"),
            *(Origin("call", call) for call in dict.fromkeys(session.calls)),
        ),
    )


async def work_alone(session: AgentSession) -> str | None:
    """Answer from all records of the database, after a chain of thought (agent `none`).

    If the records do not fit into the prompt, no request is sent, and the session records a problem.
    """
    params = session.params
    records = quote_data(describe_records(session.database.tables))
    size, room = estimate_tokens(records), min(params.records_tokens, session.measure_room())
    if size > room:
        session.problems.append(f"{UNFIT}: {size:.0f} of {room:.0f} tokens")
        session.leave_out(f"records of {table.name}" for table in session.database.tables)
        return None
    reply = await session.ask(
        "agent_alone",
        {
            "records": records,
            "thought_words": max(8, params.plan_tokens // 2),
            "words": params.answer_words,
        },
        parse=parse_reasoned,
        grammar=make_answer_grammar(params, reasoning=True),
        max_tokens=params.plan_tokens + params.answer_tokens,
    )
    if reply is None:
        return None
    reasoning, answer = reply
    if reasoning:
        session.note("reasoning", reasoning)
    session.note("answer", answer)
    return answer


async def guess_answer(session: AgentSession) -> str | None:
    """Answer from only the question and the schema (agent `guess`, the reference line of Figure 2)."""
    return await session.answer(
        "agent_guess", {"database": session.describe(session.measure_room(), samples=0)}
    )


async def work_sequentially(session: AgentSession) -> str | None:
    """Plan, then write and run all queries without seeing a result, then answer (agent `sequential`).

    Without a plan, the model writes the queries from only the question. Without queries, the model writes the
    answer without results. The quality of the answer therefore reflects each failure (section 4.3 of the
    paper).
    """
    plan = await _write_plan(session)
    if plan is not None:
        session.plan = plan
        session.note("plan", plan)
    await _run_queries(session)
    return await _synthesize(session, session.plan)


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
    tokens = params.query_tokens + STATISTIC_TOKENS * params.statistics
    queries = await session.ask(
        "agent_queries",
        {
            "database": session.describe(session.measure_room(session.plan)),
            "plan": session.plan,
            "queries": params.queries or NO_LIMIT,
            "statistics": params.statistics,
        },
        parse=partial(parse_queries, statistics=params.statistics),
        grammar=make_queries_grammar(params),
        tools=offer_queries(statistics=params.statistics),
        max_tokens=None if params.queries is None else tokens * params.queries,
    )
    if queries is None:
        return
    if params.queries is not None and len(queries) > params.queries:
        over = len(queries) - params.queries
        session.leave_out([f"{over} of {len(queries)} queries, over the limit"])
    await session.run(queries[: params.queries])


async def work_iteratively(session: AgentSession) -> str | None:
    """Run rounds, each with one information need and one query, then answer (agent `iterative`).

    The rounds end when the agent has enough information or reaches the limit. A round with an unparsable
    reply counts toward the limit. The next prompt reports the failure.
    """
    for number in range(session.params.rounds):
        taken = await _take_round(session, session.params.rounds - number)
        if taken is None:
            session.findings.append(FoundResult("", None))
            continue
        if taken.query is None:
            break
        session.plan = "\n".join(filter(None, (session.plan, taken.need)))
        session.note("need", taken.need)
        await session.run([taken.query], taken.need)
    return await _synthesize(session)


async def _take_round(session: AgentSession, left: int) -> Round | None:
    """Request an information need and its query in one reply; return None if the reply cannot be parsed.

    Two separate requests would send all findings twice. left: the number of remaining rounds, including this
    round.
    """
    params = session.params
    room = session.measure_room()
    # Results get the tokens that a whole description of the database leaves, but at least half of all tokens.
    whole = estimate_tokens(quote_data(describe_database(session.database.tables)))
    findings = session.show_findings(max(room / 2, room - whole))
    shown = sum(estimate_tokens(text) for found in findings for text in found.values())
    return await session.ask(
        "agent_next_query",
        {
            "database": session.describe(room - shown),
            "findings": findings,
            "left": left,
            "enough": ENOUGH,
            "statistics": params.statistics,
        },
        parse=partial(parse_round, statistics=params.statistics),
        grammar=make_round_grammar(params),
        tools=offer_round(statistics=params.statistics),
        max_tokens=NEED_TOKENS + params.query_tokens + STATISTIC_TOKENS * params.statistics,
    )


async def _synthesize(session: AgentSession, plan: str = "") -> str | None:
    """Write the answer from the question, the plan (if there is one), and the queries with their results."""
    # The prompt repeats the question at its end, so its tokens are subtracted twice.
    findings = session.show_findings(session.measure_room(plan, session.question))
    return await session.answer("agent_answer", {"plan": plan, "findings": findings})


AGENTS: Mapping[str, Agent] = {
    "none": work_alone,
    "sequential": work_sequentially,
    "iterative": work_iteratively,
    "guess": guess_answer,
}
"""Map each agent's name, as in params.yaml and in rows, to the agent's function."""
