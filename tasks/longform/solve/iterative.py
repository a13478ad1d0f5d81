"""The iterative agent: round by round the one thing most needed, a query, its result (section 3)."""

from __future__ import annotations

from functools import partial

from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.longform.solve.answering import write_answer
from tasks.longform.solve.describe_database import describe_database
from tasks.longform.solve.replies import (
    ENOUGH,
    NEED_TOKENS,
    STATISTIC_TOKENS,
    Round,
    make_round_grammar,
    parse_round,
)
from tasks.longform.solve.session import AgentSession, FoundResult
from tasks.longform.solve.tools import offer_round


async def work_iteratively(session: AgentSession) -> str | None:
    """Take rounds until the agent has enough or has used them up, then answer.

    A round whose reply cannot be read counts as one: the agent is told so in the next.
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
    return await write_answer(session)


async def _take_round(session: AgentSession, left: int) -> Round | None:
    """Ask for a need and its query in one reply: a prompt for each would send all that was found twice."""
    params = session.params
    room = session.measure_room()
    # The results may have what a whole description leaves, and half of the room in any case.
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
