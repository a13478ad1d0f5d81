"""Tables 5, 6, 8, 9, 10, 15 and 16: relative mapping similarity by question and by prompt (section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from tasks.errors import StageFailed
from tasks.reports.figure_cells import DRAWS, FigureCell, FigureTable, Line, leave_empty
from tasks.scoring.metric import MeanAccumulator, Score
from tasks.scoring.statistics import Interval, bootstrap
from tasks.tanq.build.skill_use import SKILLS
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.graph.seed_question import COMPOSITION, INTERSECTION, SIMPLE
from tasks.tanq.publish.table_basis import ItemGroup, Where, derive_scores
from tasks.tanq.publish.table_outcomes import (
    MEASURES,
    RULES,
    TableOutcome,
    TableSystem,
    is_people,
    list_main,
    list_systems,
    select_outcomes,
)

OF = "predictions"
HEADS = ("setting", "model", "prompt")
RELATIONS = (1, 3, 5, 10)
"""Numbers of relations in Table 9."""
LENGTHS: Mapping[str, tuple[int, int]] = {"section": (3, 6), "caption": (2, 6)}
"""Most rows of a short and of a medium table: by section 5.5, and by the caption of Table 10."""
INSTRUCTIONS = ("empty", "simple", "detailed", "steps")
SHOTS = {
    "no shot": (0, ""), "one shot": (1, "random"), "three random shots": (3, "random"),
    "three chosen shots": (3, "chosen"), "five random shots": (5, "random"),
}  # fmt: skip

FromMain = Callable[[TableSystem, TableSystem], bool]
"""Whether a system is that of a column, given the main one of its setting and model."""
NOT_RUN = (leave_empty("not run", OF),) * len(MEASURES)


def tabulate_scores(outcomes: Sequence[TableOutcome]) -> Iterator[tuple[str, FigureTable]]:
    """Make the tables by both rules, each with its key. Raises StageFailed for a skill of another name."""
    main = list_main(list_systems(outcomes))
    for rule in RULES:
        for key, title, groups in list_breakdowns(outcomes):
            yield f"{key}-{rule}", break_down(outcomes, main, rule, key.partition("-")[0], title, groups)
        for key, title, columns in list_prompts():
            yield f"{key}-{rule}", compare_prompts(outcomes, rule, key, title, columns)


def list_breakdowns(
    outcomes: Sequence[TableOutcome],
) -> Iterator[tuple[str, str, Mapping[str, ItemGroup | None]]]:
    """List key, title and groups of questions of each breakdown; None is the group of all."""
    used = {skill.name for outcome in outcomes for skill in outcome.item.skills}
    if other := sorted(used.difference(SKILLS)):
        raise StageFailed(f"tanq.evaluation_figures: no column of Table 6 for the skill {other[0]}")
    kinds = {kind: _is_kind(kind) for kind in (SIMPLE, COMPOSITION, INTERSECTION)}
    yield "5", "By kind of question", {**kinds, "all": None}
    yield "6", "By skill", {name.replace("_", " "): _has_skill(name) for name in SKILLS}
    numbers = {words: _has_skills(n) for n, words in enumerate(("none", "one", "two", "three"))}
    yield "8", "By number of skills", numbers
    relations = {str(n): _has_relations(n) for n in RELATIONS}
    others = _count_relations(lambda number: number not in RELATIONS)
    yield "9", "By number of relations", {**relations, "other": others}
    for name, (short, medium) in LENGTHS.items():
        yield (
            f"10-{name}",
            f"By length of the answer table ({name}: short to {short}, medium to {medium} rows)",
            {
                "short": _has_rows(0, short),
                "medium": _has_rows(short + 1, medium),
                "long": _has_rows(medium + 1, None),
            },
        )


def _is_kind(kind: str) -> ItemGroup:
    return ItemGroup("kind", lambda item: [item.kind], kind.__eq__)


def _has_skill(name: str) -> ItemGroup:
    return ItemGroup("skills.name", lambda item: [skill.name for skill in item.skills], name.__eq__)


def _has_skills(number: int) -> ItemGroup:
    return ItemGroup(
        "distinct(skills.name)", lambda item: [len({skill.name for skill in item.skills})], number.__eq__
    )


def _has_relations(number: int) -> ItemGroup:
    return _count_relations(number.__eq__)


def _count_relations(fits: Callable[[str | int], bool]) -> ItemGroup:
    return ItemGroup("count(relations)", lambda item: [len(item.relations)], fits)


def _has_rows(least: int, most: int | None) -> ItemGroup:
    return ItemGroup(
        "sum(rows.filter_pass)",
        lambda item: [count_rows(item)],
        lambda rows: least <= int(rows) and (most is None or int(rows) <= most),
    )


def count_rows(item: TanqItem) -> int:
    """Count the rows of an answer table, without those that fail a filter."""
    return sum(row.filter_pass for row in item.rows)


def break_down(
    outcomes: Sequence[TableOutcome],
    systems: Sequence[TableSystem],
    rule: str,
    number: str,
    title: str,
    groups: Mapping[str, ItemGroup | None],
) -> FigureTable:
    """Make a table with three columns for each group of questions and a line for each system."""
    lines = []
    for system in systems:
        own = select_outcomes(outcomes, system)
        cells: list[FigureCell] = []
        for group in groups.values():
            chosen = [outcome for outcome in own if group is None or group.has(outcome.item)]
            cells += score_cells(chosen, rule, group.describe(chosen) if group else None)
        lines.append(Line(system.label, tuple(cells)))
    return FigureTable(number, f"{title}, rule {rule}", HEADS, name_columns(groups), tuple(lines))


def list_prompts() -> Iterator[tuple[str, str, Mapping[str, FromMain]]]:
    """List key, title and columns of Tables 15 and 16."""
    yield "15", "By number of examples", {words: _has_shots(*shots) for words, shots in SHOTS.items()}
    yield "16", "By instruction", {name: _has_instruction(name) for name in INSTRUCTIONS}


def _has_shots(shots: int, choice: str) -> FromMain:
    wanted = (shots, choice)
    return lambda one, main: one.instruction == main.instruction and (one.shots, one.choice) == wanted


def _has_instruction(name: str) -> FromMain:
    return lambda one, main: one.instruction == name and (one.shots, one.choice) == (main.shots, main.choice)


def compare_prompts(
    outcomes: Sequence[TableOutcome], rule: str, number: str, title: str, columns: Mapping[str, FromMain]
) -> FigureTable:
    """Make a table with three columns for each prompt, a line for each setting and model that has one."""
    systems = list_systems(outcomes)
    lines = []
    for main in list_main(systems):
        if not main.instruction or is_people(main):
            continue
        own = [one for one in systems if (one.setting, one.model) == (main.setting, main.model)]
        cells: list[FigureCell] = []
        for is_column in columns.values():
            found = [one for one in own if is_column(one, main)]
            cells += score_cells(select_outcomes(outcomes, found[0]), rule) if found else NOT_RUN
        lines.append(Line(main.label, tuple(cells)))
    notes = () if lines else ("Not shown: no system with examples or instructions was run.",)
    return FigureTable(number, f"{title}, rule {rule}", HEADS, name_columns(columns), tuple(lines), notes)


def name_columns(groups: Mapping[str, object]) -> tuple[str, ...]:
    """Name the columns of groups: `all: precision`."""
    return tuple(f"{group}: {measure}" for group in groups for measure in MEASURES)


def score_cells(
    outcomes: Sequence[TableOutcome], rule: str, items: Where | None = None
) -> tuple[FigureCell, ...]:
    """Average precision, recall and F1, fractions of 1, each with a bootstrap interval.

    Predictions without a reply are failed, and in no mean. items: what the outcomes' items are of the set, if
    not all.
    """
    given = [values for outcome in outcomes if (values := outcome.measure(rule)) is not None]
    failed = len(outcomes) - len(given)
    if not given:
        why = f"none of {failed} predictions has a reply" if failed else "no such question"
        return (leave_empty(why, OF, failed),) * len(MEASURES)
    drawn = draw_intervals(given)
    return tuple(
        FigureCell(
            fmean(values),
            len(given),
            failed,
            drawn.get(name),
            OF,
            basis=derive_scores(outcomes, "mean", f"{rule}_{name}", items=items),
        )
        for name, values in zip(MEASURES, zip(*given, strict=True), strict=True)
    )


def draw_intervals(given: Sequence[tuple[float, ...]]) -> Mapping[str, Interval | None]:
    """Draw the intervals of all measures at once; none of a single prediction."""
    if len(given) < 2:
        return {}
    accumulator = MeanAccumulator(MEASURES)
    for values in given:
        accumulator.add(None, Score(dict(zip(MEASURES, values, strict=True))))
    return bootstrap(accumulator.sample(), DRAWS.draws, DRAWS.seed)
