"""Compute an evaluation's tables: scores by question and prompt, failures, and faults (TANQ, section 5)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from statistics import fmean

from tasks.artifacts.rows import Dropped
from tasks.errors import StageFailed
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.declared import Measure, Slice, Table, Where, by
from tasks.reports.plurals import count_of
from tasks.reports.tables import DRAWS, Cell, FigureTable, leave_empty, rate_cell
from tasks.scoring.metric import MeanAccumulator, Score
from tasks.scoring.statistics import Interval, bootstrap, settle_interval
from tasks.tanq.build.skill_use import SKILLS
from tasks.tanq.graph.seed_question import COMPOSITION, INTERSECTION, SIMPLE
from tasks.tanq.labels import AgentFault, FailureKind, Hallucination
from tasks.tanq.outcomes import (
    MEASURES,
    RULE_NAMES,
    RULES,
    TableOutcome,
    TableSystem,
    derive_scores,
    list_main,
    list_systems,
)
from tasks.tanq.score.failures import can_have
from tasks.tanq.score.hallucination_labels import HallucinationLabel
from tasks.tanq.solve.examples import CHOSEN, RANDOM
from tasks.tanq.solve.prediction import OPEN

OF = "predictions"
HEADS = ("setting", "model", "prompt")
RELATIONS = (1, 3, 5, 10)
"""The numbers of relations that have a column in TANQ's Table 9."""
NOBODY = "rules do not detect this failure, and no person labelled it"
NO_PROMPT = "Not shown: no system with examples or instructions ran."
Columns = Sequence[Slice[TableOutcome]]


def count_skills(outcome: TableOutcome) -> int:
    """Count the distinct skills of a question."""
    return len({skill.name for skill in outcome.item.skills})


def count_relations(outcome: TableOutcome) -> int:
    """Count the relations that the question was extended with."""
    return len(outcome.item.relations)


def count_rows(outcome: TableOutcome) -> int:
    """Count the rows of the answer table, without rows that fail a filter."""
    return sum(row.filter_pass for row in outcome.item.rows)


COUNTED = {"count(relations)": count_relations, "sum(rows.filter_pass)": count_rows}
"""Map expressions in slice conditions to functions that compute the expression for an outcome.

If a condition lists no values for an expression, `describe_items` uses the values in the cell's outcomes.
"""


def by_length(short: int, medium: int) -> Columns:
    """Return slices for short, medium and long answer tables.

    short, medium: the largest number of rows in a short or medium table.
    """

    def make(name: str, least: int, most: float) -> Slice[TableOutcome]:
        return Slice(
            name, lambda outcome: least <= count_rows(outcome) <= most, {"sum(rows.filter_pass)": ()}
        )

    return make("short", 0, short), make("medium", short + 1, medium), make("long", medium + 1, float("inf"))


def by_skill(name: str) -> Slice[TableOutcome]:
    """Return the slice of questions that use the named skill."""
    return Slice(
        name.replace("_", " "),
        lambda outcome: any(skill.name == name for skill in outcome.item.skills),
        {"skills.name": name},
    )


def by_shots(name: str, shots: int, choice: str) -> Slice[TableOutcome]:
    """Return the slice of prompts with `shots` examples, selected by the method `choice`."""
    return Slice(name, lambda outcome: (outcome.system.shots, outcome.system.choice) == (shots, choice))


BY_QUESTION: Mapping[str, tuple[str, Columns]] = {
    "5": (
        "By kind of question",
        (
            *by(
                lambda outcome: outcome.item.kind,
                {kind: kind for kind in (SIMPLE, COMPOSITION, INTERSECTION)},
                "kind",
            ),
            Slice("all"),
        ),
    ),
    "6": ("By skill", tuple(map(by_skill, SKILLS))),
    "8": (
        "By number of skills",
        by(count_skills, {0: "none", 1: "one", 2: "two", 3: "three"}, "distinct(skills.name)"),
    ),
    "9": (
        "By number of relations",
        (
            *by(count_relations, {number: str(number) for number in RELATIONS}, "count(relations)"),
            Slice(
                "other", lambda outcome: count_relations(outcome) not in RELATIONS, {"count(relations)": ()}
            ),
        ),
    ),
    "10-section": (
        "By length of the answer table (section 5.5 of the paper: short up to 3 rows, medium up to 6 rows)",
        by_length(3, 6),
    ),
    "10-caption": (
        "By length of the answer table (caption in the paper: short up to 2 rows, medium up to 6 rows)",
        by_length(2, 6),
    ),
}
"""Titles and columns, by key, of the tables with one row per main system.

Section 5.5 and the caption of Table 10 in the TANQ paper state different row limits for a short table.
"""
BY_SHOTS: Columns = (
    by_shots("zero shots", 0, ""),
    by_shots("one shot", 1, RANDOM),
    by_shots("three random shots", 3, RANDOM),
    by_shots("three chosen shots", 3, CHOSEN),
    by_shots("five random shots", 5, RANDOM),
)
BY_INSTRUCTION: Columns = by(
    lambda outcome: outcome.system.instruction,
    {name: name for name in ("empty", "simple", "detailed", "steps")},
)


