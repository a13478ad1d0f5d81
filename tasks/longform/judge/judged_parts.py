"""List the answers and steps that judges and people label, as text (section 4.4 of the paper)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.judging.human_files import write_form
from tasks.longform.build.items import LongformItem
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import ANSWER, CHOICES, Verdict
from tasks.longform.solve.describe_database import describe_database, read_script
from tasks.longform.solve.interaction import (
    AgentQuery,
    Interaction,
    find_gap,
    find_no_answer,
    tell_statistics,
)

FORM = (
    "id",
    "part",
    "question",
    "reference",
    "database",
    "plan",
    "queries",
    "statistics",
    "response",
    "choices",
    "label",
    "rater",
)


@dataclass(frozen=True)
class JudgedPart:
    """An answer or a step for people to label.

    id: the id of the row with the judge's verdict. artifact: the name of the artifact that contains the row.
    """

    id: str
    artifact: str
    interaction: Interaction
    item: LongformItem
    part: str
    choices: tuple[Verdict, ...]
    """The possible labels."""

    @property
    def response(self) -> str:
        """The judged text: the plan, the queries with their results, or the answer."""
        if self.part == "IP":
            return self.interaction.plan
        if self.part == "TE":
            return tell_queries(self.interaction.queries)
        return self.interaction.answer or ""


def list_parts(
    items: Iterable[LongformItem],
    interactions: Iterable[Interaction],
    reference_verdicts: Iterable[ReferenceVerdict],
    revisions: Iterable[Review],
) -> list[JudgedPart]:
    """List the answers to judge, and the steps of interactions that have a plan and an answer."""
    by_id, made = {item.id: item for item in items}, {row.id: row for row in interactions}
    answers = [
        JudgedPart(
            verdict.id,
            "reference_verdicts",
            made[verdict.interaction],
            by_id[verdict.item],
            ANSWER,
            CHOICES[verdict.kind],
        )
        for verdict in reference_verdicts
        if not find_no_answer(made[verdict.interaction])
    ]
    steps = [
        JudgedPart(
            revision.id,
            "revisions",
            made[revision.interaction],
            by_id[revision.item],
            revision.step,
            CHOICES[revision.step],
        )
        for revision in revisions
        if not find_gap(made[revision.interaction])
    ]
    return [*answers, *steps]


def tell_queries(queries: Sequence[AgentQuery]) -> str:
    """Write queries with their results as human-readable text."""
    return "\n".join(f"{number}. {_tell(query)}" for number, query in enumerate(queries, 1))


def _tell(query: AgentQuery) -> str:
    if query.error:
        return f"{query.sql}\nIt failed: {query.error}"
    rows = [json.dumps(row, ensure_ascii=False) for row in (query.columns, *json.loads(query.rows))]
    return "\n".join([query.sql, f"Rows: {query.n_rows}", *rows])


def make_form(parts: Iterable[JudgedPart]) -> str:
    """Write the CSV form for human labels, with the texts that the judge sees, but without verdicts.

    Lines are sorted by id. The ids are hashes, so the first hundred lines are a random sample. Raises
    BadInput if the script of an item does not run.
    """
    return write_form(FORM, [_fill_line(part) for part in sorted(parts, key=lambda part: part.id)])


def _fill_line(part: JudgedPart) -> tuple[str, ...]:
    made, name = part.interaction, part.part
    return (
        part.id,
        name,
        part.item.question,
        part.item.reference if name == ANSWER else "",
        "" if name == ANSWER else describe_database(read_script(part.item.script).tables),
        made.plan if name in ("TE", "IS") else "",
        tell_queries(made.queries) if name == "IS" else "",
        tell_statistics(made) if name in ("TE", "IS") else "",
        part.response,
        " | ".join(part.choices),
        "",
        "",
    )
