"""Stage: questions that are steered to given columns and entities (section 2.1, control)."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id
from tasks.errors import BadInput
from tasks.longform.build.frames import DEFINITE, OPEN, write_frame
from tasks.longform.build.sentences import read_question
from tasks.longform.build.words import names_all, say_amount
from tasks.longform.entries import QuestionSet
from tasks.longform.rows import ControlledQuestion, Focus
from tasks.models.ask import Ask, Unparsed

LEAST, MOST = 20, 60


class Control(BaseModel):
    """`longform.control` in params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keywords: tuple[str, ...] = (
        "is more successful", "does better overall", "stands out more", "is more impressive",
    )  # fmt: skip
    """Abstract words on which every second question turns; the others have a definite answer."""
    rounds: int = Field(default=3, ge=1)
    """How often a question is asked for, each time with what was wrong with the last one."""


@dataclass(frozen=True)
class Plan:
    """What one question is to be about."""

    focus: Focus
    groups: tuple[str, str]
    keyword: str
    seed: str


async def control(sources: Path, entry: QuestionSet, params: Control, ask: Ask) -> Drafts[ControlledQuestion]:
    """Have a question written for every plan; one that names less than it must is asked for again.

    sources: the folder with the artifacts of each database. Drop reason: `uncontrolled`. Raises BadInput for
    a database that has none.
    """
    plans = [(name, plan) for name in entry.databases for plan in choose_plans(sources, name, entry, params)]
    outcomes = await asyncio.gather(*(_write(name, plan, params.rounds, ask) for name, plan in plans))
    return Drafts(
        [outcome for outcome in outcomes if isinstance(outcome, ControlledQuestion)],
        [outcome for outcome in outcomes if isinstance(outcome, Dropped)],
    )


def choose_plans(sources: Path, database: str, entry: QuestionSet, params: Control) -> list[Plan]:
    """Choose what the questions of a database are about: groups in turn, so that columns spread."""
    path = sources / database / "foci.parquet"
    if not path.is_file():
        raise BadInput(
            f"longform.sets: {database}", "is no database of longform.databases", hint="add it there"
        )
    dice = random.Random(f"{entry.seed} {database}")  # noqa: S311 (no secret)
    by_group: defaultdict[tuple[str, str], list[Focus]] = defaultdict(list)
    for focus in read_rows(path, Focus):
        by_group[focus.group, focus.source].append(focus)
    turns = list(by_group.values())
    dice.shuffle(turns)
    for foci in turns:
        dice.shuffle(foci)
    seeds = read_seeds(sources / database)
    plans: list[Plan] = []
    for number in range(entry.questions):
        foci = turns[number % len(turns)]
        focus = foci[number // len(turns) % len(foci)]
        first, second = dice.sample(focus.groups, 2)
        keyword = dice.choice(params.keywords) if number % 2 == 0 and params.keywords else ""
        plans.append(Plan(focus, (first, second), keyword, dice.choice(seeds) if seeds else ""))
    return list({make_id(plan.focus.id, plan.groups, plan.keyword): plan for plan in plans}.values())


def read_seeds(folder: Path) -> Sequence[str]:
    """Read a database's own questions, where it has any."""
    path = folder / "seeds.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


async def _write(database: str, plan: Plan, rounds: int, ask: Ask) -> ControlledQuestion | Dropped:
    row = make_id(database, plan.focus.id, plan.groups, plan.keyword)
    amounts = [say_amount(measure) for measure in plan.focus.measures]
    fields = {
        "least": LEAST,
        "most": MOST,
        "table": plan.focus.table_words,
        "group": plan.focus.group_words,
        "groups": plan.groups,
        "measures": [f"average {name}" for name, _ in amounts],
        "keyword": plan.keyword,
        "seed": plan.seed,
    }

    def parse(text: str) -> str:
        question = read_question(text, LEAST // 2, MOST)
        wanted = (plan.focus.table_words, *plan.groups, *(name for name, _ in amounts))
        if missing := [name for name in wanted if not names_all(question, [name])]:
            raise Unparsed(f"it does not name {' and '.join(missing)}")
        return question

    problem, calls = "", []
    for number in range(rounds):
        answer = await ask(
            "control",
            {**fields, "problem": problem},
            role="generator",
            row=row,
            parse=parse,
            grammar=write_frame(OPEN if plan.keyword else DEFINITE, plan.focus, plan.groups, plan.keyword),
            sample=number,
            max_tokens=120,
        )
        calls.append(Origin("call", answer.call))
        if answer.value is not None:
            origin = (Origin("row", f"foci#{plan.focus.id}"), *calls)
            return ControlledQuestion(
                row, database, plan.seed, plan.focus, plan.groups, plan.keyword, answer.value, origin
            )
        problem = answer.problem
    return Dropped(row, "uncontrolled", f"{problem}: {answer.text[:200]}", tuple(calls))
