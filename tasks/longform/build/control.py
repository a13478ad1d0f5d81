"""Stage: questions that are steered to given columns and entities (section 2.1, control)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import floor, log10
from pathlib import Path
from statistics import StatisticsError, correlation, median
from typing import Literal

from pydantic import Field

from tasks.artifacts.rows import Drafts, Dropped, Origin, make_id, split_outcomes
from tasks.databases.columns import Column
from tasks.longform.build.analyses.frames import AT_LENGTH, list_musts, read_task
from tasks.longform.build.analyses.outcomes import is_analysis
from tasks.longform.build.analyses.plans import Tally, plan_analyses
from tasks.longform.build.designs import DEFINITE, DESIGNS, OPEN, Chosen, FigureDesign
from tasks.longform.build.foci import Focus, Quality
from tasks.longform.build.frames import QUESTIONS, Asked, read_question
from tasks.longform.build.schemas import SourceArtifacts, read_amount
from tasks.longform.build.source_rows import WholeRow
from tasks.longform.build.words import describe_tables, names_all
from tasks.longform.entries import LongformSet
from tasks.models.ask import Ask, Unparsed
from tasks.models.frames import read_first, write_frame
from tasks.models.rounds import ask_in_rounds
from tasks.settings import Settings

LEAST, MOST = 12, 70
"""Words of a question."""
DRAWS = 3
"""How often a design is drawn that comes out as a question that there is already, before others are."""
ALIKE = 0.9
"""Correlation from which on two measures go together, so that a question about both is foregone."""
EVERY = 3
"""Every so-manieth question is an open one."""


@dataclass(frozen=True)
class ControlledQuestion:
    """Stage control: a question that was steered to given columns and entities."""

    id: str
    database: str
    seed: str
    """A question of the database's own that the model was shown; empty where it has none."""
    design: str
    """What it asks, a name in `designs.DESIGNS`, or in `kinds.KINDS` of one that another question steered."""
    focus: Focus
    """The columns that the question is about."""
    groups: tuple[str, ...]
    """The values of the focus's group that the question names."""
    decoy: str
    """Another value, whose rows stand in the database too; empty if there is none."""
    quality: Quality | None
    """The abstract word that the question turns on; None for a question with a definite answer."""
    figures: tuple[FigureDesign, ...]
    """What its answer stands on."""
    text: str
    origin: tuple[Origin, ...]

    @property
    def asked(self) -> Asked:
        """Return the subject in the words from which frames are made."""
        return Asked(self.focus, self.groups, self.quality, self.figures)


class Control(Settings):
    """`longform.control` in params.yaml."""

    plans: Literal["rows", "questions"] = "rows"
    """The basis of questions: groups of existing rows (`rows`), or the database's questions (`questions`).
    Without questions, the tables are used."""
    interpretive: float = Field(default=0.51, ge=0, le=1)
    """With `plans: questions`, the share of questions about an abstract word."""
    known: int = Field(default=4, ge=2)
    """Minimum number of rows of a group with the amounts in question."""
    rounds: int = Field(default=3, ge=1)
    """Maximum number of attempts per question; each prompt names the previous error."""


@dataclass(frozen=True)
class Plan:
    """The plan of a question."""

    design: str
    focus: Focus
    groups: tuple[str, ...]
    decoy: str
    chosen: Chosen
    seed: str

    @property
    def id(self) -> str:
        """Return the key that identifies the plan in its database."""
        figures = [
            (figure.kind, figure.measure, figure.over, figure.threshold) for figure in self.chosen.figures
        ]
        return make_id(self.focus.id, self.design, self.groups, figures)

    @property
    def asked(self) -> Asked:
        """Return the subject in words."""
        return Asked(self.focus, self.groups, self.chosen.quality, self.chosen.figures)


