"""The last step of agents that query: the answer from what was found (information synthesis, section 3)."""

from __future__ import annotations

from tasks.longform.solve.replies import make_answer_grammar, parse_answer
from tasks.longform.solve.session import AgentSession


async def write_answer(session: AgentSession, plan: str = "") -> str | None:
    """Write the answer from the question, the plan if there is one, and the queries with their results."""
    params = session.params
    answer = await session.ask(
        "agent_answer",
        {
            "plan": plan,
            # The question stands at the end of the prompt once more.
            "findings": session.show_findings(session.measure_room(plan, session.question)),
            "words": params.answer_words,
        },
        parse=parse_answer,
        grammar=make_answer_grammar(params),
        max_tokens=params.answer_tokens,
    )
    if answer is not None:
        session.note("answer", answer)
    return answer
