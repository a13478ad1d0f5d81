"""Stage of evaluation flows: write a page with means, differences and answers.

A flow declares the stage as `SCOPE.stage("<paper>.evaluation_page", out="data/reports/<paper>/${key}")`. If
the paper has a module with this name, the stage runs that module instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tasks.artifacts.rows import Counts
from tasks.judging.answered import Answered, Scored
from tasks.judging.comparison import EvaluatedRows, compare_scored_systems
from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import Selection
from tasks.reports.blocks import BAD, GOOD, OFF, Block, Tag, dim, facts, heading, ids, text
from tasks.reports.declared import Measure, Slice, Table, Where
from tasks.reports.metrics import choose_column
from tasks.reports.page import ASSESSMENTS, Headline, Page
from tasks.reports.parts import Browse, PagePart, TableBlock, TextBlock
from tasks.reports.report_page import write_page
from tasks.reports.tables import DRAWS, Cell, FigureTable, Line, leave_empty, read_systems
from tasks.reports.viewer import Filter, ViewedRow, Viewer
from tasks.scoring.statistics import find_mean_interval

ITEMS = "items"
SUBTITLE = "This page compares how well systems answer the items of a dataset."
MEANS = "Means are taken over items. Their 95% intervals are bootstrapped over groups of items."
TAGS = "The table shows the same means for each tag, over the items with the tag."
MOST_TAGS = 50
"""Maximum number of tags in the table. The most frequent tags are shown; other tags are only counted."""
PAIRS = (
    "Each pair of systems is compared over the items with a score from both systems. The p value is from a "
    "paired bootstrap over groups of items, corrected with Holm's method."
)


@dataclass(frozen=True)
class ScoredAnswer:
    """The result of one system on one item. values: metric -> score, None if unscored."""

    system: str
    scored: Scored
    answered: Answered

    @property
    def values(self) -> Mapping[str, float | None]:
        """All scores of the answer by metric; higher is better."""
        return {self.answered.metric: self.scored.value, **self.answered.further}


def evaluation_page(evaluated: EvaluatedRows, key: str, out: Path, metrics: Path, bars: Path) -> Counts:
    """Write the page into the folder `out`; return the counts of scored and unscored answers."""
    outcomes = [
        ScoredAnswer(scored_system.system, scored, answered)
        for scored_system in evaluated.scored_systems
        for scored, answered in scored_system.answers
    ]
    paper = out.parent.name
    means = tabulate_means(outcomes, evaluated.artifact.stem).fill(outcomes)
    tags = tabulate_tags(outcomes, evaluated.artifact.stem)
    pairs = tabulate_pairs(evaluated)
    unscored = sum(outcome.scored.value is None for outcome in outcomes)
    warnings = [
        f"{unscored} of {len(outcomes)} answers could not be scored. The means leave out these answers."
    ]
    rows = Selection(evaluated.artifact.stem)
    write_page(
        out,
        Page(
            ASSESSMENTS,
            paper,
            key,
            f"{paper}: {key}",
            SUBTITLE,
            [
                Headline("answers", len(outcomes), "", Derivation("count", (rows,))),
                Headline("systems", len(means.lines)),
            ],
            warnings if unscored else (),
            systems=[
                figure
                for column in means.columns[:1]
                for figure in read_systems(means, column, dataset=key, measure=column, symbol=column)
            ],
        ),
        [
            PagePart("means", "Scores", "Scores", [TextBlock(MEANS), TableBlock({"means": means})]),
            *(
                [
                    PagePart(
                        "tags",
                        "Scores by tag",
                        "Tags",
                        [TextBlock(TAGS), TableBlock({"tags": tags.fill(outcomes)})],
                    )
                ]
                if tags
                else []
            ),
            PagePart(
                "pairs",
                "Systems in pairs",
                "Pairs",
                [TextBlock(PAIRS), TableBlock({"pairs": pairs})] if pairs else [],
            ),
            Browse("Answers", view_answers(outcomes, evaluated.artifact)),
        ],
        calls={},
        metrics=metrics,
        bars=bars,
        groups=[choose_column(column, means, column) for column in means.columns],
    )
    return Counts(len(outcomes), len(outcomes) - unscored, {"unscored": unscored} if unscored else {})


def tabulate_means(outcomes: Sequence[ScoredAnswer], artifact: str) -> Table[ScoredAnswer]:
    """Declare the table of means: one line per system, one column per metric."""
    systems = tuple(dict.fromkeys(outcome.system for outcome in outcomes))
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.values)
    rows = [Slice[ScoredAnswer](name or "system", _is_of(name), {}) for name in systems]
    return Table("", "Means", ("system",), rows, [_average(name, artifact) for name in names])


def tabulate_tags(outcomes: Sequence[ScoredAnswer], artifact: str) -> Table[ScoredAnswer] | None:
    """Declare the table of means by tag: one line per tag and system; None if there are no tags."""
    counted = Counter(tag for outcome in outcomes for tag in outcome.answered.tags)
    if not counted:
        return None
    shown = sorted(sorted(counted), key=lambda tag: -counted[tag])[:MOST_TAGS]
    systems = tuple(dict.fromkeys(outcome.system for outcome in outcomes))
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.values)
    rows = [
        Slice[ScoredAnswer]((tag, system or "system"), _has_tag(tag, system), {})
        for tag in sorted(shown)
        for system in systems
    ]
    left_out = len(counted) - len(shown)
    notes = (f"{left_out} more tags, which have fewer items, are not shown.",) if left_out else ()
    measures = [_average(name, artifact) for name in names]
    return Table("", "Means by tag", ("tag", "system"), rows, measures, notes=notes)


def tabulate_pairs(evaluated: EvaluatedRows) -> FigureTable | None:
    """Return a table of pairwise comparisons of systems; None for a single system."""
    scored_systems = list(combinations(evaluated.scored_systems, 2))
    if not scored_systems:
        return None
    found = compare_scored_systems(scored_systems, draws=DRAWS.draws, seed=DRAWS.seed)
    derivation = Derivation("paired difference", (Selection(evaluated.artifact.stem),))
    lines = []
    for (one, other), compared in zip(scored_systems, found.strands, strict=True):
        for change in compared.metrics:
            few = f"not tested: {change.clusters} groups of items are too few"
            interval = None if change.low is None or change.high is None else (change.low, change.high)
            cells = tuple(
                Cell(value, change.n_pairs, 0, shown, ITEMS, "" if value is not None else few, derivation)
                for value, shown in ((change.difference, interval), (change.adjusted, None))
            )
            lines.append(Line((one.system, other.system, change.metric), cells))
    return FigureTable(
        "",
        "Second minus first",
        ("first", "second", "metric"),
        ("difference", "p, Holm"),
        tuple(lines),
        forms=("", "p"),
    )


def view_answers(outcomes: Sequence[ScoredAnswer], artifact: Path) -> Viewer:
    """Return the viewer of all answers with questions, references and scores."""
    rows = [
        ViewedRow(
            id=outcome.scored.id,
            title=outcome.answered.question or outcome.answered.case,
            values=(outcome.system, _tell_outcome(outcome)[0]),
            tags=[(outcome.system, ""), _tell_outcome(outcome)],
            blocks=list(_show_answer(outcome)),
        )
        for outcome in outcomes
    ]
    filters = (Filter("system", "System"), Filter("outcome", "Outcome"))
    empty = "Choose an answer to see its question, its reference and its scores."
    return Viewer("answer", "answers", "words in a question or an answer", empty, filters, rows, artifact)


def _show_answer(outcome: ScoredAnswer) -> Iterator[Block]:
    answered = outcome.answered
    yield heading("Question")
    yield text(answered.question, "question")
    yield heading("Reference")
    yield text(answered.reference, "reply")
    yield heading("Answer", (outcome.system, ""), _tell_outcome(outcome))
    yield text(answered.answer, "reply response")
    if answered.note:
        yield dim(answered.note)
    if answered.tags:
        yield facts({"tags": ", ".join(answered.tags)})
    scores = {name: "not scored" if value is None else f"{value:g}" for name, value in outcome.values.items()}
    yield facts(scores)
    yield ids(answer=outcome.scored.id, item=answered.case)


def _tell_outcome(outcome: ScoredAnswer) -> Tag:
    value = outcome.scored.value
    if value is None:
        return ("not scored", OFF)
    return ("right", GOOD) if value == 1 else ("wrong", BAD) if value == 0 else ("partly right", OFF)


def _is_of(system: str) -> Callable[[ScoredAnswer], bool]:
    return lambda outcome: outcome.system == system


def _has_tag(tag: str, system: str) -> Callable[[ScoredAnswer], bool]:
    return lambda outcome: outcome.system == system and tag in outcome.answered.tags


def _average(name: str, artifact: str) -> Measure[ScoredAnswer]:
    def fill(outcomes: Sequence[ScoredAnswer], where: Where) -> Cell:
        values = [(outcome, outcome.values[name]) for outcome in outcomes if name in outcome.values]
        given = [(outcome, value) for outcome, value in values if value is not None]
        failed = len(values) - len(given)
        if not given:
            return leave_empty(
                f"none of {failed} {ITEMS} could be scored" if failed else f"no {ITEMS}", ITEMS, failed
            )
        chosen = Selection(artifact, {"id": tuple(sorted(outcome.scored.id for outcome, _ in given))})
        numbers = [value for _, value in given]
        groups = [outcome.scored.group for outcome, _ in given]
        interval, why = find_mean_interval(
            numbers,
            groups,
            of="groups of items",
            share={*numbers} <= {0, 1},
            draws=DRAWS.draws,
            seed=DRAWS.seed,
        )
        mean = sum(numbers) / len(numbers)
        return Cell(mean, len(given), failed, interval, ITEMS, why, Derivation(f"mean {name}", (chosen,)))

    return Measure(name, fill, lambda why: leave_empty(why, ITEMS))
