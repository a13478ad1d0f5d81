"""The agent without interaction: all records in the prompt, a chain of thought, the answer (section 4.1)."""

from __future__ import annotations

from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.longform.solve.describe_database import describe_records
from tasks.longform.solve.replies import make_answer_grammar, parse_reasoned
from tasks.longform.solve.rows import UNFIT
from tasks.longform.solve.session import AgentSession


async def work_alone(session: AgentSession) -> str | None:
    """Answer from all records; where they do not fit, nothing is sent and the problem says so."""
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