def tabulate_scores(outcomes: Sequence[TableOutcome]) -> dict[str, FigureTable]:
    """Return the tables of scores for both RMS variants, by key.

    Raises StageFailed if a question uses a skill that has no column in TANQ's Table 6.
    """
    used = {skill.name for outcome in outcomes for skill in outcome.item.skills}
    if other := sorted(used.difference(SKILLS)):
        raise StageFailed(f"tanq.evaluation_figures: Table 6 has no column for the skill {other[0]}")
    main = list_main(list_systems(outcomes))
    lines = [slice_system(system, system.label) for system in main]
    prompted = [system for system in main if system.instruction and not system.is_people]
    notes = () if prompted else (NO_PROMPT,)
    tables: dict[str, FigureTable] = {}
    for rule in RULES:
        for key, (title, columns) in BY_QUESTION.items():
            measures = list_measures(rule, "no question of this kind")
            number = key.partition("-")[0]
            tables[f"{key}-{rule}"] = Table(
                number, f"{title}, {RULE_NAMES[rule]}", HEADS, lines, measures, columns
            ).fill(outcomes)
        for key, title, same, columns in (
            ("15", "By number of examples", "instruction", BY_SHOTS),
            ("16", "By instruction", "examples", BY_INSTRUCTION),
        ):
            rows = [slice_prompts(system, same) for system in prompted]
            measures = list_measures(rule, "did not run")
            tables[f"{key}-{rule}"] = Table(
                key, f"{title}, {RULE_NAMES[rule]}", HEADS, rows, measures, columns, notes
            ).fill(outcomes)
    return tables


def slice_system(system: TableSystem, name: str | tuple[str, ...]) -> Slice[TableOutcome]:
    """Return the slice of a system's predictions."""
    return Slice(name, lambda outcome: outcome.system == system)


def slice_prompts(main: TableSystem, same: str) -> Slice[TableOutcome]:
    """Return the slice of predictions with the setting and model of `main`, and with similar prompts.

    same: the part that the prompts share with the main prompt, `instruction` or `examples`.
    """

    def read(system: TableSystem) -> tuple[object, ...]:
        kept = (system.instruction,) if same == "instruction" else (system.shots, system.choice)
        return system.setting, system.model, *kept

    return Slice(main.label, lambda outcome: read(outcome.system) == read(main))


def list_measures(rule: str, absent: str) -> list[Measure[TableOutcome]]:
    """List the measures precision, recall and F1 for an RMS variant.

    absent: the reason why a cell without predictions is empty.
    """
    return [make_share(name, partial(average, rule=rule, measure=name, absent=absent)) for name in MEASURES]


def average(outcomes: Sequence[TableOutcome], where: Where, rule: str, measure: str, absent: str) -> Cell:
    """Return a cell with the mean of a measure (0 to 1) and a bootstrap interval. rule: the RMS variant.

    Predictions without a reply count as failed and are excluded from the mean. The cell is empty if no
    prediction has a reply.
    """
    given = tuple(values for outcome in outcomes if (values := outcome.measure(rule)) is not None)
    failed = len(outcomes) - len(given)
    if not given:
        return leave_empty(
            f"{count_of(failed, 'prediction')} without a reply" if failed else absent, OF, failed
        )
    mean = fmean(values[MEASURES.index(measure)] for values in given)
    interval, why = settle_interval(draw_intervals(given).get(measure), len(given), OF, mean)
    return Cell(
        mean,
        len(given),
        failed,
        interval,
        OF,
        why,
        derive_scores(outcomes, "mean", f"{rule}_{measure}", items=describe_items(outcomes, where)),
    )


@lru_cache(maxsize=1)
def draw_intervals(given: tuple[tuple[float, ...], ...]) -> Mapping[str, Interval | None]:
    """Compute the intervals of all measures from the same bootstrap samples.

    The measures of one set of predictions are computed consecutively. A cache with one entry is therefore
    enough to bootstrap each set only once.
    """
    accumulator = MeanAccumulator(MEASURES)
    for values in given:
        accumulator.add(None, Score(dict(zip(MEASURES, values, strict=True))))
    return bootstrap(accumulator.sample(), DRAWS.draws, DRAWS.seed)


def describe_items(outcomes: Sequence[TableOutcome], where: Where) -> Where:
    """Return the conditions on a cell's items for lineage: each expression with a tuple of values.

    An expression without values gets the values that occur in the outcomes.
    """
    return {
        name: (value if isinstance(value, tuple) else (value,))
        or tuple(sorted({COUNTED[name](outcome) for outcome in outcomes}))
        for name, value in where.items()
    }


