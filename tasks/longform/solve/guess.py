"""The agent that guesses: question and schema, neither records nor queries (reference line of Figure 2)."""

from __future__ import annotations

from tasks.longform.solve.replies import make_answer_grammar, parse_answer
from tasks.longform.solve.session import AgentSession


async def guess_answer(session: AgentSession) -> str | None:
    """Answer from the question and the schema alone."""
    params = session.params
    answer = await session.ask(
        "agent_guess",
        {"database": session.describe(session.measure_room(), samples=0), "words": params.answer_words},
        parse=parse_answer,
        grammar=make_answer_grammar(params),
        max_tokens=params.answer_tokens,
    )
    if answer is not None:
        session.note("answer", answer)
    return answer
