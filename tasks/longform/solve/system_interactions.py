"""Stage: have a user's system answer every item, and record the answers, plans and queries.

A request contains the question, followed by the item's database as a script. The system returns its queries
as contexts of the answer; a context with the title `plan` is the plan. This stage runs the queries, so the
recorded results come from the database.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.artifacts.rows import Drafts, Origin, make_id
from tasks.databases.scratch.scratch import write_database
from tasks.longform.build.items import LongformItem
from tasks.longform.own_entries import OwnAgent, SystemLimits
from tasks.longform.solve.interaction import AgentQuery, AgentStep, Interaction
from tasks.longform.solve.querying import run_queries
from tasks.longform.solve.replies import WrittenQuery
from tasks.models.ask import Ask
from tasks.systems.build import build_system
from tasks.systems.contract import Response
from tasks.systems.entries import SystemEntry

AGENT = "system"
"""The agent's name in the rows of a user's system; the column `model` has the system's name."""
PLAN = "plan"
"""The title of the context that is the system's plan; every other context is a query."""


async def system_interactions(
    items: list[LongformItem], entry: OwnAgent, system: SystemEntry, params: SystemLimits, ask: Ask
) -> Drafts[Interaction]:
    """Ask a system every question; a failed request has a row without an answer, with `problem` set."""
    built = build_system(entry.system, system, (), ask)
    responses = await asyncio.gather(
        *(built.answer(pose(item), row=make_id(item.id, AGENT, entry.system), item=item.id) for item in items)
    )
    with TemporaryDirectory(prefix="benchloom-items-") as folder:
        rows = [
            await asyncio.to_thread(
                make_interaction, item, entry.system, response, params, Path(folder) / f"{place}.sqlite"
            )
            for place, (item, response) in enumerate(zip(items, responses, strict=True))
        ]
    return Drafts(rows)


def pose(item: LongformItem) -> str:
    """Write the request for a system: the question, then the database as SQLite statements."""
    return f"{item.question}\n\nSQLite database:\n{item.script}"


def make_interaction(
    item: LongformItem, name: str, response: Response, params: SystemLimits, file: Path
) -> Interaction:
    """Run a system's queries on the item's database in `file`, and make the row of its response."""
    told = [(passage.title.strip().lower() == PLAN, passage.text) for passage in response.passages or ()]
    plan = "\n".join(text for is_plan, text in told if is_plan)
    written = [WrittenQuery(text) for is_plan, text in told if not is_plan and text]
    queries: list[AgentQuery] = []
    if written:
        write_database(item.script, file)
        queries = run_queries(file, written[: params.queries], params.limits, params.shown_rows)
    over = len(written) - len(queries)
    steps = [("plan", plan), *(("query", query.sql) for query in queries), ("answer", response.text or "")]
    return Interaction(
        id=make_id(item.id, AGENT, name),
        item=item.id,
        agent=AGENT,
        model=name,
        plan=plan,
        queries=tuple(queries),
        answer=response.text,
        steps=tuple(AgentStep(kind, text) for kind, text in steps if text),
        left_out=(f"{over} of {len(written)} queries, over the limit",) if over else (),
        problem=response.problem,
        origin=(
            Origin("row", f"items#{item.id}"),
            *(Origin("call", call) for call in dict.fromkeys(response.calls)),
        ),
    )