async def control(sources: Path, entry: LongformSet, params: Control, ask: Ask) -> Drafts[ControlledQuestion]:
    """Have a question written for every plan; one that names less than it must is asked for again.

    sources: the folder with the artifacts of each database. Drop reasons: `uncontrolled`, `no_plan` (a
    database has too few groups and measures for another question). Raises BadInput for one that has none.
    """
    known = SourceArtifacts(sources)
    outcomes: list[ControlledQuestion | Dropped] = []
    asked = []
    tally = Tally(params.interpretive)
    for name in entry.databases:
        steered = params.plans == "questions"
        plans = (
            _plan_steered(known, name, entry, tally)
            if steered
            else choose_plans(known, name, entry, params.known)
        )
        missing = entry.questions - len(plans)
        more = (
            "its tables have no other columns of amounts, years or kinds"
            if steered
            else "there are more with a lower longform.foci.least or longform.control.known"
        )
        detail = f"{name} has groups and measures for {len(plans)} questions of {entry.questions}; {more}"
        origin = (Origin("file", f"{name}/foci.parquet"),)
        outcomes += [
            Dropped(make_id(name, "no plan", number), "no_plan", detail, origin) for number in range(missing)
        ]
        described = describe_tables(_list_all(known, name)) if steered else ""
        asked += [_write(name, plan, params.rounds, ask, described) for plan in plans]
    outcomes += await asyncio.gather(*asked)
    return split_outcomes(outcomes)


def _plan_steered(known: SourceArtifacts, database: str, entry: LongformSet, tally: Tally) -> list[Plan]:
    found = plan_analyses(known, database, entry.questions, entry.seed, tally)
    return [Plan(plan.design, plan.focus, plan.groups, "", plan.chosen, plan.seed) for plan in found]


def choose_plans(known: SourceArtifacts, database: str, entry: LongformSet, least: int) -> list[Plan]:
    """Choose what the questions of a database are about: designs, tables and measures in turn.

    least: rows that a group must have.
    """
    dice = random.Random(f"{entry.seed} {database}")  # noqa: S311 (no secret)
    foci = known.read_foci(database)
    dice.shuffle(foci)
    seeds = known.read_seeds(database)
    plans: dict[str, Plan] = {}
    used: Counter[str] = Counter()
    definite = _turn(DEFINITE, dice)
    for number in range(entry.questions):
        design = OPEN if number % EVERY == 1 else next(definite)
        for name in (design,) * DRAWS + DEFINITE:
            plan = _choose_plan(name, foci, used, dice, known.read_rows(database), seeds, least)
            if plan is None or plan.id in plans:
                continue
            plans[plan.id] = plan
            used.update([plan.focus.id, f"{plan.focus.table} table"])
            used.update(figure.measure for figure in plan.chosen.figures)
            used.update([plan.chosen.quality.words] if plan.chosen.quality else [])
            break
    return list(plans.values())


def _turn(names: Sequence[str], dice: random.Random) -> Iterator[str]:
    start = dice.randrange(len(names))
    return (names[(start + place) % len(names)] for place in count())


def _choose_plan(
    design: str,
    foci: Sequence[Focus],
    used: Counter[str],
    dice: random.Random,
    rows: Sequence[WholeRow],
    seeds: Sequence[str],
    least: int,
) -> Plan | None:
    for focus in sorted(foci, key=lambda focus: (used[focus.id], used[f"{focus.table} table"])):
        chosen = DESIGNS[design].choose(focus, used, dice)
        if chosen is None:
            continue
        own = [row for row in rows if row.focus == focus.id]
        if chosen.quality is None and _go_together(chosen.figures, own):
            continue
        figures = tuple(_set_threshold(figure, own) for figure in chosen.figures)
        groups = [name for name in focus.groups if _has_enough(name, figures, own, least)]
        wanted = DESIGNS[design].groups
        if len(groups) < wanted:
            continue
        named = tuple(dice.sample(groups, wanted))
        others = [name for name in focus.groups if name not in named and list_known(name, figures, own)]
        decoy = dice.choice(others) if others else ""
        seed = dice.choice(seeds) if seeds else ""
        return Plan(design, focus, named, decoy, Chosen(figures, chosen.quality), seed)
    return None


def _set_threshold(figure: FigureDesign, rows: Sequence[WholeRow]) -> FigureDesign:
    """Set the threshold of a figure over some rows only: about the median of all, a round number."""
    if not figure.over:
        return figure
    amounts = [amount for row in rows if (amount := read_amount(row, figure.over)) is not None]
    return replace(figure, threshold=round_amount(median(amounts or [0])))


