"""Stage: what the answer to a question may be, before there is a database (section 2.2, conjecture)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from tasks.artifacts.rows import Drafts, Dropped, Origin
from tasks.longform.build.confirm import describe_tables
from tasks.longform.build.schemas import Sources
from tasks.longform.build.words import say_amount
from tasks.longform.rows import ConfirmedQuestion, Conjecture, ControlledQuestion
from tasks.models.ask import Ask, Unparsed


async def conjecture(
    confirm: list[ConfirmedQuestion], control: list[ControlledQuestion], sources: Path, ask: Ask
) -> Drafts[Conjecture]:
    """Have an answer guessed for every question, and for each measure the group that is higher.

    Drop reason: `no_conjecture`.
    """
    known = Sources(sources)
    asked = {question.id: question for question in control}
    outcomes = await asyncio.gather(
        *(_guess(question, asked[question.id], known, ask) for question in confirm)
    )
    return Drafts(
        [outcome for outcome in outcomes if isinstance(outcome, Conjecture)],
        [outcome for outcome in outcomes if isinstance(outcome, Dropped)],
    )


async def _guess(
    question: ConfirmedQuestion, controlled: ControlledQuestion, known: Sources, ask: Ask
) -> Conjecture | Dropped:
    measures = [say_amount(measure)[0] for measure in controlled.focus.measures]
    heads = [f"Higher average {measure}: " for measure in measures]

    def parse(text: str) -> tuple[str, tuple[str, ...]]:
        lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
        if len(lines) < len(heads):
            raise Unparsed(f"it has {len(lines)} lines; {len(heads)} are wanted")
        expected = [
            _read_choice(line, head, controlled.groups)
            for line, head in zip(lines[-len(heads) :], heads, strict=True)
        ]
        said = " ".join(lines[: -len(heads)])
        return said or _state(measures, expected), tuple(expected)

    either = "(" + " | ".join(json.dumps(group, ensure_ascii=False) for group in controlled.groups) + ")"
    rest = ' "\\n" '.join(f"{json.dumps(head, ensure_ascii=False)} {either}" for head in heads)
    answer = await ask(
        "conjecture",
        {
            "tables": describe_tables(known.list_columns(controlled)),
            "question": question.text,
            "measures": measures,
            "groups": controlled.groups,
        },
        role="generator",
        row=question.id,
        parse=parse,
        grammar=f"root ::= {rest}",
        max_tokens=160,
    )
    origin = (Origin("row", f"confirm#{question.id}"), Origin("call", answer.call))
    if answer.value is None:
        return Dropped(question.id, "no_conjecture", f"{answer.problem}: {answer.text[:200]}", origin)
    return Conjecture(question.id, *answer.value, origin)


def _read_choice(line: str, head: str, groups: Sequence[str]) -> str:
    named = line.removeprefix(head).strip(" .*")
    found = [group for group in groups if group.strip(" .*") == named]
    if not line.startswith(head) or not found:
        raise Unparsed(f"the line `{head}` must end with {' or '.join(groups)}")
    return found[0]


def _state(measures: Sequence[str], expected: Sequence[str]) -> str:
    """State what a model expects that wrote nothing else."""
    pairs = zip(measures, expected, strict=True)
    return f"The higher {' and the higher '.join(f'average {one} is that of {name}' for one, name in pairs)}."
