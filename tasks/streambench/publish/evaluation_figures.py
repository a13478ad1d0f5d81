"""Stage: compute StreamBench's Tables 2 to 11 and Figures 2 to 4, and pairwise comparisons of methods."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Counts
from tasks.errors import StageFailed
from tasks.files import write_text
from tasks.lineage.derivation import Derivation
from tasks.reports.tables import Cell, FigureTable, Line, round_figures
from tasks.scoring.ddxplus import find_label
from tasks.scoring.reply_readings import LENIENT
from tasks.scoring.statistics import LEAST, Interval, compare_outcomes, compare_paired, correct_holm
from tasks.streambench.build.items import StreamItem, read_object
from tasks.streambench.build.released_order import HASHED
from tasks.streambench.entries import StreamEvaluation
from tasks.streambench.measures import derive, leave_out, pair_steps
from tasks.streambench.publish.stream_cautions import list_stream_cautions
from tasks.streambench.score.curves import CurvePoint
from tasks.streambench.score.scores import StepScore
from tasks.streambench.scored_steps import ScoredStep, StreamRuns, StreamSystem, gather_runs, list_run_names
from tasks.streambench.solve.stream_step import StreamStep
from tasks.streambench.tables import tabulate_steps, tabulate_tokens
from tasks.streambench.tables_curves import tabulate_curves

# Maximum number of labels in a confusion matrix.
MOST_LABELS = 12
OTHER, NONE = "other", "none"
CALL_FIELDS = ("api", "action", "name")
COLUMNS = (
    "difference",
    "only the first method right",
    "only the second method right",
    "p, McNemar",
    "p, bootstrap",
    "p, Holm",
)
FORMS = ("difference", "count", "count", "p", "p", "p")
SEVERAL = "several seeds"
NOTE = (
    "A pair counts as failed if one of its two steps failed, and as unjudged if one is unjudged. The steps "
    "of each seed are paired by item. With one seed, the test is McNemar's exact test. With several seeds, "
    "the steps on one item are not independent, so the test is a paired bootstrap over whole items. Holm's "
    "correction is applied across the tests of all pairs in the table. All tests treat the steps of a stream "
    "as independent, although later steps depend on earlier ones."
)


@dataclass(frozen=True)
class StreamFigures:
    """Content of evaluation_figures.json.

    counts: the numbers of items, runs, steps and failures. tables: key -> table.
    """

    stream: str
    kind: str
    methods: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    k: tuple[int, ...]
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    tables: Mapping[str, FigureTable]
    confusions: tuple[ConfusionMatrix, ...]
    order: str = HASHED
    reading: str = LENIENT
    rule: str = ""
    """The stream's scoring rule; empty means the default. `order` and `reading` also describe the stream."""


