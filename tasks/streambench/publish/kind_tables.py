"""Figure 3: confusion matrices of labels where items have them, and accuracy by kind of item elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tasks.lineage.derivation import Derivation
from tasks.scoring.ddxplus import find_label
from tasks.streambench.build.items import StreamItem
from tasks.streambench.publish.stream_cells import (
    StreamCell,
    StreamLine,
    StreamTable,
    count_steps,
    derive,
    leave_out,
    rate_right,
)
from tasks.streambench.publish.stream_runs import ScoredStep, StreamRuns, list_run_names

MOST_LABELS, MOST_KINDS = 12, 12
OTHER, NONE = "other", "none"
STRATA: Mapping[str, str] = {"sql": "db_id", "ds1000": "library", "toolbench": "api", "hotpotqa": "type"}
"""Kind of items -> the field of `details` that tables are by."""
CALL_FIELDS = ("api", "action", "name")


@dataclass(frozen=True)
class ConfusionMatrix:
    """A system's answers by the true label, over all seeds. labels: rows, and columns before other and none.

    counts: by row, as many as columns. n, failed: steps with these labels, and those without an answer.
    """

    title: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    n: int
    failed: int
    basis: Derivation


def tabulate_kinds(runs: StreamRuns) -> StreamTable:
    """Make the table of accuracy by kind of item, the most frequent kinds first."""
    steps = runs.list_steps(runs.systems)
    sizes = Counter(read_kind(item) for item in {one.item.id: one.item for one in steps}.values())
    kinds = [kind for kind, _ in sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0])) if kind]
    shown = kinds[:MOST_KINDS]
    lines = []
    for system in runs.systems if len(kinds) > 1 else ():
        own: dict[str, list[ScoredStep]] = {kind: [] for kind in shown}
        for one in runs.systems[system]:
            if (kind := read_kind(one.item)) in own:
                own[kind].append(one)
        cells = tuple(rate_right(own[kind], f"the items of {kind}") for kind in shown)
        lines.append(StreamLine((system.models, system.title), cells))
    more = [f"Of {len(kinds)} kinds the {len(shown)} with the most items."] if len(kinds) > len(shown) else []
    return StreamTable(
        "",
        "Right steps by kind of item",
        ("share",),
        ("model", "method"),
        tuple(shown) if lines else (),
        tuple(lines),
        tuple(more) if lines else ("Not shown: the items are of one kind.",),
    )


def tabulate_values(runs: StreamRuns) -> StreamTable:
    """Make the table of the metric's own figures: F1 of HotpotQA, well-formed calls of ToolBench."""
    values = {one.step.id: read_values(one) for one in runs.list_steps(runs.systems)}
    names = tuple(sorted({name for own in values.values() for name in own}))
    lines = [
        StreamLine(
            (system.models, system.title),
            tuple(_average_value(runs.systems[system], values, name) for name in names),
        )
        for system in (runs.systems if names else ())
    ]
    return StreamTable(
        "",
        "The metric's own figures",
        ("mean",),
        ("model", "method"),
        names,
        tuple(lines),
        ("As `benchloom score` has them: over the steps that have the figure. Failed steps have none.",),
    )


def draw_confusions(runs: StreamRuns) -> list[ConfusionMatrix]:
    """Make a matrix of each system, of the labels that are mistaken most often; none without labels."""
    readers = [find_reader(one.item.kind) for one in runs.list_steps(runs.systems)[:1]]
    reader = readers[0] if readers else None
    if reader is None:
        return []
    everything = runs.list_steps(runs.systems)
    mistaken = Counter(reader(one)[0] for one in everything if not one.step.bit)
    golds = {reader(one)[0] for one in everything}
    ranked = sorted(golds, key=lambda label: (-mistaken[label], _order(label)))
    labels = tuple(sorted(ranked[:MOST_LABELS], key=_order))
    return [
        _draw_matrix(f"{system.title}, {system.models}", runs.systems[system], labels, reader)
        for system in runs.select()
    ]


def find_reader(kind: str) -> Callable[[ScoredStep], tuple[str, str]] | None:
    """Find what reads the true and the answered label of a step; None for kinds without labels."""
    return {"ddxplus": read_diagnoses, "toolbench": read_calls_made}.get(kind)


def read_diagnoses(one: ScoredStep) -> tuple[str, str]:
    """Read the numbers of the true diagnosis and of the answered one."""
    label = None if one.step.answer is None else find_label(one.step.answer)
    gold = find_label(f"{one.item.gold}.") if one.item.gold.isdecimal() else find_label(one.item.gold)
    return str(gold), NONE if label is None else str(label)


def read_calls_made(one: ScoredStep) -> tuple[str, str]:
    """Read the names of the true API and of the called one."""
    return _read_api(one.item.details) or _read_api(one.item.gold) or NONE, _read_api(one.step.answer) or NONE


def read_kind(item: StreamItem) -> str:
    """Read the kind of an item: its database, library, API, type or diagnosis; empty where it has none."""
    if item.kind == "ddxplus":
        return item.gold
    details = _read_object(item.details)
    return str(details.get(STRATA.get(item.kind, ""), ""))


def read_values(one: ScoredStep) -> dict[str, float]:
    """Read the metric's figures of a step, without those that are not defined."""
    return {
        name: float(value)
        for name, value in _read_object(one.step.values).items()
        if isinstance(value, (int, float))
    }


def _average_value(
    steps: Sequence[ScoredStep], values: Mapping[str, Mapping[str, float]], name: str
) -> StreamCell:
    own = [one for one in steps if name in values[one.step.id]]
    if not own:
        return leave_out("of no step")
    mean = sum(values[one.step.id][name] for one in own) / len(own)
    return count_steps(mean, own, None, derive(f"mean of the metric's {name}", list_run_names(own), "score"))


def _draw_matrix(
    title: str,
    steps: Sequence[ScoredStep],
    labels: Sequence[str],
    read: Callable[[ScoredStep], tuple[str, str]],
) -> ConfusionMatrix:
    read_steps = [(one, *read(one)) for one in steps]
    own = [(one, gold, said) for one, gold, said in read_steps if gold in labels]
    columns = (*labels, OTHER, NONE)
    counted = Counter((gold, said if said in (*labels, NONE) else OTHER) for _, gold, said in own)
    return ConfusionMatrix(
        title,
        tuple(labels),
        columns,
        tuple(tuple(counted[label, column] for column in columns) for label in labels),
        len(own),
        sum(one.failed for one, _, _ in own),
        derive("answers by true label", list_run_names(steps), "score"),
    )


def _read_api(text: str | None) -> str:
    data = _read_object(text or "")
    return next((str(data[name]) for name in CALL_FIELDS if data.get(name)), "")


def _read_object(text: str) -> dict[str, object]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _order(label: str) -> tuple[int, int, str]:
    return (0, int(label), "") if label.isdecimal() else (1, 0, label)
