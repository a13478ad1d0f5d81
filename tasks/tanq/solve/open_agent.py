"""The open agent: a main agent that gives sub-tasks to sub-agents with search tools (section 4)."""

from __future__ import annotations

from collections.abc import Sequence

from tasks.judging.prompt_room import estimate_tokens, quote_data
from tasks.judging.quoting import clean
from tasks.tanq.solve.open_replies import (
    SUB_TASK,
    AgentMove,
    make_found_grammar,
    make_main_grammar,
    make_sub_grammar,
    offer_found,
    offer_main,
    offer_sub,
    parse_found,
    parse_main_move,
    parse_sub_move,
)
from tasks.tanq.solve.open_session import AgentNote, OpenSession
from tasks.tanq.solve.reading import measure_table_room, parse_reply
from tasks.tanq.solve.rows import MAIN
from tasks.tanq.solve.table_text import make_table_grammar


async def search_table(session: OpenSession, window: int, table_tokens: int) -> str:
    """Answer a question: sub-tasks and calculations one after the other, then the table.

    A step that cannot be read counts as one. window: of the model, in tokens. Returns the reply with the
    table; empty if there was none.
    """
    params = session.params
    notes: list[AgentNote] = []
    evidence: list[AgentNote] = []
    thought = ""
    for number in range(params.steps):
        room = measure_table_room(session.question, window, params.step_tokens)
        move = await session.move(
            MAIN,
            "open_main",
            {
                "question": session.question,
                "notes": fit_notes(session, notes, room),
                "left": params.steps - number,
            },
            parse=parse_main_move,
            grammar=make_main_grammar(params, noted=bool(notes)),
            tools=offer_main(noted=bool(notes)),
            max_tokens=params.step_tokens,
        )
        if move is None:
            continue
        if not move.tool:
            thought = move.thought
            break
        if move.tool != SUB_TASK:
            notes.append(session.use(MAIN, move))
            continue
        found = await work_on_task(session, move.argument, window, evidence)
        session.note(MAIN, move, found)
        notes.append(AgentNote(clean(f"{SUB_TASK}: {move.argument}"), quote_data(found)))
    room = measure_table_room(session.question, window, table_tokens)
    return await session.write(
        "open_table",
        # What was found is said first; what the tools returned bears it out, as far as there is room.
        {"question": session.question, "notes": fit_notes(session, [*notes, *evidence], room)},
        parse_reply,
        make_table_grammar(),
        table_tokens,
        thought,
    )


async def work_on_task(session: OpenSession, task: str, window: int, evidence: list[AgentNote]) -> str:
    """Have a sub-agent work on a task; return what it found. Its tools' results are added to `evidence`."""
    params = session.params
    notes: list[AgentNote] = []
    for number in range(params.sub_steps):
        last, noted = number == params.sub_steps - 1, bool(notes)
        tokens = params.found_tokens if last else params.step_tokens + params.found_tokens * noted
        room = measure_table_room(task, window, tokens)
        fields = {"task": clean(task), "notes": fit_notes(session, notes, room), "last": last}
        move = await session.move(
            task,
            "open_sub",
            fields,
            parse=parse_found if last else parse_sub_move,
            grammar=make_found_grammar(params) if last else make_sub_grammar(params, noted=noted),
            tools=offer_found() if last else offer_sub(noted=noted),
            max_tokens=tokens,
        )
        if move is None:
            continue
        if not move.tool:
            session.note(task, AgentMove(move.thought, "", ""), move.argument)
            return move.argument
        notes.append(session.use(task, move))
        evidence.append(notes[-1])
    return "Nothing was found."


def fit_notes(session: OpenSession, notes: Sequence[AgentNote], room: float) -> list[AgentNote]:
    """Keep the notes that have room, each once and the first ones first; what is left out is named."""
    kept: list[AgentNote] = []
    for note in dict.fromkeys(notes):
        size = estimate_tokens(note.head) + estimate_tokens(note.result)
        if size <= room:
            kept.append(note)
            room -= size
        else:
            session.left_out.append(f"result of {note.head}")
    return kept