def evaluation_figures(
    items: list[StreamItem],
    steps: list[StreamStep],
    scores: list[StepScore],
    curves: list[CurvePoint],
    entry: StreamEvaluation,
    settings: Mapping[str, Any],
    out: Path,
) -> Counts:
    """Write evaluation_figures.json: every cell of the page, with its number of steps and failures.

    settings: the stream's settings, and `judging.thresholds.*`, the limits for warnings on the page.
    Returns counts of steps. Raises StageFailed if no step was run.
    """
    if not steps:
        raise StageFailed("streambench.evaluation_figures: no step has run; run streambench.steps first")
    runs = gather_runs(items, steps, scores, entry)
    failed, unjudged = (
        sum(scored.failed for scored in runs.steps),
        sum(scored.unjudged for scored in runs.steps),
    )
    figures = StreamFigures(
        stream=entry.stream,
        kind=runs.steps[0].item.kind,
        methods=tuple(choice.label for choice in runs.choices),
        models=runs.models,
        seeds=tuple(sorted({scored.step.seed for scored in runs.steps})),
        k=tuple(sorted({scored.step.k for scored in runs.steps})),
        counts={
            "items": len({scored.item.id for scored in runs.steps}),
            "runs": len(list_run_names(runs.steps)),
            "steps": len(runs.steps),
            "failed": failed,
            "unjudged": unjudged,
            "left_out": sum(bool(scored.step.left_out) for scored in runs.steps),
        },
        warnings=tuple(list_stream_cautions(runs, settings)),
        tables={
            **tabulate_steps(runs),
            **tabulate_curves(runs, curves),
            **tabulate_pairs(runs),
            **tabulate_tokens(runs),
        },
        confusions=tuple(draw_confusions(runs)),
        **read_stream(settings, entry.stream),
    )
    write_text(out, json.dumps(round_figures(figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    counted = {"failed": failed, "unjudged": unjudged}
    return Counts(len(steps), len(steps), {name: n for name, n in counted.items() if n})


def read_stream(settings: Mapping[str, Any], stream: str) -> dict[str, str]:
    """Return a stream's order, reading and rule from a stage's settings."""
    section = f"streambench.streams.{stream}"
    usual = {"order": HASHED, "reading": LENIENT, "rule": ""}
    return {name: str(settings.get(f"{section}.{name}") or value) for name, value in usual.items()}


@dataclass(frozen=True)
class ConfusionMatrix:
    """A system's confusion matrix over all seeds.

    - labels: the labels of the rows.
    - columns: the labels, then `other` and `none`.
    - counts: one tuple per row, with one number per column.
    - n: number of steps whose gold label is in `labels`.
    - failed: number of these n steps that have no answer.
    """

    title: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    n: int
    failed: int
    basis: Derivation


def draw_confusions(runs: StreamRuns) -> list[ConfusionMatrix]:
    """Return one matrix per system, over the labels with the most errors; empty for kinds without labels."""
    readers = [find_reader(scored.item.kind) for scored in runs.steps[:1]]
    reader = readers[0] if readers else None
    if reader is None:
        return []
    everything = runs.steps
    mistaken = Counter(reader(scored)[0] for scored in everything if not scored.step.bit)
    golds = {reader(scored)[0] for scored in everything}
    ranked = sorted(golds, key=lambda label: (-mistaken[label], _order(label)))
    labels = tuple(sorted(ranked[:MOST_LABELS], key=_order))
    return [
        _draw_matrix(f"{system.title}, {system.models}", runs.systems[system], labels, reader)
        for system in runs.select()
    ]


def find_reader(kind: str) -> Callable[[ScoredStep], tuple[str, str]] | None:
    """Return the function from a step to (true label, predicted label); None for kinds without labels."""
    return {"ddxplus": read_diagnoses, "toolbench": read_calls_made}.get(kind)


def read_diagnoses(one: ScoredStep) -> tuple[str, str]:
    """Return the true and the predicted diagnosis number as text; `none` if no number was predicted."""
    label = None if one.step.answer is None else find_label(one.step.answer)
    # find_label reads a number only before a full stop, and a gold answer may be the number alone.
    gold = find_label(f"{one.item.gold}.") if one.item.gold.isdecimal() else find_label(one.item.gold)
    return str(gold), NONE if label is None else str(label)


def read_calls_made(one: ScoredStep) -> tuple[str, str]:
    """Return the names of the true API and the called API; `none` if a name is missing."""
    return _read_api(one.item.details) or _read_api(one.item.gold) or NONE, _read_api(one.step.answer) or NONE


def _draw_matrix(
    title: str,
    steps: Sequence[ScoredStep],
    labels: Sequence[str],
    read: Callable[[ScoredStep], tuple[str, str]],
) -> ConfusionMatrix:
    read_steps = [(scored, *read(scored)) for scored in steps]
    own = [(scored, gold, said) for scored, gold, said in read_steps if gold in labels]
    columns = (*labels, OTHER, NONE)
    counted = Counter((gold, said if said in (*labels, NONE) else OTHER) for _, gold, said in own)
    return ConfusionMatrix(
        title,
        tuple(labels),
        columns,
        tuple(tuple(counted[label, column] for column in columns) for label in labels),
        len(own),
        sum(scored.failed for scored, _, _ in own),
        derive("answers by true label", list_run_names(steps), "score"),
    )


def _read_api(text: str | None) -> str:
    data = read_object(text or "")
    return next((str(data[name]) for name in CALL_FIELDS if data.get(name)), "")


def _order(label: str) -> tuple[int, int, str]:
    return (0, int(label), "") if label.isdecimal() else (1, 0, label)


@dataclass(frozen=True)
class ComparedSystems:
    """A comparison of two methods with the same model. tested: the p value before correction, or None."""

    first: StreamSystem
    second: StreamSystem
    cells: tuple[Cell, ...]
    tested: float | None


def tabulate_pairs(runs: StreamRuns) -> dict[str, FigureTable]:
    """Return one table per model with pairwise comparisons of methods, including shared-memory methods."""
    tables = {}
    for model in runs.models:
        systems = runs.select(model=model, ablated=None)
        pairs = [compare_systems(runs, *pair) for pair in combinations(systems, 2)]
        lines = tuple(_make_line(pair) for pair in correct_pairs(pairs))
        title = f"Pairwise comparison of methods, {model}"
        tables[f"pairs-{model}"] = FigureTable("", title, ("first", "second"), COLUMNS, lines, (NOTE,), FORMS)
    return tables


def compare_systems(runs: StreamRuns, first: StreamSystem, second: StreamSystem) -> ComparedSystems:
    """Compare two systems over their common seeds and items, with an uncorrected p value."""
    pairs = pair_steps(runs.systems[first], runs.systems[second])
    if not pairs:
        return ComparedSystems(first, second, tuple(leave_out("no common seed") for _ in COLUMNS), None)
    a, b = [first for first, _ in pairs], [other for _, other in pairs]
    items = [scored.step.item for scored in a]
    found = compare_paired([scored.score.score for scored in a], [scored.score.score for scored in b], items)
    single = len({scored.step.seed for scored in a}) == 1
    counted = compare_outcomes([scored.step.bit for scored in a], [scored.step.bit for scored in b])
    tested = counted.p_value if single else found.p_value
    names = [*list_run_names(a), *list_run_names(b)]

    def show(value: float | None, measure: str, interval: Interval | None = None, why: str = "") -> Cell:
        if value is None:
            return leave_out(f"fewer than {LEAST} items: no p value")
        failed = sum(first.failed or other.failed for first, other in pairs)
        unjudged = sum(first.unjudged or other.unjudged for first, other in pairs)
        derivation = derive(measure, names, "score")
        return Cell(value, len(pairs), failed, interval, "pairs", why, derivation, unjudged)

    cells = (
        show(found.difference, "paired difference", found.interval, found.why),
        show(counted.only_a, "right only with the first method"),
        show(counted.only_b, "right only with the second method"),
        show(counted.p_value, "McNemar's exact test") if single else leave_out(SEVERAL),
        show(found.p_value, "paired bootstrap"),
        show(tested, "Holm's correction"),
    )
    return ComparedSystems(first, second, cells, tested)


def correct_pairs(pairs: Sequence[ComparedSystems]) -> list[ComparedSystems]:
    """Return the comparisons with the Holm-corrected p value in the last cell."""
    adjusted = correct_holm([pair.tested for pair in pairs])
    return [
        pair
        if p_value is None
        else replace(pair, cells=(*pair.cells[:-1], replace(pair.cells[-1], value=p_value)))
        for pair, p_value in zip(pairs, adjusted, strict=True)
    ]


def _make_line(pair: ComparedSystems) -> Line:
    return Line((_name(pair.first), _name(pair.second)), pair.cells)


def _name(system: StreamSystem) -> str:
    return f"{system.title} ({system.models})" if system.shared else system.title
