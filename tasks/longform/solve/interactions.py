"""Stage: what every agent does with every item, by every model (sections 3 and 4.1)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.databases.scratch.scratch import write_database
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.solve.agents import AGENTS
from tasks.longform.solve.describe_database import Database, read_database
from tasks.longform.solve.interaction import Interaction
from tasks.longform.solve.options import AgentLimits
from tasks.longform.solve.session import AgentSession
from tasks.models.ask import Ask


async def interactions(
    items: list[LongformItem], entry: AgentEvaluation, params: AgentLimits, ask: Ask
) -> Drafts[Interaction]:
    """Have every agent of an evaluation answer every item by every model.

    One row each, also where an agent gave no answer: then `answer` is None and `problem` says why.
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

    # Requests about one item follow each other: they begin with the same description of its database.
    worked = await asyncio.gather(*map(work_on, items))
    return Drafts([row for rows in worked for row in rows])


def open_item(item: LongformItem, file: Path) -> Database:
    """Write an item's database to a file and read it."""
    write_database(item.script, file)
    return read_database(file)


async def interact(
    item: LongformItem, database: Database, agent: str, model: str, params: AgentLimits, ask: Ask
) -> Interaction:
    """Have one agent answer one item. agent: a name in AGENTS; model: a role."""
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
