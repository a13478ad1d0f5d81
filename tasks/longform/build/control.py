"""Stage: write questions about given columns and entities ("control" in section 2.1 of the paper)."""

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
"""Minimum and maximum number of words in a question."""
DRAWS = 3
"""Maximum number of attempts with one design for a new question, before other designs are tried."""
ALIKE = 0.9
"""Two measures with a higher absolute correlation than this are not used in the same question."""
EVERY = 3
"""The distance between open questions: with 3, every third question is open."""


@dataclass(frozen=True)
class ControlledQuestion:
    """Row of the stage `control`: a question about given columns and entities."""

    id: str
    database: str
    seed: str
    """The example question in the prompt: an existing question of the database, or one that code wrote.

    The field is empty if there is no example question.
    """
    design: str
    """A name in `designs.DESIGNS`, or in `kinds.KINDS` if the question asks for an analysis."""
    focus: Focus
    """The columns that the question is about."""
    groups: tuple[str, ...]
    """The values of the focus's group column that the question names."""
    decoy: str
    """Another value of the group column, for which the database also has rows; empty if there is none."""
    quality: Quality | None
    """The abstract word that the question depends on; None for a question with a definite answer."""
    figures: tuple[FigureDesign, ...]
    """The figures that the answer depends on."""
    text: str
    origin: tuple[Origin, ...]

    @property
    def asked(self) -> Asked:
        """The subject of the question, with the words for its frames."""
        return Asked(self.focus, self.groups, self.quality, self.figures)


class Control(Settings):
    """The settings in params.yaml under `longform.control`."""

    plans: Literal["rows", "questions"] = "rows"
    """The basis of the plans: groups of existing rows (`rows`), or the database's questions (`questions`).
    If the database has no questions, `questions` uses its tables."""
    interpretive: float = Field(default=0.51, ge=0, le=1)
    """With `plans: questions`, the share of interpretive questions, which depend on an abstract word."""
    known: int = Field(default=4, ge=2)
    """Minimum number of rows per group that have all amounts of the question."""
    rounds: int = Field(default=3, ge=1)
    """Maximum number of attempts per question; each prompt names the previous error."""


@dataclass(frozen=True)
class Plan:
    """The plan of one question: its design, columns, groups, figures and the question that it is based on."""

    design: str
    focus: Focus
    groups: tuple[str, ...]
    decoy: str
    chosen: Chosen
    seed: str

    @property
    def id(self) -> str:
        """The key that identifies the plan in its database."""
        figures = [
            (figure.kind, figure.measure, figure.over, figure.threshold) for figure in self.chosen.figures
        ]
        return make_id(self.focus.id, self.design, self.groups, figures)

    @property
    def asked(self) -> Asked:
        """The subject of the question, with the words for its frames."""
        return Asked(self.focus, self.groups, self.chosen.quality, self.chosen.figures)


async def control(sources: Path, entry: LongformSet, params: Control, ask: Ask) -> Drafts[ControlledQuestion]:
    """Have a model write a question for every plan; a question that lacks a required name is requested again.

    sources: the folder with the artifacts of each database. Drop reasons: `uncontrolled` (no reply had all
    required names), `no_plan` (a database has too few groups and measures for another question). Raises
    BadInput for a database that is not in `longform.databases`.
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
            "its tables have no further columns of amounts, years or kinds"
            if steered
            else "lower longform.foci.least or longform.control.known to get more"
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
    """Choose the plans of a database's questions, with alternating designs, tables and measures.

    least: the minimum number of rows in a group that have all amounts of the question.
    """
    # A seed per database: the other databases of a set do not change a database's plans.
    dice = random.Random(f"{entry.seed} {database}")  # noqa: S311 (not used for security)
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
    """Set a figure's threshold to the median of its `over` amounts in all rows, rounded by `round_amount`.

    A figure without `over` is returned unchanged.
    """
    if not figure.over:
        return figure
    amounts = [amount for row in rows if (amount := read_amount(row, figure.over)) is not None]
    return replace(figure, threshold=round_amount(median(amounts or [0])))


def round_amount(amount: float) -> float:
    """Round an amount to a round number: 81 to 80, 730 to 750, 1,340 to 1,300, and -81 to -80."""
    if amount == 0:
        return 0.0
    power = 10.0 ** floor(log10(abs(amount)))
    step = power / 10 if abs(amount) < 2 * power else power / 2
    return float(f"{round(amount / step) * step:.2g}")


def _go_together(figures: Sequence[FigureDesign], rows: Sequence[WholeRow]) -> bool:
    """Return whether a question's two measures have an absolute correlation above `ALIKE`.

    An example is the distance and the air time of flights.
    """
    names = {name for figure in figures for name in (figure.measure, figure.over) if name}
    if len(names) != 2:
        return False
    read = [[read_amount(row, name) for name in sorted(names)] for row in rows]
    known = [(first, other) for first, other in read if first is not None and other is not None]
    try:
        return abs(correlation(*zip(*known, strict=True))) > ALIKE
    except (StatisticsError, TypeError):  # no row has both amounts, or one amount is constant
        return False


def _has_enough(group: str, figures: Sequence[FigureDesign], rows: Sequence[WholeRow], least: int) -> bool:
    """Return whether a group has at least `least` rows with all amounts in the question.

    A threshold must be above 0, and at least `least` of these rows must be on each side of it. Otherwise, the
    threshold would exclude almost no rows, or almost all rows.
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
    """List the rows of a group that have a value for every amount in the figures."""
    names = {name for figure in figures for name in (figure.measure, figure.over) if name}
    own = [row for row in rows if row.group == group]
    return [row for row in own if all(read_amount(row, name) is not None for name in names)]


def list_named(asked: Asked) -> list[str]:
    """List the names that a question must contain before it is condensed: rows, groups and measures."""
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