def round_amount(amount: float) -> float:
    """Round to what people say: 81 to 80, 730 to 750, 1,340 to 1,300. Amounts below 0 are as above it."""
    if amount == 0:
        return 0.0
    power = 10.0 ** floor(log10(abs(amount)))
    step = power / 10 if abs(amount) < 2 * power else power / 2
    return float(f"{round(amount / step) * step:.2g}")


def _go_together(figures: Sequence[FigureDesign], rows: Sequence[WholeRow]) -> bool:
    """Tell whether one of two measures says what the other will be, as the distance does of the air time."""
    names = {name for figure in figures for name in (figure.measure, figure.over) if name}
    if len(names) != 2:
        return False
    read = [[read_amount(row, name) for name in sorted(names)] for row in rows]
    known = [(first, other) for first, other in read if first is not None and other is not None]
    try:
        return abs(correlation(*zip(*known, strict=True))) > ALIKE
    except (StatisticsError, TypeError):  # none known, or all the same
        return False


def _has_enough(group: str, figures: Sequence[FigureDesign], rows: Sequence[WholeRow], least: int) -> bool:
    """Return whether a group has `least` rows with all amounts that are asked about.

    Under a threshold there must be as many on either side of it: one that leaves nothing out asks nothing.
    """
    known = list_known(group, figures, rows)
    if len(known) < least:
        return False
    for figure in figures:
        if figure.over:
            above = sum((read_amount(row, figure.over) or 0) > figure.threshold for row in known)
            if figure.threshold <= 0 or min(above, len(known) - above) < least:
                return False
    return True


def list_known(group: str, figures: Sequence[FigureDesign], rows: Sequence[WholeRow]) -> list[WholeRow]:
    """List a group's rows with all amounts that are asked about."""
    names = {name for figure in figures for name in (figure.measure, figure.over) if name}
    own = [row for row in rows if row.group == group]
    return [row for row in own if all(read_amount(row, name) is not None for name in names)]


def list_named(asked: Asked) -> list[str]:
    """List what a question at length must name: rows, groups and measures."""
    return [asked.rows, *asked.groups, *(measure.name for measure in asked.measures)]


async def _write(
    database: str, plan: Plan, rounds: int, ask: Ask, tables: str
) -> ControlledQuestion | Dropped:
    asked, figures = plan.asked, plan.chosen.figures
    row = make_id(database, plan.id)
    steered = is_analysis(plan.design)
    frame = (AT_LENGTH if steered else QUESTIONS)[plan.design](asked)
    musts = list_musts(plan.design, asked) if steered else [(name,) for name in list_named(asked)]

    def parse(text: str) -> str:
        question = (read_task if steered else read_question)(text, LEAST, MOST)
        if missing := [" or ".join(names) for names in musts if not _names_any(question, names)]:
            raise Unparsed(f"it does not name {' and '.join(missing)}")
        return question

    fields: dict[str, object] = {"meant": read_first(frame), "seed": plan.seed}
    if steered:
        fields |= {"named": [" or ".join(names) for names in musts], "tables": tables, "kind": plan.design}
    else:
        fields["named"] = list_named(asked)
    written = await ask_in_rounds(
        ask,
        "control_question" if steered else "control",
        fields,
        rounds=rounds,
        row=row,
        parse=parse,
        grammar=write_frame(frame),
        max_tokens=140,
    )
    if written.text is None:
        origin = (Origin("row", f"{database}/foci#{plan.focus.id}"), *written.calls)
        return Dropped(row, "uncontrolled", written.problem, origin)
    return ControlledQuestion(
        id=row,
        database=database,
        seed=plan.seed,
        design=plan.design,
        focus=plan.focus,
        groups=plan.groups,
        decoy=plan.decoy,
        quality=plan.chosen.quality,
        figures=figures,
        text=written.text,
        origin=(Origin("row", f"{database}/foci#{plan.focus.id}"), *written.calls),
    )


def _names_any(question: str, names: Sequence[str]) -> bool:
    return any(names_all(question, [name]) for name in names)


def _list_all(known: SourceArtifacts, database: str) -> list[Column]:
    return [row.column for row in known.read(database).values()]