def tabulate_failures(
    outcomes: Sequence[TableOutcome],
    labels: Sequence[HallucinationLabel],
    unusable: Sequence[Dropped],
    *,
    labelled: bool,
) -> FigureTable:
    """Return TANQ's Table 11: the share of replies with each kind of failure.

    unusable: dropped lines of the label file. labelled: whether the evaluation names a label file.
    """
    people = settle(labels)
    systems = [system for system in list_main(list_systems(outcomes)) if not system.is_people]

    def measure(own: Sequence[TableOutcome], where: Where) -> Cell:
        kind = FailureKind.read(str(where["failures"]))
        if kind == FailureKind.OTHER_HALLUCINATION:
            return rate_labelled(own, people)
        told = [None if outcome.prediction.failed else kind in outcome.score.failures for outcome in own]
        return rate_cell(told, OF, derive_scores(own, "share", "failures", replied=True, hit=kind))

    said = f"People checked {count_of(len(people), 'prediction')} for other hallucinations."
    reasons = sorted(Counter(row.reason for row in unusable).items())
    return Table(
        "11",
        "Kinds of failure",
        ("failure",),
        list_kinds("failures", FailureKind),
        [make_share("", measure)],
        [slice_system(system, system.name) for system in systems],
        (
            "Each cell is a share of all replies. A reply can have several failures. Rules detect all kinds "
            "of failure except “other hallucination”.",
            said
            if labelled
            else "To include human labels, set the evaluation's `labels` in params.yaml "
            "to the path of a file in data/labels.",
            *(
                f"{count_of(number, 'line')} of the label file could not be used: {reason}."
                for reason, number in reasons
            ),
        ),
    ).fill(outcomes)


def tabulate_faults(outcomes: Sequence[TableOutcome]) -> FigureTable:
    """Return the table of the open agent's faults.

    Each fault has two shares: of all replies, and of the replies to questions for which the fault is
    possible.
    """
    systems = [system for system in list_systems(outcomes) if system.setting == OPEN]

    def measure_all(own: Sequence[TableOutcome], where: Where, items: Where | None = None) -> Cell:
        fault = AgentFault.read(str(where["faults"]))
        told = [None if outcome.score.faults is None else fault in outcome.score.faults for outcome in own]
        return rate_cell(told, OF, derive_scores(own, "share", "faults", items=items, hit=fault))

    def measure_able(own: Sequence[TableOutcome], where: Where) -> Cell:
        able = [outcome for outcome in own if can_have(outcome.item)[AgentFault.read(str(where["faults"]))]]
        return measure_all(able, where, {"id": tuple(sorted({outcome.item.id for outcome in able}))})

    head = "faults", "Faults of the open agent (section 5.7 of the paper)", ("fault",)
    if not systems:
        return FigureTable(*head, (), (), ("Not shown: the open agent did not run.",))
    return Table(
        *head,
        list_kinds("faults", AgentFault),
        [
            make_share("of all replies", measure_all),
            make_share("of replies to questions in which the fault is possible", measure_able),
        ],
        [slice_system(system, system.model) for system in systems],
        ("Rules detect these faults from the agent's steps and table.",),
    ).fill(outcomes)


def list_kinds(column: str, kinds: Iterable[FailureKind] | Iterable[AgentFault]) -> list[Slice[TableOutcome]]:
    """Return one slice per kind of failure or fault.

    Each slice contains all outcomes, because the measure counts the outcomes with that kind.
    """
    return [Slice(kind.shown, where={column: kind}) for kind in kinds]


def make_share(name: str, fill: Callable[[Sequence[TableOutcome], Where], Cell]) -> Measure[TableOutcome]:
    """Return a measure with values from 0 to 1; `fill` computes its cells."""
    return Measure(name, fill, partial(leave_empty, of=OF), "share")


def rate_labelled(outcomes: Sequence[TableOutcome], people: Mapping[str, bool | None]) -> Cell:
    """Compute the share of labelled predictions that contain other hallucinations, according to human raters.

    A tie among raters counts as failed.
    """
    told = [people[outcome.prediction.id] for outcome in outcomes if outcome.prediction.id in people]
    if not told:
        return leave_empty(NOBODY, OF)
    made_by = sorted({outcome.prediction.system for outcome in outcomes})
    labelled = Selection(
        "hallucination_labels", {}, {"prediction": Selection("predictions", {"system": tuple(made_by)})}
    )
    return rate_cell(told, OF, Derivation("share by the majority label", (labelled,), "label"))


def settle(labels: Iterable[HallucinationLabel]) -> dict[str, bool | None]:
    """Return the majority label of each labelled prediction: True for a hallucination, None for a tie."""
    words: defaultdict[str, Counter[Hallucination]] = defaultdict(Counter)
    for label in labels:
        words[label.prediction][label.label] += 1
    return {
        prediction: None
        if said[Hallucination.YES] == said[Hallucination.NO]
        else said[Hallucination.YES] > said[Hallucination.NO]
        for prediction, said in words.items()
    }
